package lease

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

var bg = context.Background()

func TestTheNextTokenFollowsTheReleasedOne(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	g := a.must(t, ann)
	require.EqualValues(t, 1, g.Token)
	require.EqualValues(t, 1, g.Record.AcquireSeq)
	require.Equal(t, c.Boot()+20*time.Second, g.Deadline)
	_, err := b.Acquire(bg, bob)
	requireClass(t, ClassLockConflict, err)
	require.Contains(t, err.Error(), "h:ann:10:7")
	require.NotContains(t, err.Error(), g.Record.HolderNonce)
	requireClass(t, ClassLockNotHeld, b.Release(bg, LossReleased))
	require.NoError(t, a.Release(bg, LossReleased))
	_, err = d.Store("main").lookup("main.lock")
	require.ErrorIs(t, err, unix.ENOENT)
	g = b.must(t, bob)
	require.EqualValues(t, 2, g.Token)
	require.EqualValues(t, 2, g.Record.AcquireSeq)
	names, err := d.names()
	require.NoError(t, err)
	require.NotContains(t, strings.Join(names, " "), ".tmp.")
}

func TestViewIsTheHeadAndItsDeletionChangesNothing(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	s := d.Store("main")
	view, err := s.lookup("main.lock")
	require.NoError(t, err)
	require.Equal(t, a.own().file, view)
	require.NoError(t, unix.Unlinkat(d.fd, "main.lock", 0))
	_, err = b.Acquire(bg, bob)
	requireClass(t, ClassLockConflict, err)
	_, err = a.Renew(bg)
	require.NoError(t, err)
	view, err = s.lookup("main.lock")
	require.NoError(t, err)
	require.Equal(t, a.own().file, view)
	a.crash()
	require.NoError(t, unix.Unlinkat(d.fd, "main.lock", 0))
	c.advance(34 * time.Second)
	require.EqualValues(t, 2, b.must(t, bob).Token)
}

func TestAnAcquireByTheHolderKeepsItsToken(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	auto := ann
	auto.Auto = true
	g := a.must(t, auto)
	same := ann
	same.Purpose = "edit"
	g2 := a.must(t, same)
	require.Equal(t, g.Token, g2.Token)
	require.False(t, g2.Holder.Auto)
	h, j := a.Observe()
	require.Equal(t, Held, j.State)
	require.Equal(t, "edit", h.Record.Purpose)
	require.False(t, h.Record.Auto)
	_, err := a.Acquire(bg, bob)
	requireClass(t, ClassLockConflict, err)
}

func TestStealOnlyAfterSkewAndGrace(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	a.crash()
	c.advance(33 * time.Second)
	_, err := b.Steal(bg, bob)
	requireClass(t, ClassLockConflict, err)
	c.advance(time.Millisecond)
	b.deny = errors.New("disk full")
	_, err = b.Steal(bg, bob)
	requireClass(t, ClassAuditFailed, err)
	h, _ := b.Observe()
	require.EqualValues(t, 1, h.Token)
	b.deny = nil
	g, err := b.Steal(bg, bob)
	require.NoError(t, err)
	require.EqualValues(t, 2, g.Token)
	require.Equal(t, []string{"steal"}, b.events())
}

func TestConcurrentStealersHaveOneWinner(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	a.crash()
	c.advance(time.Minute)
	var wg sync.WaitGroup
	won := make(chan Token, 8)
	for i := range 8 {
		r := newRig(t, d, c)
		wg.Go(func() {
			if g, err := r.Steal(bg, person("x", 100+i)); err == nil {
				won <- g.Token
			}
		})
	}
	wg.Wait()
	require.Len(t, won, 1)
	require.EqualValues(t, 2, <-won)
}

func TestLateRenewNeverOverwritesASuccessor(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	late := false
	a.cfg.Pause = func(p string) {
		if p != "renew.before_write" || late {
			return
		}
		late = true // a whole minute passes inside the renewal, and its locks are gone (another kernel)
		a.gate.unlock()
		c.advance(time.Minute)
		b.must(t, bob)
	}
	a.must(t, ann)
	_, err := a.Renew(bg)
	requireClass(t, ClassLockNotHeld, err)
	require.Equal(t, []LossKind{LossSuperseded}, a.fence.kinds())
	h, j := b.Observe()
	require.EqualValues(t, 2, h.Token)
	require.Equal(t, Held, j.State)
	require.Equal(t, bob.ID(), h.Record.HolderID)
	view := d.Store("main").readRecordFile("main.lock")
	require.EqualValues(t, 2, view.Record.FencingToken)
}

// Who gives a lease back that is over already must not give back that of the next holder.
func TestOnlyTheLeaseThatIsMeantIsReleased(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	first := a.must(t, ann)
	require.NoError(t, a.ReleaseToken(bg, first.Token, LossReleased))
	second := a.must(t, bob)
	requireClass(t, ClassLockNotHeld, a.ReleaseToken(bg, first.Token, LossReleased))
	g, held := a.Held()
	require.True(t, held)
	require.Equal(t, second.Token, g.Token)
	require.NoError(t, a.Release(bg, LossReleased), "whichever is held")
}

func TestASuccessorClosesTheFenceAtOnce(t *testing.T) {
	for _, name := range []string{"main.claim.00000000000000000002", "main.claim.00000000000000000009"} {
		d, c := testDir(t), newFakeClock()
		a := newRig(t, d, c)
		a.must(t, ann)
		d.put(t, name, "garbage")
		_, err := a.Renew(bg)
		requireClass(t, ClassLockNotHeld, err)
		require.Equal(t, []LossKind{LossSuperseded}, a.fence.kinds())
		_, held := a.Held()
		require.False(t, held)
		_, err = a.Acquire(bg, ann)
		requireClass(t, ClassRecordUnreadable, err)
		require.Contains(t, err.Error(), name)
	}
}

func TestAReplacedClaimClosesReopensOrExpires(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	const name = "main.claim.00000000000000000001"
	a.must(t, ann)
	require.NoError(t, unix.Renameat(d.fd, name, d.fd, "aside"))
	d.put(t, name, "other")
	c.advance(10 * time.Second)
	a.tick()
	require.Equal(t, []LossKind{LossRenewFailed}, a.fence.kinds())
	_, held := a.Held()
	require.False(t, held)
	require.NoError(t, unix.Renameat(d.fd, "aside", d.fd, name))
	c.advance(time.Second)
	a.tick()
	require.True(t, a.fence.isOpen())
	require.EqualValues(t, 1, a.fence.grant.Token)
	require.Equal(t, c.Boot()+20*time.Second, a.fence.grant.Deadline)
	require.NoError(t, unix.Renameat(d.fd, name, d.fd, "aside"))
	c.advance(19 * time.Second)
	a.tick()
	require.False(t, a.fence.isOpen())
	c.advance(time.Second)
	a.tick()
	require.Equal(t, []LossKind{LossRenewFailed, LossRenewFailed, LossExpired}, a.fence.kinds())
	require.Equal(t, []string{"acquire", "renew_failed", "renew_failed", "expire"}, a.events())
}

func TestCloseHoldsTheGateAndStaysObservable(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	probe := newGateLock(d.Store("main"))
	defer probe.close()
	gateFree := func() bool {
		had, err := probe.store.try(&probe.gate, unix.LOCK_EX)
		require.NoError(t, err)
		probe.gate.unlock()
		return had
	}
	a.fence.onOpen = func(Grant) { require.False(t, gateFree()) }
	a.fence.onClose = func(Loss) {
		require.False(t, gateFree())
		_, held := a.Held()
		require.False(t, held)
		a.Observe()
		_, err := a.Acquire(bg, bob) // refused within GateWait, not stuck
		requireClass(t, ClassLockConflict, err)
	}
	a.must(t, ann)
	require.NoError(t, a.Release(bg, LossReleased))
	require.True(t, gateFree())
	a.fence.onClose = nil
}

func TestATakerWithoutTheGateIsToldWhoHoldsIt(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c, neverResumes), newRig(t, d, c)
	a.must(t, ann)
	c.advance(time.Minute) // a is paused: it neither renewed nor closed
	_, err := b.Steal(bg, bob)
	requireClass(t, ClassLockConflict, err)
	require.Contains(t, err.Error(), "(running)")
	h, _ := b.Observe()
	require.EqualValues(t, 1, h.Token)
	a.tick()
	require.Equal(t, []LossKind{LossExpired}, a.fence.kinds())
	b.must(t, bob)
}

func TestAStoppedHolderIsNotRenewedAndAnEndedOneReleases(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	a.live = Stopped
	for range 21 {
		c.advance(time.Second)
		a.tick()
	}
	require.Equal(t, []LossKind{LossPaused}, a.fence.kinds())
	h, _ := a.Observe()
	require.False(t, h.Record.Released)
	require.Zero(t, h.Record.RenewCount)
	_, err := a.Acquire(bg, bob)
	requireClass(t, ClassLockConflict, err)
	_, err = a.Steal(bg, ann)
	requireClass(t, ClassLockConflict, err)
	a.live = Alive
	require.EqualValues(t, 2, a.must(t, ann).Token) // the same holder goes on
	require.Equal(t, []string{"acquire", "expire", "resume"}, a.events())
	a.live = Gone
	a.tick()
	require.Equal(t, []LossKind{LossPaused, LossHolderGone}, a.fence.kinds())
	require.EqualValues(t, 3, a.must(t, bob).Token)
}

func TestIdleAutoLeaseIsGivenBack(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c, func(k *KeeperConfig) { k.Idle = func(Holder) bool { return true } })
	h := ann
	h.Auto = true
	a.must(t, h)
	a.tick()
	require.Equal(t, []LossKind{LossIdle}, a.fence.kinds())
	_, j := a.Observe()
	require.Equal(t, Free, j.State)
}

// What writing took for a session goes on when the process that it is bound to acquires on purpose, whoever else then belongs to
// it: the token stays, and the fence is not closed. Nobody else gets it so.
func TestAnAutomaticLeaseAcquiredOnPurposeKeepsItsToken(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	session, tree := ann, ann
	session.Auto, session.Scope, session.ScopeKey = true, "session", "10:1"
	tree.Scope, tree.ScopeKey, tree.Purpose = "tree", "", "a build"
	first := a.must(t, session)
	for what, change := range map[string]func(*Holder){
		"another process": func(h *Holder) { h.PID++ }, "a later one of the number": func(h *Holder) { h.StartTime++ },
		"another boot": func(h *Holder) { h.BootID = "other" }, "another pid namespace": func(h *Holder) { h.PIDNamespace = "other" },
		"another user": func(h *Holder) { h.UID++ }, "by writing": func(h *Holder) { h.Auto = true },
	} {
		h := tree
		change(&h)
		_, err := a.Acquire(bg, h)
		requireClass(t, ClassLockConflict, err)
		require.Equal(t, first.Holder, mustHold(t, a).Holder, what)
	}
	g := a.must(t, tree)
	require.Equal(t, first.Token, g.Token)
	tree.SessionID = first.Holder.SessionID
	require.Equal(t, tree, g.Holder)
	require.Empty(t, a.fence.kinds())
	head, _ := a.Observe()
	require.Equal(t, []any{"tree", "", "a build", false}, []any{head.Record.Scope, head.Record.ScopeKey, head.Record.Purpose, head.Record.Auto})
	require.Equal(t, first.Record.HolderID, head.Record.HolderID)
	_, err := a.Acquire(bg, session)
	requireClass(t, ClassLockConflict, err) // there is no way back by writing
}

func mustHold(t *testing.T, a *rig) Grant {
	t.Helper()
	g, held := a.Held()
	require.True(t, held)
	return g
}

func TestAReplacedLeaseHasTheNextToken(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	_, err := a.Replace(bg, 1, bob)
	requireClass(t, ClassLockNotHeld, err)
	a.must(t, ann)
	_, err = a.Replace(bg, 7, bob)
	requireClass(t, ClassFencingMismatch, err)
	g, err := a.Replace(bg, 1, bob)
	require.NoError(t, err)
	require.EqualValues(t, 2, g.Token)
	require.Equal(t, []LossKind{LossReleased}, a.fence.kinds())
	require.True(t, a.fence.passes())
}

func TestClockStepFailsTheRenewal(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	c.stepWall(1100 * time.Millisecond)
	_, err := a.Renew(bg)
	requireClass(t, ClassClockSkewExceeded, err)
	require.Equal(t, []LossKind{LossRenewFailed}, a.fence.kinds())
}

func TestClockStepWhileWatchingRefusesTheSteal(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a, b := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	a.crash()
	b.Observe()
	c.stepWall(time.Minute)
	_, err := b.Steal(bg, bob)
	requireClass(t, ClassClockSkewExceeded, err)
	c.advance(34 * time.Second) // by the boot clock alone it has been silent for long enough
	b.must(t, bob)
}

func TestRemoteStoreNeedsSilence(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.tier = tierRemote
	a, b := newRig(t, d, c), newRig(t, d, c)
	a.must(t, ann)
	a.crash()
	c.advance(time.Hour)
	_, err := b.Steal(bg, bob)
	requireClass(t, ClassLockConflict, err)
	require.Contains(t, err.Error(), "watched")
	c.advance(33 * time.Second)
	b.Observe()
	_, err = b.Steal(bg, bob)
	// The injected clock is an hour ahead of the one that stamped the files.
	requireClass(t, ClassClockSkewExceeded, err)
	require.NotContains(t, b.events(), "steal", "what did not happen is not in the audit")
	// The stamps never change again. After one silence they do not count any more.
	c.advance(32 * time.Second)
	_, err = b.Steal(bg, bob)
	requireClass(t, ClassClockSkewExceeded, err)
	c.advance(2 * time.Second)
	b.must(t, bob)
}

func TestAForeignViewAboveTheHeadSupersedesTheHolder(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	rec := a.own().rec.Clone()
	rec.FencingToken, rec.HolderNonce, rec.HolderID = 41, "theirs", "far:eve:1:2"
	body, err := json.Marshal(rec)
	require.NoError(t, err)
	require.NoError(t, unix.Unlinkat(d.fd, "main.lock", 0))
	d.put(t, "main.lock", string(body))
	c.advance(10 * time.Second)
	a.tick()
	require.Equal(t, []LossKind{LossSuperseded}, a.fence.kinds())
	_, err = a.Acquire(bg, ann)
	requireClass(t, ClassLockConflict, err)
	require.Contains(t, err.Error(), "far:eve:1:2")
	c.advance(24 * time.Second)
	require.EqualValues(t, 42, a.must(t, ann).Token)
	require.NoError(t, a.Release(bg, LossReleased))
	d.put(t, "main.lock", "") // their acquire, between create and write
	_, err = a.Acquire(bg, ann)
	requireClass(t, ClassRecordUnreadable, err)
}

func TestAReleaseThatCannotBeMarkedIsAnError(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	unix.Close(a.own().fd)
	a.own().fd = -1
	requireClass(t, ClassStoreFailed, a.Release(bg, LossReleased))
	require.Equal(t, []LossKind{LossReleased}, a.fence.kinds())
	_, j := a.Observe()
	require.Equal(t, Held, j.State)
}

// Looked is called after each look that mutations have asked for, and never where none is needed.
func TestEachLookForASuccessorIsTold(t *testing.T) {
	for _, at := range []tier{tierA, tierRemote} {
		var all []time.Duration
		d := testDir(t)
		d.tier = at
		r := newRig(t, d, newFakeClock(), func(cfg *KeeperConfig) {
			cfg.Looked = func(took time.Duration) { all = append(all, took) }
		})
		g := r.must(t, ann)
		if at == tierA {
			require.Nil(t, g.Late)
			continue
		}
		require.NoError(t, g.Late())
		require.NoError(t, g.Late())
		require.Equal(t, []time.Duration{0, 0}, all)
	}
}

// Renewed is called after each renewal, with its time, also after one that failed.
func TestEachRenewalIsTold(t *testing.T) {
	type told struct {
		took time.Duration
		ok   bool
	}
	var all []told
	c := newFakeClock()
	r := newRig(t, testDir(t), c, func(cfg *KeeperConfig) {
		cfg.Renewed = func(took time.Duration, err error) { all = append(all, told{took, err == nil}) }
		cfg.Pause = func(point string) {
			if point == "renew.before_write" {
				c.advance(5 * time.Millisecond)
			}
		}
	})
	r.must(t, ann)
	_, err := r.Renew(bg)
	require.NoError(t, err)
	c.stepWall(time.Hour)
	_, err = r.Renew(bg)
	requireClass(t, ClassClockSkewExceeded, err)
	require.Equal(t, []told{{5 * time.Millisecond, true}, {0, false}}, all)
}
