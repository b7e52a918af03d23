package etcd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// Requests are counted by what they are for, and a session that is made again is.
func TestRequestsAreCounted(t *testing.T) {
	srv := startServer(t)
	proxy := newProxy(t, srv)
	s := srv.session(t, func(c *Config) { c.Endpoints = []string{proxy.url()} })
	a := keeper(t, s, host(t, "a"), "main")
	run(t, a)
	require.Zero(t, s.Counts().Kept)
	require.Zero(t, s.Counts().Leases)
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		c := s.Counts()
		return c.Watching && c.Requests[toKeep].OK > 1 && c.Requests[toProve].OK > 1
	}, time.Minute, 10*time.Millisecond)
	c := s.Counts()
	require.EqualValues(t, 1, c.Requests[toClaim].OK)
	require.EqualValues(t, 1, c.Requests[toGrant].OK)
	require.Positive(t, c.Requests[toLook].OK)
	require.Positive(t, c.Requests[toLook].Spent)
	require.EqualValues(t, 1, c.Leases)
	require.Positive(t, c.Kept)
	for what, r := range c.Requests {
		require.Zero(t, r.Failed, what)
	}

	proxy.cut()
	require.Eventually(t, func() bool {
		c := s.Counts()
		return c.Requests[toKeep].Failed > 0 && c.Kept > quick.LeaseDuration
	}, time.Minute, 10*time.Millisecond, "the age of the last keepalive goes on")
	require.Eventually(t, func() bool { _, held := a.Held(); return !held }, time.Minute, 10*time.Millisecond)
	proxy.heal()
	require.Eventually(t, func() bool { _, err := a.Acquire(t.Context(), who("a", 1)); return err == nil }, time.Minute, 20*time.Millisecond)
	require.EqualValues(t, 2, s.Counts().Leases)
	require.Less(t, s.Counts().Kept, quick.LeaseDuration)
}

// A restore is counted, once.
func TestARestoreIsCounted(t *testing.T) {
	srv := startServer(t)
	s := srv.session(t)
	s.mu.Lock()
	s.seen.revision += 1000 // etcd has gone back
	s.mu.Unlock()
	_, _, err := s.Authority(host(t, "a").Store(lease.WorktreeID("main"))).Look()
	require.ErrorIs(t, err, errRestored)
	_, _, err = s.Authority(host(t, "b").Store(lease.WorktreeID("main"))).Look()
	require.NoError(t, err)
	require.EqualValues(t, 1, s.Counts().Restores)
}
