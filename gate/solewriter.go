package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/lease"
)

// Accompany says whether another mount of this machine may write under the same lease, as
// one that is being replaced may: the holder's writes are then not all seen here. From the
// moment that it begins, what the kernel was told for long is taken back.
func (g *Guard) Accompany(on bool) {
	if g.accompanied.Swap(on) == on || !on {
		return
	}
	g.runClose(lease.Loss{Kind: lease.LossReplaced})
}

// SoleWriter reports whether the worktree is changed by nobody but the holder of a
// lease that this mount has, and for how long that is certain, counted from now: what
// the kernel is told meanwhile can be believed until then, or until the hooks of
// OnClose have run. Safe for concurrent use; costs two loads and a clock read.
func (g *Guard) SoleWriter() (certain time.Duration, sole bool) {
	if g.cfg.Mode != Exclusive || g.cfg.Enforcement.Mode() == Observing || g.accompanied.Load() {
		return 0, false // others may be writing too
	}
	e := g.open.Load()
	if e == nil || e.stopped.Load() != nil { // over, or held up for the next holder
		return 0, false
	}
	left := time.Duration(e.deadline.Load()) - g.cfg.Clock.Boot()
	return left, left > 0
}
