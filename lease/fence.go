package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Fence lets writers pass, or not. The keeper calls it from one goroutine at a time. Held and Observe do not wait for it.
type Fence interface {
	// Open lets writers of the grant pass until g.Deadline. After a LossRenewFailed it may come again with the same token.
	Open(g Grant)
	// Extend moves the deadline of the open epoch t.
	Extend(t Token, deadline time.Duration)
	// Close returns when the epoch has drained and the kernel's caches are invalidated. It may be called again for an epoch that
	// is closed already, with a graver kind.
	//
	// After a LossResumed the kernel's caches may stay, and nothing passes until Open with a later token, whose Since tells what goes
	// on, or Close with a graver kind.
	Close(l Loss)
	// Freeze freezes epoch t: its mutations wait. It returns when the epoch has drained, and nothing is in flight until thaw or
	// Close. With an error everything goes on as before. It may be called while the keeper calls another method. A Close wins.
	// thaw ends this freeze, and no later one: after a Close, t may have been opened and frozen again.
	Freeze(ctx context.Context, t Token) (thaw func(), err error)
}

// noFence is for a keeper without a mount.
type noFence struct{}

func (noFence) Open(Grant)                                    {}
func (noFence) Extend(Token, time.Duration)                   {}
func (noFence) Close(Loss)                                    {}
func (noFence) Freeze(context.Context, Token) (func(), error) { return func() {}, nil }

// Grant is a lease that is held here. A value.
type Grant struct {
	Token    Token
	Since    Token // the first token of this holder without anybody in between (rule 16): what was opened since then goes on
	Holder   Holder
	Record   record.Record
	Deadline time.Duration // on the boot clock; nothing may pass from then on
	Resumes  bool          // whether the same holder may go on after the deadline (rule 16)
	// Late is called after a mutation has taken effect. An error says that the mutation may be late (rule 10). nil on tier A.
	Late func() error
}

// Covers is whether t is the token of the lease, or an earlier one of the same holder without anybody in between.
func (g Grant) Covers(t Token) bool { return covers(g.Since, g.Token, t) }

func covers(since, last, t Token) bool { return t == last || since != 0 && since <= t && t < last }

// Liveness is what is known about a holder's process.
type Liveness int

// The states of a holder's process.
const (
	Alive   Liveness = iota
	Stopped          // SIGSTOP or traced: its lease is not renewed
	Gone             // ended: its lease is given back
	Unknown          // another boot, host or pid namespace: taken for alive
)

// String is the liveness' lower-case name.
func (l Liveness) String() string {
	names := [...]string{"alive", "stopped", "gone", "unknown"}
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("liveness(%d)", int(l))
	}
	return names[l]
}
