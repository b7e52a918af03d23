package wait

import (
	"context"
	"time"
)

// Event returns a channel that is closed when the event has happened. It is called when the wait for it begins.
type Event func() <-chan struct{}

// On is the event that closes a channel.
func On(c <-chan struct{}) Event { return func() <-chan struct{} { return c } }

// Happened reports whether a channel is closed. One that is nil never is.
func Happened(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// For waits until a channel is closed. It is for those who are no callers: their patience is ctx, whose cause is the error.
func For(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Backoff is a pause that grows: each is twice as long as the one before, up to a bound.
type Backoff struct{ next, most time.Duration }

// NewBackoff begins with a first pause.
func NewBackoff(first, most time.Duration) Backoff { return Backoff{first, most} }

// Over begins the next pause. The channel is closed when it is over.
func (b *Backoff) Over() <-chan struct{} {
	over := make(chan struct{})
	time.AfterFunc(b.next, func() { close(over) })
	b.next = min(2*b.next, b.most)
	return over
}
