package gate

import (
	"context"

	"github.com/jvsfs/jvsfs/lease"
)

// Hold makes the mutations of epoch t wait and returns when none is in flight and what
// its holder has stored through mappings has been written. Nothing is in flight then
// until Resume or Close. With an error nothing has changed: [lease.Fence].
func (g *Guard) Hold(ctx context.Context, t lease.Token) error {
	e := g.open.Load()
	if e == nil || e.id != Epoch(t) {
		return errEpochOver
	}
	if err := g.yield(ctx); err != nil {
		return err
	}
	return e.hold(ctx)
}

// Resume lets the mutations that wait go on. It changes nothing for an epoch that is
// not held up: [lease.Fence].
func (g *Guard) Resume(t lease.Token) {
	if e := g.last.Load(); e != nil && e.id == Epoch(t) {
		e.resume()
	}
}
