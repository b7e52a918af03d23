package gate

import (
	"github.com/jvsfs/jvsfs/gate/process"
)

// Request is one mutation that asks to go ahead. With an Epoch it is judged by its handle; with
// NoEpoch it is judged by its writer.
//
// With At, a mutation that the lease does not admit may be admitted for its place.
//
// May is asked only before a lease is taken for the mutation: could the caller make this change if
// there were no fence? Otherwise somebody who may not write could keep others out. nil: the kernel
// has checked the permission already.
type Request struct {
	Op     Op
	Epoch  Epoch
	Caller process.Caller
	At     Place // nil: nothing is exempt
	// Node is a descriptor of the inode that is written, or of the directory of the entry Name, for
	// [GuardConfig.Wrote]. 0: not told.
	Node int
	Name string
	May  func() bool
	// Stored says that the kernel writes back what was stored through a mapping.
	Stored bool
	// Through is the freeze that the mutation belongs to; see [Freeze].
	Through *Freeze
	// Signal is closed when the caller has got a signal. A caller that is being killed stops
	// waiting. nil: unknown.
	Signal <-chan struct{}
	// Makes says that the mutation makes a name, which the rule of a lock file may allow without the lock.
	Makes bool
	// EstaleRetry says that the kernel makes the call again if it is answered with ESTALE.
	EstaleRetry bool

	queued *queued // of a caller that waits in the queue
	probe  bool    // nothing is mutated: the lease is taken for the call that follows
}

// attempt is a request at its guard, under one enforcement mode: all that judges it, waits for it and lets it in.
type attempt struct {
	*Guard
	Request
	mode Enforce
}

// Pass is the permission for one mutation. End must be called when the backing call has returned.
type Pass struct {
	e      *epoch
	exempt *Exemption // nil if the lease admitted it
}

// End ends the mutation.
func (p Pass) End() {
	if p.e != nil {
		p.e.leave()
	}
}

// undo takes a permission back that the caller has not got yet.
func (p Pass) undo(r Request) {
	p.End()
	if p.exempt != nil {
		r.At.Release()
	}
}

// ByPlace reports whether only the place admitted the mutation, and no lease.
func (p Pass) ByPlace() bool { return p.exempt != nil }

// Epoch returns the epoch of a handle that is opened under this pass.
func (p Pass) Epoch() Epoch {
	if p.e == nil {
		return observedEpoch
	}
	return p.e.id
}
