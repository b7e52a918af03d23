package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Saved is what a keeper has noted about a lease that it holds. If its process is killed, the next keeper can go on with the lease
// under the same token. It is noted after each renewal, so it may be older than the record, never younger. A value. The nonce is a
// secret.
type Saved struct {
	Token     Token
	Since     Token // as in [Grant]
	Nonce     string
	SessionID string
	Holder    Holder
	Deadline  time.Duration // of the dead fence, on the boot clock
	Wall      time.Time     // both clocks, read together when it was noted
	Boot      time.Duration
}

// Save is what to note about g, now.
func Save(g Grant, c Clock) Saved {
	in := readClocks(c)
	return Saved{Token: g.Token, Since: g.Since, Nonce: g.Record.HolderNonce, SessionID: g.Record.SessionID, Holder: g.Holder,
		Deadline: g.Deadline, Wall: in.wall, Boot: in.boot}
}

// Extended is b after a renewal, now.
func (b Saved) Extended(deadline time.Duration, c Clock) Saved {
	in := readClocks(c)
	b.Deadline, b.Wall, b.Boot = deadline, in.wall, in.boot
	return b
}

// Adopt goes on, under the same token, with a lease whose keeper's process has ended. The caller has made sure of three things: that
// process is gone, b was noted in this boot and by this boot clock (time namespace), and nothing is held here.
//
// It is a renewal by another process (rule 8) with the second look of a claim (rule 2). LOCK_EX proves that the dead keeper's fence
// has drained, for the kernel drops a flock after the last thread. The head must still be the very claim, and not be released. The
// dead fence's deadline must not have passed; it lies before anybody may steal. The holder must live. The deadline stays the same
// until the next renewal moves it. Nothing is written, so a killed adoption leaves nothing half done.
//
// With an error nothing is open: the fence was closed with a loss, and the audit was told. LossHolderGone: the record is released.
// LossReleased and LossSuperseded: the record is another's. LossExpired is everything else: if the record is still its own, the
// holder may acquire again at once, under the next token.
func (k *Keeper) Adopt(ctx context.Context, b Saved) (Grant, error) {
	if err := k.enter(ctx, k.cfg.GateWait); err != nil {
		return Grant{}, err
	}
	defer k.leave()
	if k.cur != nil {
		return Grant{}, k.store.busy(errors.New("a lease is held here already"))
	}
	a := adoption{k, b}
	if err := k.gate.exclusive(ctx, k.cfg.GateWait); err != nil {
		a.disown(LossExpired, err)
		return Grant{}, err
	}
	h, err := a.restore()
	if err != nil {
		k.gate.unlock()
		a.disown(a.lossBy(err), err)
		return Grant{}, err
	}
	return a.goOn(h)
}

// names is whether the note is about this holder, by a record that may be newer: since then a lease that was taken by writing may
// have been taken on purpose ([Keeper.Acquire]). Who can write the lock directory can make a record name anybody, everybody too.
func (b Saved) names(h Holder) bool {
	was := b.Holder
	return was.UID == h.UID && was.PIDNamespace == h.PIDNamespace && (was.Same(h) || was.TurnsInto(h))
}

// adoption is one attempt to go on with the lease of another process, which has ended (Adopt) or lives (Join).
type adoption struct {
	k *Keeper
	b Saved
}

// restore takes the claim that b is about, if that is still the head and unchanged.
func (a adoption) restore() (*holding, error) {
	k, b := a.k, a.b
	head, _, err := k.cfg.Authority.Look()
	if err != nil {
		return nil, err
	}
	c, err := k.cfg.Authority.Resume(head)
	if err != nil {
		return nil, k.store.asError(err)
	}
	rec := c.Record()
	switch {
	case rec.FencingToken != b.Token || rec.HolderNonce != b.Nonce || rec.SessionID != b.SessionID:
		err = lost(c, "the record is no longer the one that was held")
	case !b.names(rec.Holder()):
		err = lost(c, "the record names another holder than the one that held it")
	case k.store.tier().takersUnseen() && !rec.OfferUntil.IsZero():
		// Somebody on the other host may be taking it, and no lock says so. The time stays in the record until nobody can be
		// taking it any more (rule 14).
		err = k.store.refuse(ClassLockConflict, "it had been offered to another host when its daemon ended", "acquire the lease", rec, nil)
	}
	if err == nil && k.cfg.RelyOnFence && !rec.Fence {
		err = k.store.refuse(ClassLockConflict, "its record does not say that its host has a fence agent, so others would take it over without one",
			"acquire the lease", rec, nil)
	}
	if err == nil && k.otherClient(rec) {
		err = k.store.refuse(ClassLockConflict, "it was held through another client of the store ("+record.Printable(rec.StoreClient)+"), which may still write", "acquire the lease", rec, nil)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return &holding{claim: c, holder: rec.Holder(), deadline: b.Deadline, renewAt: k.cfg.Clock.Boot(), base: instant{b.Wall, b.Boot},
		first: min(b.Since, b.Token)}, nil
}

// otherClient is whether this host writes through another client of the store than when r was renewed. What the other one had read may reach
// the store at any time, under whatever token, so its lease has to run out unreleased (rule 17).
func (k *Keeper) otherClient(r *record.Record) bool {
	now := record.PlainClient(k.cfg.storeClient())
	return now != "" && r.StoreClient != "" && now != r.StoreClient
}

// goOn opens the fence for h until the old deadline, or ends the lease. The caller has LOCK_EX. Afterwards the keeper has LOCK_SH
// or no lock.
func (a adoption) goOn(h *holding) (Grant, error) {
	k := a.k
	k.cur = h
	if k.cfg.Liveness(h.holder) == Gone {
		err := k.store.refuse(ClassLockNotHeld, "the holder has ended", "acquire the lease", h.claim.Record(), nil)
		return Grant{}, errors.Join(err, k.lose(LossHolderGone, nil))
	}
	if err := a.stillCounts(h); err != nil {
		return Grant{}, k.expire(err)
	}
	if err := k.gate.downgrade(); err != nil {
		return Grant{}, k.expire(err)
	}
	h.open = true
	g := k.grant(h)
	k.shown.set(&g)
	k.cfg.Fence.Open(g)
	_ = k.tell.Now(Event{Kind: EventAcquire, Token: g.Token, Previous: g.Token, Holder: g.Holder,
		Reason: "the same holder goes on: its daemon had ended, and the mount was recovered in time"})
	k.wake.poke()
	return g, nil
}

// stillCounts is an error if the deadline has passed, or was noted by another clock. A clock that reads less than the note is
// another clock.
func (a adoption) stillCounts(h *holding) error {
	k := a.k
	in := readClocks(k.cfg.Clock)
	switch off := in.apart(h.base); {
	case in.boot < h.base.boot || h.deadline > h.base.boot+record.MaxSpan:
		return k.store.refuse(ClassLockExpired, "what was left of the lease was noted by another clock", "acquire the lease again", h.claim.Record(), nil)
	case off > divergenceBound(k.cfg.Policy):
		return k.store.refuse(ClassClockSkewExceeded, fmt.Sprintf("this host's clock was set by %v since the last renewal", off),
			"let the clock settle, then acquire again", h.claim.Record(), nil)
	case k.expired(in.boot):
		return k.store.refuse(ClassLockExpired, "the mount was recovered after the lease's deadline", "acquire the lease again", h.claim.Record(), nil)
	}
	return nil
}

// lossBy is the kind of loss that a failed adoption is.
func (a adoption) lossBy(err error) LossKind {
	k, b := a.k, a.b
	if ClassOf(err) != ClassLockNotHeld {
		return LossExpired
	}
	own, err := k.cfg.Authority.Record(b.Token)
	switch {
	case own != nil && own.HolderNonce == b.Nonce && own.Released:
		return LossReleased
	case b.Holder.Auto && errors.Is(err, os.ErrNotExist): // swept, so it was given back (rule 15)
		return LossReleased
	}
	return LossSuperseded
}

// disown closes the fence for a lease whose record is not ours to touch.
func (a adoption) disown(kind LossKind, why error) {
	e := ending{k: a.k, kind: kind, why: why}
	h := &holding{claim: &claim{rec: &record.Record{FencingToken: a.b.Token}}, holder: a.b.Holder}
	e.close(h)
	e.report(h)
}
