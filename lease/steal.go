package lease

import (
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/lease/record"
)

// taking is one attempt to take the lease: two looks, one claim. It owns what it saw.
type taking struct {
	k       *Keeper
	holder  Holder
	resume  bool  // a lease that expired here may go on for the same holder
	unasked bool  // the holder was stopped, and goes on by itself (rule 16)
	left    *Head // nil: any lease; otherwise this very one alone (rule 18)
	head    Head
	verdict Judgement
	own     bool          // it goes on from our own expired record
	goesOn  bool          // so does what its holder has open (rule 16)
	offered bool          // its holder has offered it to us (rule 14)
	looked  time.Duration // boot time before the last look
	late    time.Duration // of an own lease: how long its deadline had passed then
	cut     bool          // its host was cut off the store (rule 17)
}

// look decides by rules 5 to 7. The second call is under the gate. If the record changed between the two, the clocks are wrong.
func (tk *taking) look() error {
	k, before, offered, now := tk.k, tk.head, tk.offered, readClocks(tk.k.cfg.Clock)
	h, j, err := k.cfg.Authority.Look()
	if err != nil {
		return err
	}
	tk.head, tk.verdict, tk.own, tk.goesOn, tk.offered, tk.looked = h, j, false, false, false, now.boot
	switch {
	case j.State == Unreadable:
		return k.store.asError(h.Unreadable)
	case h.Token >= record.MostToken:
		return k.store.refuse(ClassRecordUnreadable, "the fencing tokens are used up", nextOutOfBounds, h.Record, nil)
	case tk.unasked && !tk.isOwn(h):
		return k.store.conflict(h, j)
	case tk.left != nil && !tk.left.unchanged(h):
		return k.store.conflict(h, j)
	case j.State == Free:
		return nil
	case j.State == Held && !h.Foreign && offers(h.Record, now.wall, tk.holder):
		tk.offered = true
		return nil
	case tk.resume && tk.isOwn(h):
		tk.own, tk.goesOn, tk.late = true, k.lapsed.paused, now.boot-k.lapsed.deadline
		return nil
	case !offered && before.Token == h.Token && before.Record != nil && before.Sum != h.Sum:
		return k.store.conflict(h, Judgement{State: Skewed, Reason: "its record changed after its lease had ended by this host's clock"})
	case j.State == Stealable:
		return nil
	}
	return k.store.conflict(h, j)
}

// seenFree is whether the first look is not needed: Observe has just looked for the writer, the head was free, and no stamp has changed
// since. A change within one tick of the stamps is not seen here. The look under the gate sees it, and decides.
func (tk *taking) seenFree() bool {
	h, free := tk.k.cfg.Authority.Still()
	if !free || !tk.holder.Auto || !tk.k.store.tier().gateProvesEnd() {
		return false
	}
	tk.head = h
	return true
}

// isOwn is whether the head is the very record that expired here for the same holder. Its fence is closed and drained, and nobody else
// can have renewed it.
func (tk *taking) isOwn(h Head) bool {
	l := tk.k.lapsed
	return l != nil && l.holder.Same(tk.holder) && l.claim.Is(h)
}

// blame adds the holder to an error about the gate.
func (tk *taking) blame(err error) error {
	//nolint:errorlint // an error that wraps one says more
	if e, ok := err.(*Error); ok && e.Holder == nil && tk.head.Record != nil && !tk.head.Record.Released {
		named := *e
		named.Holder = tk.head.Record
		return &named
	}
	return err
}

// claim is rule 2 from the second look on. The caller has LOCK_EX. Afterwards the keeper has LOCK_SH or no lock.
func (tk *taking) claim() (Grant, error) {
	k := tk.k
	armed := false
	defer func() {
		if !armed {
			k.gate.unlock()
		}
	}()
	k.cfg.Pause("claim.before_look")
	if err := tk.look(); err != nil {
		return Grant{}, err
	}
	if err := tk.stillCut(); err != nil {
		return Grant{}, err
	}
	in := readClocks(k.cfg.Clock) // t0: before the record is written
	rec := k.store.newRecord(k.cfg.Policy, tk.holder, tk.head, in)
	rec.HandedOver, rec.StoreClient = tk.offered, record.PlainClient(k.cfg.storeClient())
	rec.Fence = k.cfg.fences()
	c, err := k.cfg.Authority.Claim(rec, tk.head)
	if err != nil {
		return Grant{}, err
	}
	if err := tk.win(c, in); err != nil {
		return Grant{}, err
	}
	g, err := tk.arm(c, in)
	armed = err == nil
	return g, err
}

// win links and publishes. On failure at most a released claim is left.
func (tk *taking) win(c Tenure, in instant) error {
	k := tk.k
	err := tk.contradicted(c, in)
	if err == nil {
		err = tk.auditSteal()
	}
	if err == nil {
		err = tk.inTime() // before the link: a claim that must run out keeps everybody waiting
	}
	if err != nil {
		c.Discard()
		return err
	}
	k.cfg.Pause("claim.before_link")
	claiming(c.Record())
	won, err := c.Win(tk.event())
	if err == nil && !won {
		err = tk.beaten()
	}
	if err != nil {
		c.Discard()
		return err
	}
	claimed(c.Record())
	k.cfg.Pause("claim.after_link")
	if err := c.Publish(); err != nil {
		tk.undo(c)
		return err
	}
	k.cfg.Pause("claim.after_publish")
	return nil
}

// arm opens the fence, unless the deadline has come or there is a successor.
func (tk *taking) arm(c Tenure, in instant) (Grant, error) {
	k, p := tk.k, tk.k.cfg.Policy
	holder := tk.holder
	holder.SessionID, holder.Purpose = c.Record().SessionID, c.Record().Purpose
	h := &holding{claim: c, holder: holder, base: in, deadline: c.From(in.boot) + p.Window(), renewAt: in.boot + p.RenewAfter(), open: true}
	if tk.goesOn {
		h.first = k.lapsed.since()
	}
	_, err := c.Over(true) // a foreign view may have let somebody claim further up
	if err == nil {
		err = k.gate.downgrade()
	}
	if err == nil {
		err = tk.inTime()
	}
	if err == nil && k.cfg.Clock.Boot() >= h.deadline-p.CloseLead() {
		err = k.store.refuse(ClassLockExpired, "taking the lease took longer than it lasts", "try again; look at the lock directory's disk", nil, nil)
	}
	if err != nil {
		tk.undo(c)
		return Grant{}, err
	}
	if tk.own {
		k.lapsed.paused = false // it goes on
	}
	k.forgetLapsed()
	k.cur = h
	g := k.grant(h)
	k.shown.set(&g)
	k.cfg.Fence.Open(g)
	if kind := tk.kind(); kind == EventAcquire {
		e := Event{Kind: kind, Token: g.Token, Previous: tk.head.Token, Holder: holder, Reason: tk.reason()}
		if holder.Auto {
			k.tell.Later(e) // its writer waits
		} else {
			_ = k.tell.Now(e)
		}
	}
	if k.sweeps() && k.swept.behind(g.Token) > sweepBehind {
		k.swept.sweep(k.store, g.Token) // leases may pass on so fast that Run never does
	}
	k.wake.poke()
	return g, nil
}

// undo ends a claim of this attempt whose epoch never opened. A claim that is too late for an offer is not given back, but runs out: the
// offer's holder may write until it sees the claim, and a released claim would let another holder in beside it.
func (tk *taking) undo(c Tenure) {
	if tk.tooLate(tk.k.cfg.Clock.Boot()) {
		c.Discard()
		return
	}
	tk.k.giveBack(c, Event{Kind: EventRelease, Token: c.Record().FencingToken, Previous: tk.head.Token, Holder: tk.holder, Reason: "its epoch never opened"})
}

// beaten is the error that names who won the race for the name.
func (tk *taking) beaten() error {
	h, j, err := tk.k.cfg.Authority.Look()
	if err != nil {
		return err
	}
	return tk.k.store.conflict(h, Judgement{State: Held, Until: j.Until, Reason: "it was faster"})
}

// contradicted is case (d) of rule 7. The stamp of our record shows how the store's clock differs from ours. The stamp of the head shows
// how it differed from the holder's. On a file system of this kernel there is one clock, and the comparison says nothing.
//
// If the last renewal was slow and its holder then died, the stamps differ for ever. So a contradiction delays a takeover by one more
// silence and does not forbid it. By then nobody has changed the record for twice the time in which a holder could count on it.
//
// Our record got its stamp somewhere between in and now: the store may have stalled meanwhile, and that contradicts no clock.
func (tk *taking) contradicted(c Tenure, in instant) error {
	k, r, born := tk.k, tk.head.Record, tk.k.cfg.Clock.Wall().Round(0)
	if !k.store.tier().storeHasOwnClock() || r == nil || tk.verdict.State != Stealable {
		return nil
	}
	if tk.cut {
		return nil // it was asked before the agent ran (cutFirst), and that host changes nothing any more
	}
	stamp, err := c.Stamp()
	if err != nil {
		return err
	}
	if k.contrary.lasts(tk.head, in.boot) >= k.cfg.Policy.Stricter(r.Policy()).Silence() {
		return nil
	}
	off := offBetween(in.wall.Sub(stamp), born.Sub(stamp), r.LastRenewedAt.Sub(tk.head.ModTime))
	bound := k.cfg.Policy.Stricter(r.Policy()).MaxClockSkew
	if off <= max(bound, 10*time.Millisecond) {
		return nil
	}
	k.contrary.note(tk.head, in.boot)
	return k.store.conflict(tk.head, Judgement{State: Skewed,
		Reason: fmt.Sprintf("by the store's stamps its clock and ours are %v apart; %v is the bound", off, bound)})
}

// offBetween is how far x lies outside of the range from low to high.
func offBetween(low, high, x time.Duration) time.Duration { return max(low-x, x-high, 0) }

// kind is what the audit log calls it.
func (tk *taking) kind() EventKind {
	switch {
	case tk.offered:
		return EventHandover
	case tk.verdict.State == Stealable && !tk.own:
		return EventSteal
	case tk.goesOn:
		return EventResume
	}
	return EventAcquire
}

func (tk *taking) reason() string {
	if tk.offered {
		return "its holder offered it to this host"
	}
	if tk.goesOn {
		return resumed(tk.late)
	}
	if tk.own {
		return "the same holder goes on after its lease ended; nobody had taken it"
	}
	if tk.cut {
		return tk.verdict.Reason + "; its host was cut off the store"
	}
	return tk.verdict.Reason
}

// auditSteal is rule 12: no event, no steal. It comes before the link, so a steal may have its event and then fail. A lease that was
// offered is not stolen, for its holder has drained. It needs its event, too.
func (tk *taking) auditSteal() error {
	e := tk.event()
	if e.Kind == EventAcquire {
		return nil
	}
	err := tk.k.tell.Now(e)
	if err != nil {
		return tk.k.store.refuse(ClassAuditFailed, "the "+string(e.Kind)+" could not be audited, so it did not happen", "repair the audit log", tk.head.Record, err)
	}
	return nil
}

// event is what the audit is told of the takeover, or of a lease that was free.
func (tk *taking) event() Event {
	e := Event{Kind: tk.kind(), Token: tk.head.Token + 1, Previous: tk.head.Token, Holder: tk.holder, Reason: tk.reason()}
	switch e.Kind {
	case EventAcquire:
	case EventResume: // so is what goes on
	case EventHandover:
		e.From = tk.head.Record.Holder()
	default:
		e.Fenced = tk.cut
		e.Unclean = !tk.k.store.tier().gateProvesEnd() && !tk.cut || tk.head.Foreign
	}
	return e
}
