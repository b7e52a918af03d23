package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// Overlap says whether another mount of this machine may write under the same lease, as a mount
// that is being replaced may. Then this mount does not see all writes of the holder. When that
// begins, the kernel's caches are dropped.
func (g *Guard) Overlap(on bool) {
	if g.overlaps.Swap(on) == on || !on {
		return
	}
	g.runClose(lease.Loss{Kind: lease.LossReplaced})
}

// SoleWriter reports whether only the holder of a lease of this mount changes the worktree, and for
// how long from now that is certain. Until then, or until the hooks of OnClose have run, the kernel
// may believe its caches. Safe for concurrent use; it costs two loads and a clock read.
func (g *Guard) SoleWriter() (certain time.Duration, sole bool) {
	if g.cfg.Mode != Exclusive || g.cfg.Enforcement.Mode() == Observing || g.overlaps.Load() {
		return 0, false // others may write, too
	}
	e := g.open.Load()
	if e == nil || e.stopped.Load() != nil { // over, or frozen for the next holder
		return 0, false
	}
	left := time.Duration(e.deadline.Load()) - g.cfg.Clock.Boot()
	return left, left > 0
}
