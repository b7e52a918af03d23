package lease

import (
	"context"
	"fmt"
	"time"
)

// Fence is what lets writers pass or not. The keeper calls it from one goroutine at a time and holds no lock that Held or
// Observe need.
type Fence interface {
	// Open lets writers of the grant pass until g.Deadline. Again with the same token after a loss of kind LossRenewFailed.
	Open(g Grant)
	// Extend moves the deadline of the open epoch t.
	Extend(t Token, deadline time.Duration)
	// Close returns only when no mutation of the epoch is in flight and the kernel's caches are invalidated. It may be called
	// again for an epoch that is closed already, with a graver kind.
	Close(l Loss)
	// Hold makes the mutations of epoch t wait, and returns when none is in flight: none is then until resume or Close. With
	// an error everything goes on as before. It may be called while the keeper calls another method; whoever closes wins.
	// resume ends this very hold, unless a Close has: t may have been opened anew and be held up again.
	Hold(ctx context.Context, t Token) (resume func(), err error)
}

// noFence is for a keeper without a mount.
type noFence struct{}

func (noFence) Open(Grant)                                  {}
func (noFence) Extend(Token, time.Duration)                 {}
func (noFence) Close(Loss)                                  {}
func (noFence) Hold(context.Context, Token) (func(), error) { return func() {}, nil }

// Grant is a lease that is held here. A value.
type Grant struct {
	Token    Token
	Holder   Holder
	Record   Record
	Deadline time.Duration // on the boot clock; nothing may pass from then on
	// Late is asked after a mutation has taken effect: an error says that it may have been too late (rule 10). nil on tier A.
	Late func() error
}

// Liveness is what is known of a holder's process.
type Liveness int

// What a holder's process may be.
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
