//go:build jvsfs_torture

package lease

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/inject"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

func pausePoint(name string) { inject.Point(name) }

// disk is retry of a call that changes the lock directory.
func disk(op string, call func() error) error {
	return retry(func() error { return inject.Disk(op, call) })
}

// look is retry of a call that looks at a name in the lock directory.
func look(call func() error) error {
	return retry(func() error { return inject.Look("look", call) })
}

// opening is retry of an open in the lock directory.
func opening(flags int, call func() error) error {
	return retry(func() error { return inject.Open(flags, call) })
}

// listing is a call that reads the names of the lock directory.
func listing(call func() error) error { return inject.Look("list", call) }

// flock takes no lock at all without the rule "gate", and no exclusive one without the rule "steal".
func flock(fd, how int) error {
	if inject.Off("gate") || how&unix.LOCK_EX != 0 && inject.Off("steal") {
		return nil
	}
	return unix.Flock(fd, how)
}

// clockOf is the wrong clock of a host under torture.
func clockOf(c Clock) Clock { return wrongClock{c} }

type wrongClock struct{ Clock }

func (c wrongClock) Wall() time.Time     { return inject.Wall(c.Clock.Wall()) }
func (c wrongClock) Boot() time.Duration { return inject.Boot(c.Clock.Boot()) }

// tierUnder takes the disk for one of other hosts, too, without the rule "local".
func tierUnder(t tier) tier {
	if inject.Off("local") {
		return tierRemote
	}
	return t
}

// claiming marks, between the writes that land, that a taker has the gate.
func claiming(r *Record) { mark(plan.KindGate, r) }

// claimed marks that the token was granted.
func claimed(r *Record) { mark(plan.KindBegin, r) }

func mark(kind byte, r *Record) {
	inject.Mark(kind, string(r.WorktreeID), uint64(r.FencingToken), r.Holder().PID)
}

// literalLink is the spec's claim: a rename that does not ask what it replaces.
func literalLink(c *claim) bool {
	if !inject.Off("claim") && !inject.Off("steal") {
		return false
	}
	if unix.Renameat(c.store.dir.fd, c.tmp, c.store.dir.fd, c.name()) != nil {
		return false
	}
	c.tmp = ""
	return true
}

// blind is how the spec has it: a holder that renews does not look whether somebody came after it.
func blind() bool { return inject.Off("renew") }

// unaudited is a steal that happens though its event cannot be written.
func unaudited() bool { return inject.Off("audit") }

// literalRenew is the spec's renewal: read the record at the path, check that it is ours, rename a new one over whatever is
// there by then, and believe it.
func literalRenew(k *Keeper, h *holding, in instant) bool {
	s := k.cfg.Store
	v := s.readRecordFile(s.viewName())
	if !inject.Off("renew") || v.Record == nil || v.Record.HolderNonce != h.claim.rec.HolderNonce {
		return false
	}
	k.cfg.Pause("renew.before_write")
	in = readClocks(k.cfg.Clock)
	rec := k.renewed(v.Record, h, in)
	c, err := s.bear(rec)
	if err != nil {
		return false
	}
	if unix.Renameat(s.dir.fd, c.tmp, s.dir.fd, c.name()) != nil || s.putView(rec.FencingToken) != nil {
		c.discard()
		return false
	}
	c.tmp = ""
	h.claim.close()
	h.claim = c
	k.extend(h, in)
	return true
}
