package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// closeWait bounds how long a writer waits for the end of an epoch that is given back. It must be
// bounded: the close may wait for this very request.
const closeWait = 250 * time.Millisecond

// waitForClose waits for a lease that ends in peace (released, idle, holder ended, handed over).
// Otherwise the next writer would be refused for being a millisecond early. It reports whether to
// decide again.
func (g *Guard) waitForClose(r Request) bool {
	g.mu.Lock()
	over, kind := g.closing, g.loss.Kind
	g.mu.Unlock()
	if over == nil {
		return true
	}
	if !givenBack(kind) && kind != lease.LossHandedOver && kind != lease.LossResumed {
		return false
	}
	off := make(chan struct{})
	end, ok := g.cfg.Enforcement.waits(r, func() { close(off) })
	if !ok {
		return false
	}
	defer end()
	t := time.NewTimer(closeWait)
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-off:
		return false
	case <-t.C:
		return false
	}
}
