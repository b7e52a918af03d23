package etcd

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Whoever claims over what it has seen does not win if that has changed: the head by another's lease, which has ended since, or the floor.
func TestAClaimOverWhatHasChangedNeverWins(t *testing.T) {
	srv := startServer(t)
	s := srv.session(t)
	dir := host(t, "a")
	auth := s.Authority(dir.Store("main"))
	other := keeper(t, s, dir, "other") // its records are as a keeper makes them
	claim := func(over lease.Head, name string) lease.Tenure {
		g, err := other.Acquire(t.Context(), who(name, 1))
		require.NoError(t, err)
		require.NoError(t, other.Release(t.Context(), lease.LossReleased))
		g.Record.WorktreeID, g.Record.FencingToken = "main", over.Token+1
		c, err := auth.Claim(&g.Record, over)
		require.NoError(t, err)
		return c
	}
	win := func(c lease.Tenure) bool {
		won, err := c.Win(lease.Event{Kind: lease.EventAcquire, Token: c.Record().FencingToken})
		require.NoError(t, err)
		return won
	}
	h, _, err := auth.Look()
	require.NoError(t, err)
	first, late := claim(h, "a"), claim(h, "b")
	require.True(t, win(first))
	require.NoError(t, first.Release(lease.Releasing{At: time.Now(), Pause: func(string) {}}))
	require.False(t, win(late), "token 1 is granted twice")

	h, j, err := auth.Look()
	require.NoError(t, err)
	require.Equal(t, lease.Free, j.State)
	late = claim(h, "b")
	_, err = srv.client(t).Put(t.Context(), "/jvsfs/test/floor/main", "7")
	require.NoError(t, err)
	require.False(t, win(late), "token 2 is granted below the floor")
	h, _, err = auth.Look()
	require.NoError(t, err)
	require.EqualValues(t, 7, h.Token)
	require.True(t, win(claim(h, "b")))
}

// A round finds that a head is another's, though the watch has said nothing. Nothing is late that ends before that.
func TestARoundFindsAHeadThatIsAnothersNow(t *testing.T) {
	srv := startServer(t)
	s := srv.session(t)
	a := keeper(t, s, host(t, "a"), "main") // its own rounds do not run: nothing else looks
	g, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	require.NoError(t, g.Late())
	_, err = srv.client(t).Delete(t.Context(), "/jvsfs/test/head/main")
	require.NoError(t, err)
	require.NoError(t, s.round())
	require.Equal(t, lease.ClassLockNotHeld, lease.ClassOf(g.Late()))
}

// What the watch has not contradicted is used again for a moment only: a watch may be silent for as long as a network is.
func TestASilentWatchSaysNothing(t *testing.T) {
	srv := startServer(t)
	proxy := newProxy(t, srv)
	s := srv.session(t, func(c *Config) { c.Endpoints = []string{proxy.url()} })
	auth := s.Authority(host(t, "a").Store("main"))
	require.Eventually(t, func() bool { // it is remembered
		_, j := auth.Observe()
		return j.State == lease.Free && s.recall("main") != nil
	}, time.Minute, 5*time.Millisecond)
	proxy.cut()
	require.Eventually(t, func() bool { h, _ := auth.Observe(); return h.Unreadable != nil }, time.Minute, 20*time.Millisecond)
}

// The time of an etcd lease counts from before it was asked for.
func TestAnEtcdLeaseCountsFromBeforeItWasAskedFor(t *testing.T) {
	srv := startServer(t)
	s := srv.session(t)
	srv.signal(t, syscall.SIGSTOP)
	granted := make(chan error, 1)
	asked := s.cfg.Clock.Boot()
	go func() { _, err := s.lease(t.Context()); granted <- err }()
	require.Eventually(t, func() bool { // it asks
		idle := s.granting.TryLock()
		if idle {
			s.granting.Unlock()
		}
		return !idle
	}, 10*time.Second, time.Millisecond)
	time.Sleep(300 * time.Millisecond) // as long as etcd is stopped
	going := s.cfg.Clock.Boot()
	srv.signal(t, syscall.SIGCONT)
	require.NoError(t, <-granted)
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Less(t, s.now.from, going)
	require.GreaterOrEqual(t, s.now.from, asked)
}

// A deadline is two thirds of the TTL after the keepalive at most, whatever the renew interval is.
func TestADeadlineIsTwoThirdsOfTheTTL(t *testing.T) {
	s := &Session{cfg: Config{Policy: record.Policy{LeaseDuration: 9 * time.Second, RenewInterval: time.Second}}}
	g := &granted{ttl: 9 * time.Second, from: 100 * time.Second}
	deadline := s.from(g) + s.cfg.Policy.LeaseDuration - s.cfg.Policy.RenewInterval
	require.Equal(t, 106*time.Second, deadline)
	s.cfg.Policy.RenewInterval = 4 * time.Second
	require.Equal(t, g.from, s.from(g))
}
