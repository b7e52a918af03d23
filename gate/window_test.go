package gate

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// What becomes of a window, by what happens while it is open under token 7.
func TestEachEventThatBreaksAWindowIsTold(t *testing.T) {
	open := windowState{token: 7}.settled()
	require.Equal(t, windowOpen, open.phase)
	for name, c := range map[string]struct {
		end  windowState
		kept bool
	}{
		"nothing":                       {open.ended(7), true},
		"a lease of this mount":         {open.granted(8).ended(8), true},
		"a lease elsewhere":             {open.ended(8), false},
		"one elsewhere before one here": {open.granted(9).ended(9), false},
		"one elsewhere after one here":  {open.granted(8).ended(9), false},
		"released":                      {open.lost(lease.LossReleased).ended(7), true},
		"the holder has ended":          {open.lost(lease.LossHolderGone).ended(7), true},
		"it went on after a pause":      {open.lost(lease.LossResumed).granted(8).ended(8), true},
		"expired":                       {open.lost(lease.LossExpired).ended(7), false},
		"taken over":                    {open.lost(lease.LossSuperseded).ended(7), false},
		"not renewed":                   {open.lost(lease.LossRenewFailed).ended(7), false},
		"paused":                        {open.lost(lease.LossPaused).ended(7), false},
		"handed over":                   {open.lost(lease.LossHandedOver).granted(8).ended(8), false},
		"another daemon":                {open.lost(lease.LossReplaced).ended(7), false},
		"a store":                       {open.stored().ended(7), false},
		"the time is over":              {open.breaks(errWindowElapsed).ended(7), false},
		"not yet open":                  {windowState{token: 7}.ended(7), false},
	} {
		require.Equal(t, windowOver, c.end.phase, name)
		require.Equal(t, c.kept, c.end.broken == nil, name)
	}
	require.Equal(t, windowSettling, windowState{}.stored().phase, "such a store still lands")
	require.Equal(t, errWindowStored, open.stored().breaks(errWindowElapsed).broken, "the first cause is told")
}

// Whatever happens: a window that was kept has seen no store and no loss while it was open, and every token up to
// the last was granted here. One that is over does not change.
func TestAWindowIsKeptOnlyIfNobodyWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := windowState{token: 3}.settled()
		head, wrote := lease.Token(3), false // somebody may have written, here or elsewhere
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "event") {
			case 0:
				head++
				s = s.granted(head)
			case 1:
				head++ // elsewhere
				wrote = true
			case 2:
				s, wrote = s.stored(), true
			case 3:
				s = s.lost(lease.LossReleased)
			case 4:
				s, wrote = s.lost(lease.LossSuperseded), true
			}
		}
		s = s.ended(head)
		require.Equal(t, windowOver, s.phase)
		require.Equal(t, wrote, s.broken != nil)
		require.Equal(t, s, s.stored().granted(head+1).lost(lease.LossExpired).ended(0))
	})
}

// quiesce opens a window of a minute.
func quiesce(t *testing.T, g *Guard, of Windowed) *Window {
	t.Helper()
	if of.Lasts == 0 {
		of.Lasts = time.Minute
	}
	w, err := g.Quiesce(t.Context(), of)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Abandon(errors.New("the test has ended")) })
	return w
}

// The window opens when what is in flight has left and what was stored through mappings is written; then the
// holder's writes wait, by name and by handle, and pass at the end.
func TestNoWritePassesInAWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(userHolder(7, "7"))
		var yields, flushes int
		g.OnYield(func(context.Context) error { // the kernel writes back
			if yields++; yields == 3 { // nothing was stored meanwhile
				return nil
			}
			p, no := g.Enter(Request{Op: OpWrite, Epoch: EpochOf(tok), Stored: true})
			p.End()
			require.Nil(t, no)
			return nil
		})
		inFlight := mustEnter(t, g, byUser(7))
		opened := make(chan *Window, 1)
		go func() {
			w, err := g.Quiesce(context.Background(), Windowed{Lasts: time.Minute, Flush: func(context.Context) error { flushes++; return nil }})
			if err != nil {
				w = nil
			}
			opened <- w
		}()
		require.Eventually(t, func() bool { return g.Quiesced() != nil }, eventually, tick)
		mustWait(t, opened)
		require.Nil(t, g.Quiesced().Until, "not yet open")
		inFlight.End()
		w := <-opened
		require.NotNil(t, w)
		require.NotNil(t, g.Quiesced().Until)
		require.Equal(t, 2, flushes)
		byHandle, byName := enterInBackground(t, g, write(EpochOf(tok))), enterInBackground(t, g, byUser(7))
		mustWait(t, byHandle)
		mustWait(t, byName)
		mustRefuse(t, g, byUser(8), ReasonHeldByOther)
		require.Zero(t, g.open.Load().inflight.Load())
		g.onYield = nil
		require.NoError(t, w.End(t.Context()))
		require.NoError(t, w.End(t.Context()), "again")
		require.Nil(t, <-byHandle)
		require.Nil(t, <-byName)
		require.Nil(t, g.Quiesced())
		require.False(t, g.cfg.Enforcement.Quiesced())
		require.Equal(t, 3, yields)
		quiesce(t, g, Windowed{}) // another one
	})
}

// A store through a mapping was seen by readers before anybody could hold it up.
func TestAStoreBreaksTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(userHolder(7, "7"))
		w := quiesce(t, g, Windowed{})
		waiting := enterInBackground(t, g, byUser(7))
		mustWait(t, waiting)
		mustEnter(t, g, Request{Op: OpWrite, Epoch: EpochOf(tok), Stored: true}).End()
		require.True(t, wait.Happened(w.Over()))
		require.Nil(t, <-waiting)
		require.Equal(t, lease.ClassPartialSnapshot, lease.ClassOf(w.End(t.Context())))

		w = quiesce(t, g, Windowed{})
		g.OnYield(func(context.Context) error { // it is found at the end
			mustEnter(t, g, Request{Op: OpWrite, Epoch: EpochOf(tok), Stored: true}).End()
			return nil
		})
		require.Equal(t, lease.ClassPartialSnapshot, lease.ClassOf(w.End(t.Context())))
	})
}

// Nor does it matter that the store never lands.
func TestARefusedStoreBreaksTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		k.give(userHolder(7, "7"))
		w := quiesce(t, g, Windowed{})
		mustRefuse(t, g, Request{Op: OpWrite, Epoch: Moved}, reasonMovedHandle)
		require.False(t, wait.Happened(w.Over()), "a write was seen by nobody")
		g.Stored()
		require.True(t, wait.Happened(w.Over()))
		require.Equal(t, lease.ClassPartialSnapshot, lease.ClassOf(w.End(t.Context())))

		require.NoError(t, g.cfg.Enforcement.Switch(t.Context(), Observing, func() []*Guard { return nil }))
		w = quiesce(t, g, Windowed{})
		began := time.Now()
		p, no := g.RefuseStore(ReasonStaleMapping)
		require.Nil(t, no, "where the mount only observes it lands")
		require.Zero(t, time.Since(began), "it breaks the window, and does not wait until that ends by itself")
		p.End()
		require.Equal(t, lease.ClassPartialSnapshot, lease.ClassOf(w.End(t.Context())))
	})
}

func TestAWindowEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		k.give(userHolder(7, "7"))
		w := quiesce(t, g, Windowed{Lasts: soon})
		began := time.Now()
		select {
		case no := <-enterInBackground(t, g, byUser(7)):
			require.Nil(t, no, "writers are not refused")
			require.LessOrEqual(t, time.Since(began), soon)
		case <-time.After(eventually):
			t.Fatal("a writer waits for ever")
		}
		err := w.End(t.Context())
		require.Equal(t, lease.ClassPartialSnapshot, lease.ClassOf(err))
		require.Contains(t, err.Error(), "lasted")
	})
}

// What becomes of the lease meanwhile, through the fence that the keeper calls.
func TestAWindowEndsAsTheLeaseDoes(t *testing.T) {
	for kind, kept := range map[lease.LossKind]bool{lease.LossReleased: true, lease.LossExpired: false, lease.LossHandedOver: false} {
		g, k, _ := newTestGuard(t, nil)
		tok := k.give(userHolder(7, "7"))
		w := quiesce(t, g, Windowed{})
		k.lose(kind, tok, userHolder(7, "7"))
		require.Equal(t, !kept, wait.Happened(w.Over()), kind)
		k.give(userHolder(8, "8"))
		require.Equal(t, kept, w.End(t.Context()) == nil, kind)
	}
	g, k, _ := newTestGuard(t, nil)
	w := quiesce(t, g, Windowed{})
	k.mu.Lock()
	k.next++ // elsewhere
	k.mu.Unlock()
	require.Equal(t, lease.ClassPartialSnapshot, lease.ClassOf(w.End(t.Context())))
}

// Where no window can be had everything goes on as before.
func TestEverythingGoesOnWhereNoWindowCanBeHad(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*GuardConfig)
		before func(*testing.T, *Guard, *keeper)
		says   string
	}{
		"in flight": {before: func(t *testing.T, g *Guard, _ *keeper) { t.Cleanup(mustEnter(t, g, byUser(7)).End) }, says: "1 writes in flight"},
		"shared":    {change: func(c *GuardConfig) { c.Mode = Shared }, says: "shared"},
		"elsewhere": {before: func(_ *testing.T, g *Guard, k *keeper) {
			k.lose(lease.LossReplaced, 1, userHolder(7, "7"))
			k.state = lease.Held
		}, says: "elsewhere"},
		"overlaps": {before: func(_ *testing.T, g *Guard, _ *keeper) { g.Overlap(true) }, says: "replaced"},
		"quiesced": {before: func(t *testing.T, g *Guard, _ *keeper) { quiesce(t, g, Windowed{Command: "tar"}) }, says: "already, for tar"},
		"being moved": {before: func(t *testing.T, g *Guard, _ *keeper) {
			f, err := g.cfg.Enforcement.Freeze(t.Context(), []*Guard{g})
			require.NoError(t, err)
			t.Cleanup(f.Thaw)
		}, says: "renamed"},
		"no disk": {before: func(_ *testing.T, g *Guard, _ *keeper) {
			g.OnYield(func(context.Context) error { return errors.New("broken") })
		}, says: "durable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, k, _ := newTestGuard(t, c.change)
				k.give(userHolder(7, "7"))
				if c.before != nil {
					c.before(t, g, k)
				}
				before := g.frozen.Load()
				ctx, cancel := context.WithTimeout(t.Context(), soon)
				defer cancel()
				_, err := g.Quiesce(ctx, Windowed{Lasts: time.Minute})
				require.Equal(t, lease.ClassConsistencyUnavailable, lease.ClassOf(err))
				require.ErrorContains(t, err, c.says)
				require.Same(t, before, g.frozen.Load())
			})
		})
	}
}

// The second waits for the end of the first, and a rename of the root does not.
func TestOneWindowAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		k.give(userHolder(7, "7"))
		first := quiesce(t, g, Windowed{})
		second := make(chan *Window, 1)
		go func() { w, _ := g.Quiesce(context.Background(), Windowed{Lasts: time.Minute}); second <- w }()
		_, err := g.cfg.Enforcement.Freeze(t.Context(), []*Guard{g})
		require.ErrorIs(t, err, errFrozen)
		require.Same(t, first, g.window(), "the failure has left the window alone")
		mustWait(t, second)
		require.NoError(t, first.End(t.Context()))
		w := <-second
		require.NotNil(t, w)
		require.NoError(t, w.End(t.Context()))
	})
}

// Who asked for the window would wait for itself: its writes are refused at once.
func TestTheCommandOfAWindowIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		uid := uint32(os.Getuid())
		k.give(userHolder(uid, strconv.Itoa(int(uid))))
		own, err := g.cfg.Resolver.HolderFor(os.Getpid(), ScopeTree, "")
		require.NoError(t, err)
		w := quiesce(t, g, Windowed{By: own})
		me := Request{Op: OpCreate, Caller: process.Caller{TID: uint32(os.Getpid()), UID: uid}, EstaleRetry: true}
		no := refusedSoon(t, g, me)
		require.Equal(t, reasonQuiescing, no.Reason)
		require.Equal(t, g.cfg.Errno, no.Errno)
		require.NoError(t, w.End(t.Context()))
		mustEnter(t, g, me).End()
	})
}

// A call that would wait with a directory locked, in which the snapshot reads, is answered with ESTALE, once in each window.
func TestACallThatWaitsForAWindowLocksNoDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		k.give(userHolder(7, "7"))
		s := g.cfg.Enforcement
		r := byUser(7)
		r.Op, r.EstaleRetry, r.Caller.TID = OpCreate, true, uint32(os.Getpid())
		for range 2 {
			w := quiesce(t, g, Windowed{})
			mustRetry(t, g, r)
			came := make(chan struct{})
			go func() { defer close(came); s.Await(r.Caller, nil) }()
			require.Eventually(t, func() bool { return s.Waiting() == 1 }, eventually, tick)
			mustWait(t, came)
			require.NoError(t, w.End(t.Context()))
			<-came
			mustEnter(t, g, r).End()
		}
		first := quiesce(t, g, Windowed{})
		mustRetry(t, g, r)
		require.NoError(t, first.End(t.Context()))
		second := quiesce(t, g, Windowed{}) // the call is made again only now, and the kernel makes it no second time
		waits := enterInBackground(t, g, r)
		mustWait(t, waits)
		require.NoError(t, second.End(t.Context()))
		require.Nil(t, <-waits)
		require.False(t, s.Awaited())
	})
}

// refusedSoon is the refusal of what does not wait.
func refusedSoon(t *testing.T, g *Guard, r Request) *Refusal {
	t.Helper()
	began := time.Now()
	select {
	case no := <-enterInBackground(t, g, r):
		require.NotNil(t, no)
		require.Zero(t, time.Since(began), "no time passes in a bubble unless somebody waits")
		return no
	case <-time.After(eventually):
		t.Fatal("it waits")
		return nil
	}
}

// mustRetry makes sure that a caller is to make its call again, which is no refusal.
func mustRetry(t *testing.T, g *Guard, r Request) {
	t.Helper()
	before := g.refusals.Load()
	require.Equal(t, ReasonEstaleRetry, refusedSoon(t, g, r).Reason)
	require.Equal(t, before, g.refusals.Load(), "nothing was refused")
}
