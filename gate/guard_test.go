package gate

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

func write(e Epoch) Request { return Request{Op: OpWrite, Epoch: e} }
func byUser(uid uint32) Request {
	return Request{Op: OpCreate, Caller: process.Caller{UID: uid}}
}

func mustEnter(t *testing.T, g *Guard, r Request) Pass {
	t.Helper()
	p, no := g.Enter(r)
	require.Nil(t, no, "refused")
	return p
}

func mustRefuse(t *testing.T, g *Guard, r Request, why Reason) *Refusal {
	t.Helper()
	p, no := g.Enter(r)
	if no == nil {
		p.End()
	}
	require.NotNil(t, no, "let through")
	require.Equal(t, why, no.Reason, no.Error())
	return no
}

func TestAHandleWritesInItsEpochOnly(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	h := userHolder(7, "7")
	tok := k.give(h)
	p := mustEnter(t, g, byUser(7))
	require.Equal(t, EpochOf(tok), p.Epoch())
	p.End()
	mustEnter(t, g, write(p.Epoch())).End()

	k.lose(lease.LossReleased, tok, h)
	mustRefuse(t, g, write(p.Epoch()), reasonStaleHandle)
	k.give(h)
	no := mustRefuse(t, g, write(p.Epoch()), reasonStaleHandle)
	require.Equal(t, lease.ClassFencingMismatch, no.Class())
	require.Equal(t, syscall.EROFS, no.Errno)
}

func TestCloseWaitsForWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(mountHolder("a"))
		p := mustEnter(t, g, write(EpochOf(tok)))
		var hooked sync.WaitGroup
		hooked.Add(1)
		g.OnClose(func(lease.Loss) { hooked.Done() })

		closed := make(chan struct{})
		go func() { k.lose(lease.LossExpired, tok, mountHolder("a")); close(closed) }()
		require.Eventually(t, func() bool { // nothing new gets in while it waits
			q, no := g.Enter(write(EpochOf(tok)))
			if no == nil {
				q.End()
			}
			return no != nil
		}, eventually, tick)
		mustWait(t, closed)
		p.End()
		<-closed
		hooked.Wait()
	})
}

// Many writers against one closer: after Close has returned nobody has a pass.
func TestNothingIsInFlightAfterClose(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	for range 40 {
		tok := k.give(mountHolder("a"))
		var held, wg sync.WaitGroup
		stop := make(chan struct{})
		var late, ended = make(chan struct{}, 100), make(chan struct{})
		held.Add(4)
		for range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for first := true; ; first = false {
					p, no := g.Enter(write(EpochOf(tok)))
					if no == nil {
						select {
						case <-ended:
							late <- struct{}{}
						default:
						}
						p.End()
					}
					if first {
						held.Done()
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			}()
		}
		held.Wait()
		k.lose(lease.LossReleased, tok, mountHolder("a"))
		close(ended)
		close(stop)
		wg.Wait()
		require.Empty(t, late)
	}
}

// What a holder stored through a mapping is written back before a lease is given back, and dropped
// when the lease is lost.
func TestStoresAreWrittenBackBeforeAReleaseAndDroppedAtALoss(t *testing.T) {
	for kind, want := range map[lease.LossKind]bool{
		lease.LossReleased: true, lease.LossIdle: true, lease.LossHolderGone: true, lease.LossPaused: true,
		lease.LossHandedOver: false, lease.LossExpired: false, lease.LossSuperseded: false, lease.LossRenewFailed: false,
	} {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(mountHolder("a"))
		yielded := false
		g.OnYield(func(context.Context) error {
			yielded = true
			mustEnter(t, g, write(EpochOf(tok))).End()
			return nil
		})
		k.lose(kind, tok, mountHolder("a"))
		require.Equal(t, want, yielded, kind)
		mustRefuse(t, g, write(EpochOf(tok)), map[bool]Reason{true: reasonRenewFailed, false: reasonStaleHandle}[kind == lease.LossRenewFailed])
	}
}

// On a store that other kernels write, a mutation is checked once more after it took effect.
func TestALateMutationIsToldAndReported(t *testing.T) {
	g, k, c := newTestGuard(t, nil)
	var stolen error
	g.Open(lease.Grant{Token: 4, Holder: mountHolder("a"), Deadline: c.Boot() + time.Minute, Late: func() error { return stolen }})
	p := mustEnter(t, g, write(EpochOf(4)))
	require.NoError(t, g.Late(p))
	stolen = errors.New("token 5 is there")
	why := g.Late(p)
	require.Error(t, why)
	g.ReportLate(p, why, lease.LateWrite{Op: "Write", File: "/f", Length: 3})
	stolen = nil
	c.move(2 * time.Minute)
	require.Error(t, g.Late(p), "the deadline passed while it was on its way")
	p.End()
	require.Equal(t, []lease.LateWrite{{Token: 4, Op: "Write", File: "/f", Length: 3}}, k.late)
	require.Contains(t, g.Status().LastRefusals[0], "token 5 is there")

	// One kernel needs no such check: the gate's flock keeps late writes away.
	g.Open(lease.Grant{Token: 5, Holder: mountHolder("a"), Deadline: c.Boot() + time.Minute})
	p = mustEnter(t, g, write(EpochOf(5)))
	c.move(2 * time.Minute)
	require.NoError(t, g.Late(p))
	p.End()
}

// A writer that comes while an idle lease is being given back waits a moment and is not refused.
func TestAWriterWaitsForALeaseThatIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree, c.Scope = AcquireOnFree, ScopeUser })
		tok := k.give(userHolder(7, "7"))
		p := mustEnter(t, g, write(EpochOf(tok)))
		gone := make(chan struct{})
		go func() { k.lose(lease.LossIdle, tok, userHolder(7, "7")); close(gone) }()
		require.Eventually(t, func() bool { return g.Status().State == "closed" }, eventually, tick)
		entered := make(chan Epoch)
		go func() {
			q, no := g.Enter(byUser(8))
			if no == nil {
				q.End()
			}
			entered <- q.Epoch()
		}()
		p.End()
		<-gone
		require.Equal(t, EpochOf(tok+1), <-entered)
	})
}

// A zero count that is read before the end and used after it must not end the wait while another
// mutation is in flight (configuration drain-stalezero of drain.pml).
func TestAStaleZeroDoesNotEndTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c := newEpoch(EpochOf(1), lease.Holder{}, never, 0), &clock{}
		require.True(t, e.enter(c))
		require.Zero(t, e.inflight.Add(-1), "the first half of its leave")
		require.True(t, e.enter(c))
		ended := make(chan struct{})
		go func() { e.end(); close(ended) }()
		synctest.Wait()
		e.mayBeEmpty() // the second half
		mustWait(t, ended)
		e.leave()
		<-ended
	})
}

// The same, by whatever comes between two steps of anybody.
func TestTheEndOfAnEpochWaitsForEveryMutationInFlight(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	c := &clock{}
	for n := range 100 { // pauses of different length before the end
		e := newEpoch(EpochOf(1), lease.Holder{}, never, 0)
		ended := make(chan struct{})
		var wg sync.WaitGroup
		var late atomic.Bool
		for range 6 {
			wg.Go(func() {
				for e.enter(c) {
					for range 20 {
						select {
						case <-ended:
							late.Store(true)
						default:
						}
					}
					e.leave()
				}
			})
		}
		for range 4 * n {
			runtime.Gosched()
		}
		e.end()
		close(ended)
		wg.Wait()
		require.False(t, late.Load(), "in flight after end had returned")
	}
}

func TestWritesAreRefusedAfterTheDeadline(t *testing.T) {
	g, k, c := newTestGuard(t, nil)
	h := userHolder(7, "7")
	tok := k.give(h)
	c.move(20*time.Second - 1)
	mustEnter(t, g, write(EpochOf(tok))).End()
	c.move(1)
	mustRefuse(t, g, write(EpochOf(tok)), reasonExpired)
	mustRefuse(t, g, byUser(7), reasonExpired)
	g.Extend(tok, c.Boot()+time.Second)
	mustEnter(t, g, write(EpochOf(tok))).End()
}

func TestOthersAreRefusedWhileALeaseIsHeld(t *testing.T) {
	g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree = AcquireOnFree })
	k.give(userHolder(7, "7"))
	no := mustRefuse(t, g, byUser(8), ReasonHeldByOther)
	require.Equal(t, lease.ClassLockConflict, no.Class())
	require.Contains(t, no.Sentence(), "h:7:0:0")
	require.Empty(t, k.asked)
}

func TestARevokedHolderStaysOutUntilItAcquiresOnPurpose(t *testing.T) {
	g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree, c.Scope = AcquireOnFree, ScopeUser })
	h := userHolder(7, "7")
	tok := k.give(h)
	k.lose(lease.LossExpired, tok, h)
	mustRefuse(t, g, byUser(7), reasonRevokedExpired)
	require.Empty(t, k.asked, "a revoked writer must not take the next lease by writing")

	// Somebody else takes it, and the revoked one is still out afterwards.
	mustEnter(t, g, byUser(8)).End()
	require.Len(t, k.asked, 1)
	k.lose(lease.LossReleased, k.next, k.asked[0])
	mustRefuse(t, g, byUser(7), reasonRevokedExpired)

	g.Admit(h)
	mustEnter(t, g, byUser(7)).End()
}

// The epoch that writing began goes on when the process that it is bound to acquires on purpose:
// who belongs to it is judged by the new scope, and its handles stay. Another's is not touched.
func TestAnAutomaticEpochAcquiredOnPurposeGoesOn(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	auto := userHolder(7, "7")
	auto.PID, auto.StartTime, auto.Auto = 70, 1, true
	id := EpochOf(k.give(auto))
	onPurpose := auto
	onPurpose.Auto, onPurpose.Scope, onPurpose.ScopeKey = false, string(ScopeMount), ""
	other := onPurpose
	other.StartTime++
	g.Admit(other)
	mustRefuse(t, g, byUser(8), ReasonHeldByOther)
	g.Admit(onPurpose)
	mustEnter(t, g, byUser(8)).End()
	mustEnter(t, g, Request{Op: OpWrite, Epoch: id, Caller: byUser(8).Caller}).End()
	narrow := onPurpose
	narrow.Scope, narrow.ScopeKey = string(ScopeUser), "7"
	g.Admit(narrow)
	mustEnter(t, g, byUser(8)).End() // one on purpose stays as it was acquired
}

func TestARevokedHolderIsRefusedUnderAWiderAutomaticLease(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	h := userHolder(7, "7")
	k.lose(lease.LossSuperseded, 1, h)
	auto := mountHolder("all")
	auto.Auto = true
	k.give(auto)
	mustRefuse(t, g, byUser(7), reasonRevokedStolen)
	k.give(mountHolder("all")) // on purpose: everybody who comes through the mount
	mustEnter(t, g, byUser(7)).End()
}

func TestHandlesGoOnAfterAFailedRenewalThatWasRepaired(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	h := userHolder(7, "7")
	tok := k.give(h)
	k.lose(lease.LossRenewFailed, tok, h)
	require.Equal(t, lease.ClassLockExpired, mustRefuse(t, g, write(EpochOf(tok)), reasonRenewFailed).Class())
	mustRefuse(t, g, byUser(7), reasonRenewFailed)
	g.Open(lease.Grant{Token: tok, Holder: h, Deadline: k.clock.Boot() + time.Second})
	mustEnter(t, g, write(EpochOf(tok))).End()
}

func TestAFreeLeaseIsDeniedAcquiredOrNotNeeded(t *testing.T) {
	t.Run("deny", func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		mustRefuse(t, g, byUser(7), ReasonFree)
		require.Empty(t, k.asked)
	})
	t.Run("acquire takes it for the writer", func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree, c.Scope = AcquireOnFree, ScopeUser })
		mustEnter(t, g, byUser(7)).End()
		require.True(t, k.asked[0].Auto)
		require.Equal(t, "7", k.asked[0].ScopeKey)
		mustRefuse(t, g, byUser(8), ReasonHeldByOther)
	})
	t.Run("acquire says what the keeper says", func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree, c.Scope = AcquireOnFree, ScopeUser })
		k.refuse = &lease.Error{Class: lease.ClassStoreFailed, Message: "disk full", File: "/locks/main.lock"}
		no := mustRefuse(t, g, byUser(7), reasonStore)
		require.Contains(t, no.Sentence(), "/locks/main.lock")
	})
	t.Run("acquire without an identity is nobody", func(t *testing.T) {
		g, _, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree = AcquireOnFree })
		mustRefuse(t, g, byUser(7), reasonNobody)
	})
	t.Run("allow ends with the first lease, for open handles too", func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree = AllowOnFree })
		p := mustEnter(t, g, byUser(7))
		p.End()
		mustEnter(t, g, write(p.Epoch())).End()
		hooked := false
		g.OnClose(func(lease.Loss) { hooked = true })
		tok := k.give(userHolder(8, "8"))
		require.True(t, hooked, "what was written without a lease must leave the kernel's caches")
		mustRefuse(t, g, write(p.Epoch()), reasonStaleHandle)
		k.lose(lease.LossReleased, tok, userHolder(8, "8"))
		mustRefuse(t, g, write(p.Epoch()), reasonStaleHandle)
	})
	t.Run("allow does not pass while another mount holds it", func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree = AllowOnFree })
		p := mustEnter(t, g, byUser(7))
		p.End()
		k.state = lease.Held
		mustRefuse(t, g, byUser(7), reasonHeldElsewhere)
		mustRefuse(t, g, write(p.Epoch()), reasonStaleHandle)
	})
}

func TestEachModeOfAWorktreeLetsWritesThroughAsItSays(t *testing.T) {
	t.Run("shared", func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.Mode = Shared })
		p := mustEnter(t, g, byUser(7))
		p.End()
		k.give(userHolder(8, "8"))
		mustEnter(t, g, byUser(7)).End()
		mustEnter(t, g, write(p.Epoch())).End()
		require.EqualValues(t, 3, g.Status().Writes)
	})
	t.Run("readonly refuses the holder", func(t *testing.T) {
		g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.Enforcement = NewEnforcement(ReadOnly) })
		tok := k.give(mountHolder("a"))
		mustRefuse(t, g, byUser(7), ReasonReadOnly)
		mustRefuse(t, g, write(EpochOf(tok)), ReasonReadOnly)
	})
	t.Run("observe lets through and counts", func(t *testing.T) {
		g, _, _ := newTestGuard(t, func(c *GuardConfig) { c.Enforcement = NewEnforcement(Observing) })
		mustEnter(t, g, byUser(7)).End()
		s := g.Status()
		require.EqualValues(t, 1, s.WouldRefuse)
		require.Zero(t, s.Refusals)
	})
}

func TestIdleNeedsQuietAndNoOpenFile(t *testing.T) {
	g, k, c := newTestGuard(t, nil)
	tok := k.give(mountHolder("a"))
	mustEnter(t, g, write(EpochOf(tok))).End()
	c.move(29 * time.Second)
	require.False(t, g.Idle(lease.Holder{}))
	c.move(time.Second)
	require.True(t, g.Idle(lease.Holder{}))
	g.HandleOpened(EpochOf(tok))
	c.move(time.Hour)
	require.False(t, g.Idle(lease.Holder{}), "an editor keeps its swap file open")
	g.HandleClosed(EpochOf(tok))
	require.False(t, g.Idle(lease.Holder{}), "closing a file is a use of it")
	c.move(30 * time.Second)
	require.True(t, g.Idle(lease.Holder{}))
}

// The sentence of a refusal never shows a secret, and always says what to do.
func TestEveryRefusalSaysWhatToDoAndNoSecret(t *testing.T) {
	for why := reasonNone + 1; why < reasonCount; why++ {
		no := &Refusal{Reason: why, Worktree: "main", Holder: userHolder(7, "7"), Left: time.Second}
		require.NotEmpty(t, no.Class(), why)
		require.NotEmpty(t, no.Next(), why)
		require.NotContains(t, no.Sentence(), "{", why)
	}
}
