package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
)

var metricsAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func sampleReading() reading {
	expires := metricsAt.Add(12 * time.Second)
	return reading{
		At: metricsAt, Enforce: "observe", Waiting: 9, Suppressed: 7, Rules: []tenure.Counts{{Rule: "agency", Tenures: 4, Breaks: 1, Refusals: 2, Held: 1, Windows: 2, Open: 1}}, MoreRefusals: 1,
		Stats: fusefs.Stats{Inodes: 5, InodeBudget: 9, LongTimeouts: 2, Watches: 3, Descriptors: 6, DescriptorBudget: 12, Memory: 100, MemoryBudget: 200, SealedRefused: 4},
		Timings: []fusefs.Timing{{Op: gate.OpWrite, Timing: transport.Timing{Count: 10, Absent: 1, Failed: 2, Spent: time.Second,
			Buckets: []transport.TimingBucket{{Bound: 1024, Count: 3}, {Bound: 2048, Count: 8}}}}},
		Worktrees: []WorktreeReading{
			{Status: gate.Status{Worktree: "main", State: "held", Token: 12, TimeLeftMS: 17_500, Writes: 8, SilentMS: 1500, CutOff: true},
				Created: metricsAt.Add(-time.Minute), Waiters: 2, Counts: leaseCountsOf{Events: map[lease.EventKind]uint64{"acquire": 3, "steal": 6, "expire": 2}, Unclean: 2, Fenced: 3, GateLost: 4, GateRetaken: 3, Renewed: 5, RenewFailed: 1, Renewals: spans{N: 6, Spent: time.Millisecond}, Looks: spans{N: 3, Spent: 4 * time.Millisecond, Within: [renewBuckets]uint64{0, 1, 1}},
					Granted: waitCounts{N: 3, Spent: 8 * time.Second, Within: [len(waitBounds)]uint64{0, 1, 2, 3, 3, 3, 3, 3}}}},
			{Status: gate.Status{Worktree: "a", State: "held_elsewhere", ExpiresAt: &expires}},
		},
		Refusals: map[refusedKind]uint64{
			{"main", gate.OpWrite, lease.ClassLockConflict, false}: 20,
			{"main", gate.OpMkdir, lease.ClassLockConflict, true}:  3,
		},
		Requests: map[requestKind]uint64{{"status", true}: 2},
		Etcd: &lease.RemoteCounts{Requests: map[string]lease.RemoteRequests{"claim": {OK: 3, Failed: 1, Spent: 2 * time.Second,
			Within: [len(lease.RemoteBounds)]uint64{1, 0, 1}}}, Leases: 2, Restores: 1, Kept: 1500 * time.Millisecond, Watching: true, Open: 1},
		TurnedAway: [turnedReasons]uint64{TurnedLimit: 6},
	}
}

var sampled = collector{sampleReading}

// sampleText is what a scrape of the sample gets.
func sampleText(t *testing.T) string {
	t.Helper()
	all, err := sampled.Gather()
	require.NoError(t, err)
	return metrics.Text(all)
}

// The names keep to Prometheus' conventions, and the numbers are where they belong.
func TestMetrics(t *testing.T) {
	text := sampleText(t)
	all := testkit.Prometheus(t, text)
	problems, err := testutil.GatherAndLint(all)
	require.NoError(t, err)
	require.Empty(t, problems)
	want := `
# HELP jvsfs_operations_total Requests of the kernel by operation; result is ok, absent (no such name or attribute) or error (refusals among them).
# TYPE jvsfs_operations_total counter
jvsfs_operations_total{operation="Write",result="absent"} 1
jvsfs_operations_total{operation="Write",result="error"} 2
jvsfs_operations_total{operation="Write",result="ok"} 7
# HELP jvsfs_operation_duration_seconds From when a request was read until its answer was written.
# TYPE jvsfs_operation_duration_seconds histogram
jvsfs_operation_duration_seconds_bucket{operation="Write",le="1.024e-06"} 3
jvsfs_operation_duration_seconds_bucket{operation="Write",le="2.048e-06"} 8
jvsfs_operation_duration_seconds_bucket{operation="Write",le="+Inf"} 10
jvsfs_operation_duration_seconds_sum{operation="Write"} 1
jvsfs_operation_duration_seconds_count{operation="Write"} 10
# HELP jvsfs_refusals_total Mutations that were refused.
# TYPE jvsfs_refusals_total counter
jvsfs_refusals_total{class="E_LOCK_CONFLICT",operation="Write",worktree="main"} 20
# HELP jvsfs_would_refuse_total Mutations that went through only because the mount observes.
# TYPE jvsfs_would_refuse_total counter
jvsfs_would_refuse_total{class="E_LOCK_CONFLICT",operation="Mkdir",worktree="main"} 3
# HELP jvsfs_lease_time_left_seconds Until the lease ends unless renewed; 0 while nobody holds it.
# TYPE jvsfs_lease_time_left_seconds gauge
jvsfs_lease_time_left_seconds{worktree="a"} 12
jvsfs_lease_time_left_seconds{worktree="main"} 17.5
# HELP jvsfs_lease_age_seconds Since the lease was taken; 0 while nobody holds it.
# TYPE jvsfs_lease_age_seconds gauge
jvsfs_lease_age_seconds{worktree="a"} 0
jvsfs_lease_age_seconds{worktree="main"} 60
# HELP jvsfs_lease_losses_total Leases lost or interrupted by this mount; kind is expired, superseded or renew_failed.
# TYPE jvsfs_lease_losses_total counter
jvsfs_lease_losses_total{kind="expired",worktree="a"} 0
jvsfs_lease_losses_total{kind="expired",worktree="main"} 2
jvsfs_lease_losses_total{kind="renew_failed",worktree="a"} 0
jvsfs_lease_losses_total{kind="renew_failed",worktree="main"} 0
jvsfs_lease_losses_total{kind="superseded",worktree="a"} 0
jvsfs_lease_losses_total{kind="superseded",worktree="main"} 0
# HELP jvsfs_lease_takeovers_total The steals by what made sure that the other holder writes no more; kind is clean (the kernel), fenced (a fence agent) or unclean (its silence alone).
# TYPE jvsfs_lease_takeovers_total counter
jvsfs_lease_takeovers_total{kind="clean",worktree="a"} 0
jvsfs_lease_takeovers_total{kind="clean",worktree="main"} 1
jvsfs_lease_takeovers_total{kind="fenced",worktree="a"} 0
jvsfs_lease_takeovers_total{kind="fenced",worktree="main"} 3
jvsfs_lease_takeovers_total{kind="unclean",worktree="a"} 0
jvsfs_lease_takeovers_total{kind="unclean",worktree="main"} 2
# HELP jvsfs_lease_gate_losses_total Renewals that found the lock of a held lease gone from the store.
# TYPE jvsfs_lease_gate_losses_total counter
jvsfs_lease_gate_losses_total{worktree="a"} 0
jvsfs_lease_gate_losses_total{worktree="main"} 4
# HELP jvsfs_lease_gate_retaken_total Leases that lost that lock and went on, because nobody had taken it.
# TYPE jvsfs_lease_gate_retaken_total counter
jvsfs_lease_gate_retaken_total{worktree="a"} 0
jvsfs_lease_gate_retaken_total{worktree="main"} 3
# HELP jvsfs_lease_store_silent_seconds Since when the file system of the records owes an answer; 0 while it owes none.
# TYPE jvsfs_lease_store_silent_seconds gauge
jvsfs_lease_store_silent_seconds{worktree="a"} 0
jvsfs_lease_store_silent_seconds{worktree="main"} 1.5
# HELP jvsfs_lease_store_cut_off 1 while the records cannot be read because the client of their store has ended, was evicted, or does not know what is open here.
# TYPE jvsfs_lease_store_cut_off gauge
jvsfs_lease_store_cut_off{worktree="a"} 0
jvsfs_lease_store_cut_off{worktree="main"} 1
# HELP jvsfs_lease_look_duration_seconds How long looks for a successor took that follow mutations on a store of several hosts: its latency. One look may serve several mutations.
# TYPE jvsfs_lease_look_duration_seconds histogram
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.0001"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.00032"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.001"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.00316"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.01"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.03162"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.1"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="0.31623"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="1"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="3.16228"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="10"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="a",le="+Inf"} 0
jvsfs_lease_look_duration_seconds_sum{worktree="a"} 0
jvsfs_lease_look_duration_seconds_count{worktree="a"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.0001"} 0
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.00032"} 1
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.001"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.00316"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.01"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.03162"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.1"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="0.31623"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="1"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="3.16228"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="10"} 2
jvsfs_lease_look_duration_seconds_bucket{worktree="main",le="+Inf"} 3
jvsfs_lease_look_duration_seconds_sum{worktree="main"} 0.004
jvsfs_lease_look_duration_seconds_count{worktree="main"} 3
# HELP jvsfs_lease_waiters Who waits in the line for the lease: acquisitions, and writes with wait_on_conflict.
# TYPE jvsfs_lease_waiters gauge
jvsfs_lease_waiters{worktree="a"} 0
jvsfs_lease_waiters{worktree="main"} 2
# HELP jvsfs_writes_waiting Mutations that wait: for a lease, or for the outcome of a handover.
# TYPE jvsfs_writes_waiting gauge
jvsfs_writes_waiting 9
# HELP jvsfs_enforce_mode 1 for what becomes of a write without the lease: enforce, observe or readonly.
# TYPE jvsfs_enforce_mode gauge
jvsfs_enforce_mode{mode="enforce"} 0
jvsfs_enforce_mode{mode="observe"} 1
jvsfs_enforce_mode{mode="readonly"} 0
# HELP jvsfs_log_lines_suppressed_total Log lines that were left out because too many alike came.
# TYPE jvsfs_log_lines_suppressed_total counter
jvsfs_log_lines_suppressed_total 7
# HELP jvsfs_rule_tenures_total Lock files of a rule that were taken.
# TYPE jvsfs_rule_tenures_total counter
jvsfs_rule_tenures_total{rule="agency"} 4
# HELP jvsfs_rule_held Lock files of a rule that are held.
# TYPE jvsfs_rule_held gauge
jvsfs_rule_held{rule="agency"} 1
# HELP jvsfs_rule_windows_total Maintenance windows that were opened where a rule protects something.
# TYPE jvsfs_rule_windows_total counter
jvsfs_rule_windows_total{rule="agency"} 2
# HELP jvsfs_rule_windows_open Maintenance windows of them that are open.
# TYPE jvsfs_rule_windows_open gauge
jvsfs_rule_windows_open{rule="agency"} 1
# HELP jvsfs_etcd_requests_total Requests to etcd by what they are for; result is ok or failed.
# TYPE jvsfs_etcd_requests_total counter
jvsfs_etcd_requests_total{request="claim",result="failed"} 1
jvsfs_etcd_requests_total{request="claim",result="ok"} 3
# HELP jvsfs_etcd_request_duration_seconds How long requests to etcd took, failed ones among them.
# TYPE jvsfs_etcd_request_duration_seconds histogram
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.001"} 1
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.002"} 1
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.005"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.01"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.025"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.05"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.1"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.25"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="0.5"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="1"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="3"} 2
jvsfs_etcd_request_duration_seconds_bucket{request="claim",le="+Inf"} 4
jvsfs_etcd_request_duration_seconds_sum{request="claim"} 2
jvsfs_etcd_request_duration_seconds_count{request="claim"} 4
# HELP jvsfs_etcd_keepalive_age_seconds Since before the last keepalive was sent that counts; the deadline of all leases counts from there. 0 while nothing is kept.
# TYPE jvsfs_etcd_keepalive_age_seconds gauge
jvsfs_etcd_keepalive_age_seconds 1.5
# HELP jvsfs_etcd_leases_total Etcd leases of this mount; more than one: the one before had run out, or was revoked.
# TYPE jvsfs_etcd_leases_total counter
jvsfs_etcd_leases_total 2
# HELP jvsfs_etcd_restores_total Times that etcd had gone back in time or was another one, which ended what was held.
# TYPE jvsfs_etcd_restores_total counter
jvsfs_etcd_restores_total 1
# HELP jvsfs_etcd_watching 1 while etcd tells what changes; looks cost a request each otherwise.
# TYPE jvsfs_etcd_watching gauge
jvsfs_etcd_watching 1
# HELP jvsfs_etcd_open_claims Claims of which it is not known yet whether they stand: an answer was lost.
# TYPE jvsfs_etcd_open_claims gauge
jvsfs_etcd_open_claims 1
# HELP jvsfs_control_turned_away_total Connections to the control socket that were not heard; reason is limit or invalid.
# TYPE jvsfs_control_turned_away_total counter
jvsfs_control_turned_away_total{reason="invalid"} 0
jvsfs_control_turned_away_total{reason="limit"} 6
`
	var names []string
	for _, line := range strings.Split(want, "\n") {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			names = append(names, strings.Fields(name)[0])
		}
	}
	require.NoError(t, testutil.GatherAndCompare(all, strings.NewReader(want), names...))
	require.Equal(t, len(All), strings.Count(text, "# HELP "), "every metric that is described is there")
}

// The release that the packager named is the one that metrics name.
func TestMetricsNameTheRelease(t *testing.T) {
	t.Cleanup(func(before string) func() { return func() { api.ReleaseName = before } }(api.ReleaseName))
	api.ReleaseName = "1.2.3"
	require.Equal(t, api.ReleaseName, api.Version())
	require.Contains(t, sampleText(t), `jvsfs_build_info{goversion="`+runtime.Version()+`",version="1.2.3"} 1`)
}

func TestLeaseCounts(t *testing.T) {
	var c LeaseCounts
	broken := errors.New("no space")
	ok, fails := c.Audited(func(lease.Event) error { return nil }), c.Audited(func(lease.Event) error { return broken })
	require.NoError(t, ok(lease.Event{Kind: "acquire"}))
	require.ErrorIs(t, fails(lease.Event{Kind: "release"}), broken)
	require.ErrorIs(t, fails(lease.Event{Kind: "steal"}), broken)
	c.NoteRenewal(time.Millisecond, nil)
	c.NoteRenewal(time.Hour, broken)
	now := c.Now()
	require.Equal(t, map[lease.EventKind]uint64{"acquire": 1, "release": 1}, now.Events, "a steal whose audit fails does not happen")
	require.Equal(t, []uint64{2, 1, 1}, []uint64{now.AuditFailed, now.Renewed, now.RenewFailed})
	require.EqualValues(t, 2, now.Renewals.N)
	require.EqualValues(t, 1, now.Renewals.Within[2])
	c.Looked(3 * time.Millisecond)
	require.Equal(t, spans{N: 1, Spent: 3 * time.Millisecond, Within: [renewBuckets]uint64{3: 1}}, c.Now().Looks)
	require.Equal(t, time.Millisecond, renewBound(2))
	require.Equal(t, 10*time.Second, renewBound(renewBuckets-1))
	c.Waited(2*time.Second, true)
	c.Waited(2*time.Hour, true)
	c.Waited(time.Second, false)
	now = c.Now()
	require.Equal(t, waitCounts{N: 2, Spent: 2*time.Hour + 2*time.Second, Within: [len(waitBounds)]uint64{0, 0, 1, 1, 1, 1, 1, 1}}, now.Granted)
	require.Equal(t, waitCounts{N: 1, Spent: time.Second, Within: [len(waitBounds)]uint64{0, 1, 1, 1, 1, 1, 1, 1}}, now.GivenUp)
}

// A takeover is counted by what made sure of it.
func TestTakeoversAreCountedByKind(t *testing.T) {
	var c LeaseCounts
	err := errors.New("no space")
	audit := c.Audited(func(e lease.Event) error {
		if e.Reason != "" {
			return err
		}
		return nil
	})
	for range 2 {
		require.NoError(t, audit(lease.Event{Kind: lease.EventSteal, Fenced: true}))
	}
	require.NoError(t, audit(lease.Event{Kind: lease.EventSteal, Unclean: true}))
	require.NoError(t, audit(lease.Event{Kind: lease.EventSteal}))
	require.ErrorIs(t, audit(lease.Event{Kind: lease.EventSteal, Unclean: true, Reason: "it did not happen"}), err)
	now := c.Now()
	require.Equal(t, []uint64{4, 2, 1}, []uint64{now.Events[lease.EventSteal], now.Fenced, now.Unclean})
}

// A gate counts as taken again only if the lease that lost it goes on.
func TestLossesOfTheGateAreCounted(t *testing.T) {
	var c LeaseCounts
	audit := c.Audited(func(lease.Event) error { return nil })
	lost := fmt.Errorf("renewal: %w", lease.ErrGateLost)
	expect := func(losses, retaken uint64) {
		t.Helper()
		now := c.Now()
		require.Equal(t, []uint64{losses, retaken}, []uint64{now.GateLost, now.GateRetaken})
	}
	c.NoteRenewal(0, nil)
	expect(0, 0)
	c.NoteRenewal(0, lost)
	require.NoError(t, audit(lease.Event{Kind: lease.EventRenewFailed}))
	c.NoteRenewal(0, errors.New("the store does not answer"))
	expect(1, 0)
	c.NoteRenewal(0, nil)
	c.NoteRenewal(0, nil)
	expect(1, 1)
	c.NoteRenewal(0, lost)
	require.NoError(t, audit(lease.Event{Kind: lease.EventExpire}))
	require.NoError(t, audit(lease.Event{Kind: lease.EventAcquire}))
	c.NoteRenewal(0, nil)
	expect(2, 1)
}

func TestACounterIsBounded(t *testing.T) {
	c := newBoundedCounter[int](3)
	for i := range 10 {
		c.add(i)
		c.add(0)
	}
	counts, beyond := c.all()
	require.Equal(t, map[int]uint64{0: 11, 1: 1, 2: 1}, counts)
	require.EqualValues(t, 7, beyond)
	c.drop(func(k int) bool { return k == 1 })
	c.add(5)
	counts, beyond = c.all()
	require.Equal(t, map[int]uint64{0: 11, 2: 1, 5: 1}, counts)
	require.EqualValues(t, 8, beyond, "nothing is lost")
}

// serveMetrics runs a server until the end of the test.
func serveMetrics(t *testing.T, address string) *Server {
	t.Helper()
	s, err := newServer(address, sampled, zap.NewNop())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	s.Open()
	go func() { defer close(ended); s.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; http.DefaultClient.CloseIdleConnections() })
	return s
}

func scrapeText(t *testing.T, network, address string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}}
	resp, err := client.Get("http://jvsfs/metrics")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

func TestMetricsOverTCP(t *testing.T) {
	s := serveMetrics(t, "127.0.0.1:0")
	require.Contains(t, scrapeText(t, "tcp", s.Address()), `jvsfs_lease_fencing_token{worktree="main"} 12`)
	resp, err := http.Post("http://"+s.Address()+"/metrics", "", nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)
	resp, err = http.Get("http://" + s.Address() + "/debug/pprof/")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}

func TestMetricsSocketIsForItsOwnerAndGoesAway(t *testing.T) {
	old := unix.Umask(0)
	defer unix.Umask(old)
	dir := t.TempDir()
	path := filepath.Join(dir, "m.sock")
	t.Run("serve", func(t *testing.T) {
		s := serveMetrics(t, "unix:"+path)
		require.Equal(t, "unix:"+path, s.Address())
		info, err := os.Lstat(path)
		require.NoError(t, err)
		require.Equal(t, os.ModeSocket|0o600, info.Mode())
		require.Contains(t, scrapeText(t, "unix", path), "jvsfs_build_info")
	})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// An address that is taken is no reason to fail: it is tried again.
func TestMetricsTryAgain(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s, err := newServer(taken.Addr().String(), sampled, zap.NewNop())
	require.NoError(t, err)
	s.Open()
	require.Empty(t, s.Address())
	require.NoError(t, taken.Close())
	s.Open()
	require.Equal(t, taken.Addr().String(), s.Address())
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	s.Run(ended)
	_, err = net.Dial("tcp", taken.Addr().String())
	require.ErrorIs(t, err, unix.ECONNREFUSED)
}

func TestNoMetrics(t *testing.T) {
	s, err := newServer("", sampled, zap.NewNop())
	require.NoError(t, err)
	s.Open()
	s.Run(context.Background())
	require.Empty(t, s.Address())
	_, err = newServer("nonsense", sampled, zap.NewNop())
	require.Equal(t, api.ExitUsage, api.AsFailure(err).Exit())
}
