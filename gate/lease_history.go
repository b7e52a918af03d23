package gate

import (
	"time"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// headKey says up to which state the records have been read. Whatever changes who is revoked
// changes the key.
type headKey struct {
	token                   lease.Token
	released, auto, expired bool
}

// learnHistory reads the claims that are new since the last time. Whoever lost a lease against its
// will stays out here, too, wherever that was. key is the current key. Mostly it costs a
// comparison.
func (g *Guard) learnHistory(key headKey) {
	if g.hasLearnt(key) {
		return
	}
	g.learn.Lock()
	defer g.learn.Unlock()
	if g.hasLearnt(key) {
		return
	}
	from := lease.Token(0)
	if n := len(g.past); n > 0 {
		from = g.past[n-1].Token // it had not ended then
	}
	if g.onlyReleased(key) {
		g.mu.Lock()
		g.learnt = key
		g.mu.Unlock()
		return
	}
	later, err := g.keeper.Past(from, key.token)
	if err != nil {
		return // the next call tries again; the head itself is judged in any case
	}
	past := append(until(g.past, from), later...)
	if extra := len(past) - lease.PastKept; extra > 0 {
		past = past[extra:]
	}
	found := g.revokedBy(past, key)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.past, g.learnt = past, key
	g.revoked.learn(past, found)
}

// onlyReleased reports whether nothing has changed except that the head was given back. That
// revokes nobody, and is read with the next claim. The caller has learn.
func (g *Guard) onlyReleased(key headKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.learnt
	before.released = true
	n := len(g.past)
	return n > 0 && g.past[n-1].Token == key.token && !g.learnt.expired && before == key
}

func until(past []lease.Past, from lease.Token) []lease.Past {
	n := len(past)
	for n > 0 && past[n-1].Token >= from {
		n--
	}
	return past[:n:n]
}

func (g *Guard) hasLearnt(key headKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.learnt == key
}

// keyOfEpoch returns the key while an epoch is open here: its claim is the head.
func keyOfEpoch(e *epoch) headKey { return headKey{token: e.id.Token(), auto: e.holder().Auto} }

// keyOf returns the key of an observed head.
func keyOf(head lease.Head, j lease.Judgement) headKey {
	key := headKey{token: head.Token, expired: j.State == lease.Expired || j.State == lease.Stealable}
	if head.Record != nil {
		key.released, key.auto = head.Record.Released, head.Record.Auto
	}
	return key
}

// revokedBy is lostBy for the holders of this machine that still live, each with its processes.
func (g *Guard) revokedBy(past []lease.Past, key headKey) (found []revocation) {
	for _, v := range lostBy(past, key.expired) {
		if v.holder.BootID != process.BootID() || g.cfg.Resolver.Liveness(v.holder) == lease.Gone {
			continue
		}
		if v.former = g.formerKnown(v); v.former == nil {
			v.former = g.cfg.Resolver.formerProcesses(v.holder, bootAt(g.cfg.Clock, v.at))
		}
		found = append(found, v)
	}
	return found
}

// formerKnown returns the processes that were noted for a revocation before.
func (g *Guard) formerKnown(v revocation) *process.Former {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, known := range g.revoked.list {
		if known.token == v.token && sameHolder(known.holder, v.holder) {
			return known.former
		}
	}
	return nil
}

// bootAt converts a time of the wall clock to the boot clock.
func bootAt(c lease.Clock, at time.Time) time.Duration {
	return c.Boot() - max(c.Wall().Sub(at), 0)
}

// lostBy returns the holders that lost a lease against their will and have acquired none on purpose
// since. expired says whether the head has expired. Pure.
func lostBy(past []lease.Past, expired bool) (lost []revocation) {
	for i, p := range past {
		why := reasonNone
		switch {
		case p.End == lease.PastTaken:
			why = reasonRevokedStolen
		case p.End == lease.PastLasts && expired:
			why = reasonRevokedExpired
		}
		if why != reasonNone && !admittedBy(past[i+1:], p.Holder, p.Token) {
			lost = append(lost, revocation{holder: p.Holder, why: why, token: p.Token, at: p.Expires})
		}
	}
	return lost
}

// admittedBy reports whether a holder that lost a lease has acquired on purpose since.
func admittedBy(past []lease.Past, lost lease.Holder, token lease.Token) bool {
	for _, p := range past {
		if p.Token > token && !p.Holder.Auto && admits(p.Holder, lost) {
			return true
		}
	}
	return false
}
