package lease

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// slept is a holder of two tokens' worth of time: a night.
const slept = 10 * time.Hour

// Rule 16. A lid was closed: nothing ran, and nobody could take the lease, for LOCK_SH was held all the time.
func TestAPausedHolderGoesOnUnderTheNextToken(t *testing.T) {
	for name, h := range map[string]Holder{"on purpose": ann, "by writing": auto(ann)} {
		t.Run(name, func(t *testing.T) {
			d, c := testDir(t), newFakeClock()
			a := newRig(t, d, c)
			first := a.must(t, h)
			c.advance(slept)
			require.False(t, a.fence.passes(), "nothing passes between the deadline and the new claim")
			a.tick()
			require.True(t, a.fence.passes())
			require.Equal(t, []LossKind{LossResumed}, a.fence.kinds(), "nobody was locked out, and no cache was dropped")
			g, held := a.Held()
			require.True(t, held)
			require.EqualValues(t, []Token{2, 1}, []Token{g.Token, g.Since})
			require.Equal(t, c.Boot()+20*time.Second, g.Deadline)
			require.Equal(t, first.Holder.SessionID, g.Holder.SessionID)
			require.True(t, g.Covers(1) && g.Covers(2))
			require.False(t, g.Covers(0) || g.Covers(3))
			require.False(t, gateFree(t, d))
			a.tell.All()
			require.Equal(t, []string{"acquire", "resume"}, a.events())
			last := a.log[1]
			require.EqualValues(t, []Token{2, 1}, []Token{last.Token, last.Previous})
			require.Contains(t, last.Reason, "goes on after a pause")

			past, err := a.Past(0, 2)
			require.NoError(t, err)
			require.Equal(t, []PastEnd{PastGiven, PastLasts}, []PastEnd{past[0].End, past[1].End}, "nobody lost a lease")
			c.advance(slept) // and once more
			a.tick()
			g, _ = a.Held()
			require.EqualValues(t, []Token{3, 1}, []Token{g.Token, g.Since})
		})
	}
}

func auto(h Holder) Holder { h.Auto = true; return h }

// Rule 16. The event comes first: no event, no going on.
func TestAHolderGoesOnOnlyWithItsAuditEvent(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		d, c := testDir(t), newFakeClock()
		a := newRig(t, d, c, func(k *KeeperConfig) {
			audit := k.Audit
			k.Audit = func(e Event) error {
				if e.Kind == EventResume {
					require.False(t, exists(t, d, claim2))
					return errors.New("disk full")
				}
				return audit(e)
			}
		})
		a.must(t, ann)
		if stopped {
			stopInTime(a)
			a.live = Alive
		}
		c.advance(slept)
		a.tick()
		require.False(t, a.fence.isOpen())
		require.False(t, exists(t, d, claim2))
		require.Equal(t, []string{"acquire", "expire"}, a.events())
		require.Equal(t, stopped, a.paused(), "a holder that was stopped is tried again")
	}
}

// Rule 16. The fence is closed and has drained before the next token exists, and LOCK_SH is ours all the time.
func TestAResumedEpochDrainsBeforeTheNextClaim(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	c.advance(slept)
	closed := false
	a.fence.onClose = func(Loss) {
		closed = true
		require.False(t, gateFree(t, d))
		require.False(t, exists(t, d, claim2))
		_, held := a.Held()
		require.False(t, held)
	}
	seen := 0
	a.cfg.Pause = func(p string) {
		switch p {
		case "resume.before_close":
			require.False(t, closed)
		case "resume.closed", "resume.before_link", "resume.after_link":
			require.True(t, closed)
			require.False(t, a.fence.isOpen())
			require.Equal(t, p == "resume.after_link", exists(t, d, claim2), p)
		default:
			return
		}
		require.False(t, gateFree(t, d), p)
		seen++
	}
	a.tick()
	require.Equal(t, 4, seen)
	require.True(t, a.fence.passes())
	a.fence.onClose = nil
}

func exists(t *testing.T, d *Dir, name string) bool {
	t.Helper()
	var st unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if !errors.Is(err, os.ErrNotExist) {
		require.NoError(t, err)
	}
	return err == nil
}

// Rule 16. Whatever spoils the proof ends the lease at the deadline, as it always did.
func TestAPausedHolderWithoutProofLosesItsLease(t *testing.T) {
	move := func(t *testing.T, a *rig, from, to string) {
		require.NoError(t, unix.Renameat(a.store.dir.fd, from, a.store.dir.fd, to))
	}
	for name, c := range map[string]struct {
		meanwhile func(*testing.T, *rig)
		want      []LossKind
	}{
		"other hosts write the store":  {func(_ *testing.T, a *rig) { a.store.dir.tier = tierRemote }, []LossKind{LossExpired}},
		"the daemon is being replaced": {func(_ *testing.T, a *rig) { neverResumes(&a.cfg) }, []LossKind{LossExpired}},
		"the holder has ended":         {func(_ *testing.T, a *rig) { a.live = Gone }, []LossKind{LossExpired}},
		"a renewal had failed": {func(t *testing.T, a *rig) { a.interrupt(errors.New("disk")) },
			[]LossKind{LossRenewFailed, LossExpired}},
		"the gate was replaced": {func(t *testing.T, a *rig) { move(t, a, "main.gate", "aside") }, []LossKind{LossExpired}},
		"the claim was replaced": {func(t *testing.T, a *rig) { move(t, a, claim1, "aside") },
			[]LossKind{LossResumed, LossExpired}},
		"the lease was released by hand": {func(t *testing.T, a *rig) {
			rec := a.own().rec.Clone()
			rec.Released = true
			b, err := rec.Encode()
			require.NoError(t, err)
			_, err = unix.Pwrite(a.own().fd, b, 0)
			require.NoError(t, err)
		}, []LossKind{LossResumed, LossExpired}},
		"somebody took it without the gate": {func(t *testing.T, a *rig) {
			a.store.dir.put(t, claim2, rivalRecord(t, 2))
		}, []LossKind{LossResumed, LossSuperseded}},
		"somebody takes it without the gate at the last moment": {func(t *testing.T, a *rig) {
			a.once("resume.before_link", func() { a.store.dir.put(t, claim2, rivalRecord(t, 2)) })
		}, []LossKind{LossResumed, LossSuperseded}},
		"going on takes longer than the lease lasts": {func(t *testing.T, a *rig) {
			a.once("resume.after_link", func() { a.clock.advance(20 * time.Second) })
		}, []LossKind{LossResumed, LossExpired}},
	} {
		t.Run(name, func(t *testing.T) {
			d, clock := testDir(t), newFakeClock()
			a := newRig(t, d, clock)
			a.must(t, ann)
			c.meanwhile(t, a)
			clock.advance(slept)
			a.tick()
			a.cfg.Pause = func(string) {}
			require.Equal(t, c.want, a.fence.kinds())
			_, held := a.Held()
			require.False(t, held || a.fence.isOpen())
			require.False(t, a.paused(), "it does not go on later, either")
			d.tier = tierA // for the cleanup
		})
	}
}

// Rule 16. A thief that came first waits for the gate; when it gets there it finds the new claim, and does not touch it.
func TestAStealFindsThatThePausedHolderWentOn(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, thief := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	c.advance(slept)
	thief.once("acquire.before_gate", func() { a.tick() })
	_, err := thief.Steal(bg, bob)
	requireClass(t, ClassLockConflict, err)
	require.True(t, a.fence.passes())
	g, _ := a.Held()
	require.EqualValues(t, 2, g.Token)

	thief.once("acquire.before_gate", func() { a.tick(); require.NoError(t, a.Release(bg, LossReleased)) })
	c.advance(slept)
	g, err = thief.Steal(bg, bob)
	require.NoError(t, err)
	require.EqualValues(t, 4, g.Token, "the holder went on once more, and gave it back")
	require.Zero(t, thief.fence.losses)
}

// Rule 16. While the holder goes on, it is killed or stopped for ever at every point: a taker waits, or goes on above.
func TestAHolderKilledWhileItGoesOnBlocksNoTaker(t *testing.T) {
	for _, at := range []string{"resume.before_close", "resume.closed", "resume.before_link", "resume.after_link"} {
		t.Run(at, func(t *testing.T) {
			d, c := testDir(t), newFakeClock()
			a, b := newRig(t, d, c), newRig(t, d, c)
			a.must(t, ann)
			c.advance(slept)
			type killed struct{}
			a.once(at, func() {
				_, err := b.Steal(bg, bob)
				requireClass(t, ClassLockConflict, err)
				a.fence.Close(Loss{})
				panic(killed{})
			})
			func() {
				defer func() { require.Equal(t, killed{}, recover()) }()
				a.step()
			}()
			a.crash()
			c.advance(time.Minute)
			g, err := b.Steal(bg, bob)
			require.NoError(t, err)
			require.Equal(t, map[bool]Token{false: 2, true: 3}[at == "resume.after_link"], g.Token)
		})
	}
}

// Rule 16. A debugger stops the holder alone: its lease is over, others may take it, and it goes on if nobody has.
func TestAStoppedHolderGoesOnWhenItIsResumed(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	stopInTime(a)
	require.Equal(t, []LossKind{LossPaused}, a.fence.kinds())
	require.True(t, gateFree(t, d), "others may take it")
	require.Equal(t, a.cfg.Tick, a.nextWake(), "somebody looks whether it was resumed")
	c.advance(slept)
	a.tick()
	require.False(t, a.fence.isOpen())
	a.live = Alive
	a.tick()
	g, held := a.Held()
	require.True(t, held && a.fence.passes())
	require.EqualValues(t, []Token{2, 1}, []Token{g.Token, g.Since})
	require.Equal(t, []string{"acquire", "expire", "resume"}, a.events())
	require.Contains(t, a.log[2].Reason, "goes on after a pause: its lease had ended 9h59m")
	require.Equal(t, []LossKind{LossPaused}, a.fence.kinds())
}

// Rule 16. Holder and daemon were both paused, and the daemon wakes first. The holder goes on: nothing of it was written back before
// the deadline. But once only, or a slow machine would keep others out for ever.
func TestAHolderGoesOnWhenItsDaemonWakesFirst(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	a.live = Stopped
	c.advance(slept)
	a.tick()
	require.Equal(t, []LossKind{LossResumed}, a.fence.kinds())
	require.True(t, a.fence.passes())
	c.advance(slept)
	a.tick()
	require.Equal(t, []LossKind{LossResumed, LossPaused}, a.fence.kinds())
	require.True(t, gateFree(t, d))
	a.live = Alive
	a.tick()
	g, _ := a.Held()
	require.EqualValues(t, []Token{3, 1}, []Token{g.Token, g.Since})
	a.live = Stopped
	c.advance(slept)
	a.tick()
	require.True(t, a.fence.passes(), "it was awake in between")
}

// It goes on as well if it asks before the keeper looks.
func TestAStoppedHolderThatAsksGoesOn(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	stopInTime(a)
	a.live = Alive
	audit := a.cfg.Audit
	a.cfg.Audit = func(Event) error { return errors.New("disk full") }
	_, err := a.Acquire(bg, ann)
	requireClass(t, ClassAuditFailed, err)
	require.True(t, a.paused(), "it may try again")
	a.cfg.Audit = audit
	g := a.must(t, ann)
	require.EqualValues(t, []Token{2, 1}, []Token{g.Token, g.Since})
	require.Equal(t, []LossKind{LossPaused}, a.fence.kinds())
	require.Equal(t, []string{"acquire", "expire", "resume"}, a.events(), "an auditor sees that what it has open goes on")
}

// Where anybody took over, or the holder has ended, the pause becomes a loss like any: whoever watches is told.
func TestAPauseEndsInALossAfterATakeover(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, a, b *rig)
		want LossKind
	}{
		"another keeper takes it":  {func(t *testing.T, _, b *rig) { b.must(t, bob) }, LossSuperseded},
		"another holder takes it":  {func(t *testing.T, a, _ *rig) { a.must(t, bob) }, LossSuperseded},
		"the holder has ended":     {func(_ *testing.T, a, _ *rig) { a.live = Gone }, LossExpired},
		"the daemon is replaced":   {func(_ *testing.T, a, _ *rig) { neverResumes(&a.cfg); a.live = Alive }, LossExpired},
		"the keeper is closed":     {func(t *testing.T, a, _ *rig) { require.NoError(t, a.Close()) }, LossReleased},
		"the holder itself steals": {func(t *testing.T, a, _ *rig) { _, err := a.Steal(bg, ann); require.NoError(t, err) }, LossSuperseded},
		"a foreign tool takes it":  {func(t *testing.T, a, _ *rig) { a.store.dir.put(t, "main.lock", rivalRecord(t, 7)) }, LossSuperseded},
	} {
		t.Run(name, func(t *testing.T) {
			d, clock := testDir(t), newFakeClock()
			a, b := newRig(t, d, clock), newRig(t, d, clock)
			a.must(t, ann)
			stopInTime(a)
			clock.advance(slept)
			c.end(t, a, b)
			a.tick()
			require.Equal(t, []LossKind{LossPaused, c.want}, a.fence.kinds())
			require.False(t, a.paused())
			if g, held := a.Held(); held {
				require.Equal(t, g.Token, g.Since, "nothing of before goes on")
			}
		})
	}
}

// A holder that was resumed while a taker has the gate waits for that taker's outcome.
func TestAStoppedHolderWaitsForATaker(t *testing.T) {
	for _, wins := range []bool{true, false} {
		d, c := testDir(t), newFakeClock()
		a, b := newRig(t, d, c), newRig(t, d, c)
		a.must(t, ann)
		stopInTime(a)
		c.advance(slept)
		a.live = Alive
		b.deny = map[bool]error{false: errors.New("no audit")}[wins]
		b.once("claim.before_look", func() {
			a.tick()
			require.Equal(t, []LossKind{LossPaused}, a.fence.kinds(), "it waits")
			require.False(t, a.fence.isOpen())
		})
		_, err := b.Steal(bg, bob)
		require.Equal(t, wins, err == nil, "%v", err)
		a.tick()
		require.Equal(t, wins, !a.fence.isOpen())
		require.Equal(t, wins, b.fence.isOpen())
	}
}

// Somebody took the lease, and gave it back at once, while the holder was about to go on.
func TestAStoppedHolderTakesNothingThatAnotherHasHad(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	stopInTime(a)
	c.advance(slept)
	a.live = Alive
	a.once("acquire.before_gate", func() {
		b.must(t, bob)
		require.NoError(t, b.Release(bg, LossReleased))
	})
	a.tick()
	_, held := a.Held()
	require.False(t, held)
	a.tick()
	require.Equal(t, []LossKind{LossPaused, LossSuperseded}, a.fence.kinds())
}

// Two keepers of one lease (rule 4): only LOCK_EX proves that the other's fence has drained.
func TestALeaseOfTwoKeepersGoesOnWhenTheOtherHasDrained(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	g := a.must(t, ann)
	_, err := b.Join(bg, Save(g, c))
	require.NoError(t, err)
	_, ok, err := a.Follow(bg, Stay)
	require.True(t, ok)
	require.NoError(t, err)
	b.Resume()
	c.advance(slept)
	b.tick()
	require.Equal(t, []LossKind{LossPaused}, b.fence.kinds())
	b.tick()
	require.False(t, b.fence.isOpen(), "the other has LOCK_SH still")
	a.tick()
	require.Equal(t, []LossKind{LossReplaced}, a.fence.kinds())
	b.tick()
	require.True(t, b.fence.passes())
	now, _ := b.Held()
	require.EqualValues(t, []Token{2, 1}, []Token{now.Token, now.Since})
	require.False(t, b.cur.joined)
}

// What goes on is noted for the next daemon, too.
func TestAResumedLeaseIsAdoptedWithItsEarlierTokens(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, next := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	c.advance(slept)
	a.tick()
	g, _ := a.Held()
	saved := Save(g, c)
	a.own().close()
	a.crash()
	g, err := next.Adopt(bg, saved)
	require.NoError(t, err)
	require.True(t, g.Covers(1))
}

// A renewal that the pause began in, and that so comes too late, is no renewal; the holder goes on all the same.
func TestAHolderGoesOnAfterAPauseWithinARenewal(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	for _, at := range []string{"renew.before_write", "renew.after_write", "renew.after_look"} {
		before, _ := a.Held()
		c.advance(11 * time.Second)
		a.once(at, func() { c.advance(slept) })
		a.tick()
		g, held := a.Held()
		require.True(t, held && a.fence.passes(), at)
		require.Equal(t, before.Token+1, g.Token, at)
	}
}
