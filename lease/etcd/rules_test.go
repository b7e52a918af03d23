package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// gauge is a fence that knows whether writers pass, and until when.
type gauge struct {
	open     atomic.Bool
	deadline atomic.Int64
	closedAt atomic.Int64 // boot clock
	clock    lease.Clock
	kind     atomic.Int64
}

func newGauge() *gauge { return &gauge{clock: lease.SystemClock()} }

func (g *gauge) Open(got lease.Grant) {
	g.deadline.Store(int64(got.Deadline))
	g.open.Store(true)
}
func (g *gauge) Extend(_ lease.Token, d time.Duration) { g.deadline.Store(int64(d)) }
func (g *gauge) Close(l lease.Loss) {
	if g.open.Swap(false) {
		g.closedAt.Store(int64(g.clock.Boot()))
	}
	g.kind.Store(int64(l.Kind))
}
func (g *gauge) Freeze(context.Context, lease.Token) (func(), error) { return func() {}, nil }

func fenced(g *gauge) func(*lease.KeeperConfig) {
	return func(c *lease.KeeperConfig) { c.Fence = g }
}

func host(t *testing.T, name string) *lease.Dir { return governed(t, filepath.Join(quickDir(t), name)) }

func TestAnEtcdLeaseIsTakenRefusedHandedOverAndReleased(t *testing.T) {
	srv := startServer(t)
	s := srv.session(t)
	a := keeper(t, s, host(t, "a"), "main")
	b := keeper(t, srv.session(t), host(t, "b"), "main")
	g, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	require.EqualValues(t, 1, g.Token)
	require.NotNil(t, g.Late)
	_, err = b.Acquire(t.Context(), who("b", 2))
	require.Equal(t, lease.ClassLockConflict, lease.ClassOf(err))
	require.ErrorContains(t, err, "a:ann:1:1")
	_, err = a.Handover(t.Context(), 1, who("a", 7), nil)
	require.NoError(t, err)
	got, _ := a.Held()
	require.EqualValues(t, 2, got.Token)
	require.NoError(t, a.Release(t.Context(), lease.LossReleased))
	g, err = b.Acquire(t.Context(), who("b", 2))
	require.NoError(t, err)
	require.EqualValues(t, 3, g.Token)
	past, err := b.Past(1, 3)
	require.NoError(t, err)
	require.Len(t, past, 3)
	require.Equal(t, []lease.PastEnd{lease.PastGiven, lease.PastGiven, lease.PastLasts}, []lease.PastEnd{past[0].End, past[1].End, past[2].End})
	all, err := srv.client(t).Get(t.Context(), "/jvsfs/test/audit/main/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	require.NoError(t, err)
	var keys []string
	for _, kv := range all.Kvs {
		keys = append(keys, string(kv.Key)[len("/jvsfs/test/audit/main/00000000000000000"):])
	}
	require.Equal(t, []string{"001/acquire", "002/handover", "002/release", "003/acquire"}, keys)
}

func TestAnOfferIsTakenByItsHostAndWithdrawnOtherwise(t *testing.T) {
	srv := startServer(t)
	a := keeper(t, srv.session(t), host(t, "a"), "main")
	b := keeper(t, srv.session(t), host(t, "b"), "main")
	run(t, a)
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	offer := func(ctx context.Context) <-chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := a.OfferTo(ctx, 1, "b", time.Now().Add(time.Minute), nil)
			ended <- err
		}()
		return ended
	}
	ctx, end := context.WithCancel(t.Context())
	withdrawn := offer(ctx)
	require.Eventually(t, func() bool { h, _ := b.Observe(); return h.Record != nil && h.Record.OfferedTo == "b" }, time.Minute, 20*time.Millisecond)
	end()
	err = <-withdrawn
	require.Equal(t, lease.ClassLockConflict, lease.ClassOf(err), "%v", err)
	_, err = b.Acquire(t.Context(), who("b", 2))
	require.Equal(t, lease.ClassLockConflict, lease.ClassOf(err), "it is offered no more")
	taken := offer(t.Context())
	require.Eventually(t, func() bool { _, err := b.Acquire(t.Context(), who("b", 2)); return err == nil }, time.Minute, 20*time.Millisecond)
	require.NoError(t, <-taken)
	_, held := a.Held()
	require.False(t, held)
}

// The deadline counts from before a keepalive, so the fence is closed when etcd lets another take the lease.
func TestAHolderThatEtcdHearsNoMoreIsClosedBeforeItsSuccessorHolds(t *testing.T) {
	srv := startServer(t)
	proxy := newProxy(t, srv)
	fence := newGauge()
	a := keeper(t, srv.session(t, func(c *Config) { c.Endpoints = []string{proxy.url()} }), host(t, "a"), "main", fenced(fence))
	b := keeper(t, srv.session(t), host(t, "b"), "main")
	run(t, a)
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, held := a.Held()
		return held && fence.deadline.Load() > int64(fence.clock.Boot()+time.Second)
	}, time.Minute, 10*time.Millisecond)
	proxy.cut()
	var got lease.Grant
	require.Eventually(t, func() bool { got, err = b.Acquire(t.Context(), who("b", 2)); return err == nil }, time.Minute, 20*time.Millisecond)
	now := fence.clock.Boot()
	require.False(t, fence.open.Load(), "both hold at once")
	t.Logf("closed %v before its successor held", now-time.Duration(fence.closedAt.Load()))
	require.Greater(t, now-time.Duration(fence.closedAt.Load()), quick.LeaseDuration/6)
	require.EqualValues(t, 2, got.Token)
	require.Equal(t, lease.LossExpired, lease.LossKind(fence.kind.Load()))
	proxy.heal()
	require.Eventually(t, func() bool { h, _ := a.Observe(); return h.Token == 2 }, time.Minute, 20*time.Millisecond)
	_, err = a.Acquire(t.Context(), who("a", 1))
	require.Equal(t, lease.ClassLockConflict, lease.ClassOf(err))
}

// A holder that is stopped is not renewed, though its daemon lives on: its alive key must not live with the session.
func TestAStoppedHolderDoesNotKeepItsLease(t *testing.T) {
	srv := startServer(t)
	var live atomic.Int64
	fence := newGauge()
	a := keeper(t, srv.session(t), host(t, "a"), "main", fenced(fence), func(c *lease.KeeperConfig) {
		c.Liveness = func(lease.Holder) lease.Liveness { return lease.Liveness(live.Load()) }
	})
	b := keeper(t, srv.session(t), host(t, "b"), "main")
	run(t, a)
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	live.Store(int64(lease.Stopped))
	require.Eventually(t, func() bool { _, err = b.Acquire(t.Context(), who("b", 2)); return err == nil }, time.Minute, 20*time.Millisecond)
	require.False(t, fence.open.Load())
}

func TestALeaseOutlivesAnEtcdThatIsStoppedForAMoment(t *testing.T) {
	srv := startServer(t)
	fence := newGauge()
	a := keeper(t, srv.session(t), host(t, "a"), "main", fenced(fence))
	run(t, a)
	g, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	for range 2 {
		srv.signal(t, syscall.SIGSTOP)
		time.Sleep(700 * time.Millisecond) // as long as the outage is
		srv.signal(t, syscall.SIGCONT)
		was := fence.deadline.Load()
		require.Eventually(t, func() bool { return fence.deadline.Load() > was }, time.Minute, 10*time.Millisecond)
	}
	now, held := a.Held()
	require.True(t, held)
	require.Equal(t, g.Token, now.Token)
}

// The etcd lease of the session is revoked: nobody has taken the lease, so it goes on under another one, within its time.
func TestARevokedSessionGoesOnIfNobodyCame(t *testing.T) {
	srv := startServer(t)
	fence := newGauge()
	s := srv.session(t)
	a := keeper(t, s, host(t, "a"), "main", fenced(fence))
	run(t, a)
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	s.mu.Lock()
	id := s.now.id
	s.mu.Unlock()
	_, err = srv.client(t).Revoke(t.Context(), id)
	require.NoError(t, err)
	was := fence.deadline.Load()
	require.Eventually(t, func() bool {
		got, err := srv.client(t).Get(t.Context(), "/jvsfs/test/alive/main")
		return err == nil && len(got.Kvs) == 1 && fence.deadline.Load() > was
	}, time.Minute, 20*time.Millisecond)
	got, held := a.Held()
	require.True(t, held)
	require.EqualValues(t, 1, got.Token)
}

func TestCompactionChangesNothing(t *testing.T) {
	srv := startServer(t)
	a := keeper(t, srv.session(t), host(t, "a"), "main")
	b := keeper(t, srv.session(t), host(t, "b"), "main")
	run(t, a)
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	c := srv.client(t)
	for range 3 {
		got, err := c.Put(t.Context(), "other", "x")
		require.NoError(t, err)
		_, err = c.Compact(t.Context(), got.Header.Revision, clientv3.WithCompactPhysical())
		require.NoError(t, err)
		_, err = b.Acquire(t.Context(), who("b", 2))
		require.Equal(t, lease.ClassLockConflict, lease.ClassOf(err))
	}
	require.NoError(t, a.Release(t.Context(), lease.LossReleased))
	g, err := b.Acquire(t.Context(), who("b", 2))
	require.NoError(t, err)
	require.EqualValues(t, 2, g.Token)
}

// etcd is restored from a snapshot that is older than the latest tokens. No token is given twice; an admin sets the floor.
func TestARestoredEtcdGrantsNothingBeforeAnAdminHasSetTheFloor(t *testing.T) {
	srv := startServer(t)
	shared := host(t, "shared") // the store that both hosts mount
	a := keeper(t, srv.session(t), shared, "main")
	for range 3 {
		_, err := a.Acquire(t.Context(), who("a", 1))
		require.NoError(t, err)
		require.NoError(t, a.Release(t.Context(), lease.LossReleased))
	}
	snapshot := filepath.Join(srv.dir, "snapshot")
	run := func(args ...string) {
		cmd := exec.Command("etcdctl", args...)
		cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	run("--endpoints", srv.url, "snapshot", "save", snapshot)
	fence := newGauge()
	b := keeper(t, srv.session(t), shared, "main", fenced(fence))
	runKeeper(t, b)
	g, err := b.Acquire(t.Context(), who("b", 2))
	require.NoError(t, err)
	require.EqualValues(t, 4, g.Token)
	srv.stop()
	require.NoError(t, os.RemoveAll(filepath.Join(srv.dir, "data")))
	run("snapshot", "restore", snapshot, "--name", "one", "--data-dir", filepath.Join(srv.dir, "data"),
		"--initial-cluster", "one="+srv.peer, "--initial-advertise-peer-urls", srv.peer)
	srv.start(t)
	srv.ready(t)
	require.Eventually(t, func() bool { return !fence.open.Load() }, time.Minute, 10*time.Millisecond, "token 4 is known to nobody any more")
	require.Eventually(t, func() bool { // its session hears of it first
		_, err = a.Acquire(t.Context(), who("a", 1))
		return err != nil && !errors.Is(err, errRestored)
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, lease.ClassRecordUnreadable, lease.ClassOf(err), "%v", err)
	require.ErrorContains(t, err, "restored from an older snapshot")
	var e *lease.Error
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Next, "etcdctl put /jvsfs/test/floor/main 4")
	run("--endpoints", srv.url, "put", "/jvsfs/test/floor/main", "4")
	require.Eventually(t, func() bool { g, err = a.Acquire(t.Context(), who("a", 1)); return err == nil }, time.Minute, 50*time.Millisecond, "%v", err)
	require.EqualValues(t, 5, g.Token)
}

func runKeeper(t *testing.T, k *lease.Keeper) { run(t, k) }

// A thousand held worktrees of one daemon ask etcd for less than ten things a second.
func TestAThousandWorktreesRenewWithFewRequests(t *testing.T) {
	srv := startServer(t)
	policy := record.DefaultPolicy()
	s := srv.session(t, func(c *Config) { c.Policy = policy })
	dir := host(t, "a")
	const many = 1000
	for i := range many {
		k := keeper(t, s, dir, fmt.Sprintf("w%04d", i), func(c *lease.KeeperConfig) { c.Tick = 200 * time.Millisecond })
		// On a busy disk etcd may take longer for one of so many claims than the store waits.
		require.Eventually(t, func() bool { _, err := k.Acquire(t.Context(), who("a", 1)); return err == nil }, time.Minute, 20*time.Millisecond)
		run(t, k)
	}
	span := 15 * time.Second // a keepalive is sent each 5 s
	before, start := srv.requests(t), time.Now()
	time.Sleep(span) // it is measured
	n := srv.requests(t) - before
	rate := n / time.Since(start).Seconds()
	t.Logf("%d worktrees: %.0f requests in %v, %.1f each second", many, n, time.Since(start).Round(time.Second), rate)
	require.Less(t, rate, 10.0)
	require.Positive(t, n)
}

// The answer to a grant is lost. It must not stay: nobody holds it, and its session lives on.
func TestAGrantWhoseAnswerIsLostIsGivenBack(t *testing.T) {
	srv := startServer(t)
	proxy := newProxy(t, srv)
	s := srv.session(t, func(c *Config) { c.Endpoints = []string{proxy.url()} })
	a := keeper(t, s, host(t, "a"), "main", func(c *lease.KeeperConfig) {
		c.Pause = func(point string) {
			if point == "claim.before_link" {
				proxy.deafen()
			}
		}
	})
	b := keeper(t, srv.session(t), host(t, "b"), "main")
	_, err := s.lease(t.Context()) // so that nothing else is asked for at the claim
	require.NoError(t, err)
	_, err = a.Acquire(t.Context(), who("a", 1))
	require.Equal(t, lease.ClassStoreFailed, lease.ClassOf(err), "%v", err)
	_, held := a.Held()
	require.False(t, held)
	h, j := b.Observe()
	require.EqualValues(t, 1, h.Token, "it has reached etcd")
	require.Equal(t, lease.Held, j.State)
	proxy.heal()
	var g lease.Grant
	require.Eventually(t, func() bool { g, err = b.Acquire(t.Context(), who("b", 2)); return err == nil }, time.Minute, 20*time.Millisecond)
	require.EqualValues(t, 2, g.Token)
}

func TestAReleaseWhoseAnswerIsLostIsDoneLater(t *testing.T) {
	srv := startServer(t)
	proxy := newProxy(t, srv)
	a := keeper(t, srv.session(t, func(c *Config) { c.Endpoints = []string{proxy.url()} }), host(t, "a"), "main")
	b := keeper(t, srv.session(t), host(t, "b"), "main")
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	proxy.cut()
	require.Equal(t, lease.ClassStoreFailed, lease.ClassOf(a.Release(t.Context(), lease.LossReleased)))
	proxy.heal()
	require.Eventually(t, func() bool { _, err = b.Acquire(t.Context(), who("b", 2)); return err == nil }, time.Minute, 20*time.Millisecond)
	past, err := b.Past(1, 2)
	require.NoError(t, err)
	require.Equal(t, lease.PastGiven, past[0].End, "it was released, and not taken")
}

// Whoever writes late writes nothing: the head is another's.
func TestALateWriteOfTheHeadChangesNothing(t *testing.T) {
	srv := startServer(t)
	s := srv.session(t)
	dir := host(t, "a")
	store := dir.Store("main")
	auth := s.Authority(store)
	a := keeper(t, s, dir, "main", func(c *lease.KeeperConfig) { c.Authority = auth })
	_, err := a.Acquire(t.Context(), who("a", 1))
	require.NoError(t, err)
	h, _, err := auth.Look()
	require.NoError(t, err)
	first, err := auth.Resume(h)
	require.NoError(t, err)
	_, err = a.Handover(t.Context(), 1, who("a", 7), nil)
	require.NoError(t, err)
	late := first.(*tenure)
	g, err := s.lease(t.Context())
	require.NoError(t, err)
	rec := late.rec.Clone()
	rec.Purpose = "late"
	require.Equal(t, lease.ClassLockNotHeld, lease.ClassOf(late.put(t.Context(), rec, g)))
	rec.Released = true
	require.Equal(t, lease.ClassLockNotHeld, lease.ClassOf(late.put(t.Context(), rec, nil)))
	h, j := a.Observe()
	require.EqualValues(t, 2, h.Token)
	require.Equal(t, lease.Held, j.State)
}

// The deadline counts from before a keepalive was sent, not from when its answer came.
func TestAKeepaliveCountsFromBeforeItWasSent(t *testing.T) {
	srv := startServer(t)
	s := srv.session(t)
	_, err := s.lease(t.Context())
	require.NoError(t, err)
	from := func() time.Duration { s.mu.Lock(); defer s.mu.Unlock(); return s.now.from }
	clock := lease.SystemClock()
	srv.signal(t, syscall.SIGSTOP)
	stopped := from()
	time.Sleep(900 * time.Millisecond) // a round is every 500 ms: one is on its way now, and has waited
	going := clock.Boot()
	srv.signal(t, syscall.SIGCONT)
	require.Eventually(t, func() bool { return from() != stopped }, time.Minute, time.Millisecond)
	require.Less(t, from(), going)
}
