package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// metrics are the samples of one scrape, by name and labels as the text has them.
type metrics map[string]float64

// metricsAddress is where status says that metrics of this mount are served.
func metricsAddress(m *harness.Mount) (network, address string) {
	m.T.Helper()
	var all struct {
		Mounts []struct{ Mountpoint, Metrics string }
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &all))
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint && one.Metrics != "" {
			if path, ok := strings.CutPrefix(one.Metrics, "unix:"); ok {
				return "unix", path
			}
			return "tcp", one.Metrics
		}
	}
	m.T.Fatalf("status does not say where metrics are: %+v", all)
	return "", ""
}

// scrape asks as Prometheus does, and demands what it would want of names and types.
func scrape(m *harness.Mount) metrics {
	m.T.Helper()
	network, address := metricsAddress(m)
	client := http.Client{Timeout: harness.Patience, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}}
	resp, err := client.Get("http://jvsfs/metrics")
	require.NoError(m.T, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(m.T, err)
	require.Equal(m.T, http.StatusOK, resp.StatusCode, "%s", text)
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	require.NoError(m.T, err)
	require.Empty(m.T, problems)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	require.NoError(m.T, err)
	return samplesOf(families)
}

func samplesOf(families map[string]*dto.MetricFamily) metrics {
	all := metrics{}
	for name, family := range families {
		for _, one := range family.Metric {
			labels := ""
			for _, pair := range one.Label {
				labels += fmt.Sprintf("%s=%q,", pair.GetName(), pair.GetValue())
			}
			id := name + "{" + strings.TrimSuffix(labels, ",") + "}"
			switch {
			case one.Counter != nil:
				all[id] = one.Counter.GetValue()
			case one.Gauge != nil:
				all[id] = one.Gauge.GetValue()
			case one.Histogram != nil:
				all[id] = float64(one.Histogram.GetSampleCount())
				all[strings.Replace(id, "{", "_sum{", 1)] = one.Histogram.GetSampleSum()
			}
		}
	}
	return all
}

// sum adds the samples of one name up, of those that have all the labels.
func (s metrics) sum(name string, labels ...string) (sum float64) {
	for id, v := range s {
		if strings.HasPrefix(id, name+"{") && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(id, l) }) {
			sum += v
		}
	}
	return sum
}

// Over a socket and over TCP: the numbers move as things happen.
func TestMetricsFollowWhatHappens(t *testing.T) {
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
			address := "127.0.0.1:0"
			if network == "unix" {
				address = "unix:" + filepath.Join(m.Base, "metrics.sock")
			}
			m.Opts.Extra = []string{"--metrics", address}
			m.Mount()
			expectMetricsMove(m)
			if network == "unix" {
				info, err := os.Lstat(filepath.Join(m.Base, "metrics.sock"))
				require.NoError(t, err)
				require.Equal(t, os.ModeSocket|0o600, info.Mode())
				m.Unmount()
				harness.Eventually(t, "the socket is gone with its daemon", func() bool {
					_, err := os.Lstat(filepath.Join(m.Base, "metrics.sock"))
					return os.IsNotExist(err)
				})
			}
		})
	}
}

func expectMetricsMove(m *harness.Mount) {
	t := m.T
	t.Helper()
	const main = `worktree="main"`
	before := scrape(m)
	require.EqualValues(t, 1, before.sum("jvsfs_enforce_mode", `mode="enforce"`))
	require.EqualValues(t, 1, before.sum("jvsfs_build_info"))
	require.EqualValues(t, 1, before.sum("jvsfs_build_info", fmt.Sprintf("version=%q", version(m))))
	before.expectBudgets(t)

	begun := time.Now()
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	r := m.Acquire(holder, "main")
	for range 5 {
		holder.OK(m.Put("main", "f"))
		stranger.Fails(m.Put("main", "f"), "EROFS")
	}
	var now metrics
	harness.Eventually(t, "what was answered is counted", func() bool { // a request is counted after its answer is written
		now = scrape(m)
		return now.sum("jvsfs_operations_total", `operation="Write"`, `result="ok"`) >= 5 && now.sum("jvsfs_operations_total", `result="error"`) >= 5
	})
	require.EqualValues(t, 1, now.sum("jvsfs_lease_state", main, `state="held"`))
	require.EqualValues(t, 1, now.sum("jvsfs_lease_state", main), "one state at a time")
	require.EqualValues(t, r.TokenNumber(t), now.sum("jvsfs_lease_fencing_token", main))
	require.EqualValues(t, 1, now.sum("jvsfs_lease_acquisitions_total", main))
	left := now.sum("jvsfs_lease_time_left_seconds", main)
	require.True(t, left > 0 && left <= harness.Hasty.Lease.Seconds(), left)
	require.EqualValues(t, 5, now.sum("jvsfs_refusals_total", main, `class="E_LOCK_CONFLICT"`), now)
	require.GreaterOrEqual(t, now.sum("jvsfs_writes_total", main), 5.0)
	require.Equal(t, now.sum("jvsfs_operations_total"), now.sum("jvsfs_operation_duration_seconds"), "each is counted and measured")
	spent := now.sum("jvsfs_operation_duration_seconds_sum", `operation="Write"`)
	require.True(t, spent > 0 && spent < time.Since(begun).Seconds(), "the holder's writes, one after the other, took %v s", spent)
	require.Positive(t, now.sum("jvsfs_control_requests_total", `request="acquire"`, `result="ok"`))
	require.Positive(t, now.sum("jvsfs_inodes"))

	harness.Eventually(t, "renewals are counted", func() bool {
		return scrape(m).sum("jvsfs_lease_renewals_total", main, `result="ok"`) >= 2
	})
	now = scrape(m)
	require.GreaterOrEqual(t, now.sum("jvsfs_lease_renewal_duration_seconds", main), 2.0)
	require.Positive(t, now.sum("jvsfs_lease_renewal_duration_seconds_sum", main))
	age := now.sum("jvsfs_lease_age_seconds", main)
	require.GreaterOrEqual(t, age, 2*harness.Hasty.Renew.Seconds(), "a renewed lease grows older")
	require.LessOrEqual(t, age, time.Since(begun).Seconds())
	holder.Stop() // is not renewed any more
	harness.Eventually(t, "the loss is counted", func() bool {
		return scrape(m).sum("jvsfs_lease_losses_total", main, `kind="expired"`) == 1
	})
	m.AwaitStealable("main")
	m.Steal(stranger, "main")
	now = scrape(m)
	require.EqualValues(t, 1, now.sum("jvsfs_lease_steals_total", main))
	require.EqualValues(t, 1, now.sum("jvsfs_lease_takeovers_total", main, `kind="clean"`), "the kernel has proved the end of the other holder")
	require.EqualValues(t, 1, now.sum("jvsfs_lease_takeovers_total", main))
	holder.Resume()
	m.Release(stranger, "main")
	now = scrape(m)
	require.EqualValues(t, 1, now.sum("jvsfs_lease_releases_total", main))
	require.Contains(t, now, "jvsfs_lease_age_seconds{"+main+"}")
	require.Zero(t, now.sum("jvsfs_lease_age_seconds", main), "nobody holds it")

	for name := range maps.Keys(scrape(m)) {
		require.NotContains(t, name, fmt.Sprint(holder.PID()), "no pids in labels")
	}
}

// Worktrees come and go. One that was removed is not reported for ever; if its name comes
// back, so does it, and its tokens go on.
func TestARemovedWorktreeLeavesTheMetrics(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	m.Opts.Extra = []string{"--metrics", "127.0.0.1:0"}
	m.Mount()
	const job = `worktree="job-1"`
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	work := func() uint64 {
		r := m.Acquire(holder, "worktrees", "job-1")
		holder.OK(harness.Command{Op: "mkdir", Path: m.At("worktrees", "job-1"), Mode: 0o755})
		holder.OK(m.Put("worktrees", "job-1", "f"))
		stranger.Fails(m.Put("worktrees", "job-1", "f"), "EROFS")
		require.EqualValues(t, 1, scrape(m).sum("jvsfs_refusals_total", job))
		return r.TokenNumber(t)
	}
	first := work()
	holder.OK(harness.Command{Op: "unlink", Path: m.At("worktrees", "job-1", "f")})
	holder.OK(harness.Command{Op: "rmdir", Path: m.At("worktrees", "job-1")})
	require.EqualValues(t, 1, scrape(m).sum("jvsfs_lease_state", job), "somebody holds it")
	m.Release(holder, "worktrees", "job-1")
	for name := range scrape(m) {
		require.NotContains(t, name, job)
	}
	require.NotContains(t, m.MustCLI("status"), "job-1")
	require.Greater(t, work(), first)
	require.Contains(t, m.MustCLI("status"), "job-1")
}

// expectBudgets wants a bound of everything that has one, and what there is of it below.
func (s metrics) expectBudgets(t *testing.T) {
	t.Helper()
	budgets := map[string]string{"jvsfs_memory_bytes": "jvsfs_memory_budget_bytes"}
	for _, what := range []string{"inodes", "promised_names", "watched_directories", "descriptors"} {
		budgets["jvsfs_"+what] = "jvsfs_" + what + "_budget"
	}
	for what, budget := range budgets {
		require.Contains(t, s, what+"{}")
		require.Greater(t, s.sum(budget), s.sum(what), budget)
	}
	for _, some := range []string{"jvsfs_inodes", "jvsfs_descriptors", "jvsfs_memory_bytes"} {
		require.Positive(t, s.sum(some))
	}
}

// version is what the program calls itself.
func version(m *harness.Mount) string {
	m.T.Helper()
	var build struct{ Version string }
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("version", "--json")), &build))
	return build.Version
}

// Where the mount only observes, what would be refused has a name of its own.
func TestMetricsInObserveModeCountWhatWouldBeRefused(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	m.Opts.Extra = []string{"--enforce", "observe", "--metrics", "127.0.0.1:0"}
	m.Mount()
	harness.StartActor(t, "a").OK(m.Put("main", "f"))
	now := scrape(m)
	require.Positive(t, now.sum("jvsfs_would_refuse_total", `worktree="main"`, `class="E_LOCK_NOT_HELD"`))
	require.Zero(t, now.sum("jvsfs_refusals_total"))
	require.EqualValues(t, 1, now.sum("jvsfs_enforce_mode", `mode="observe"`))
}

// A daemon that was killed leaves its socket behind; the next one takes the place over.
func TestMetricsAreServedAgainAfterACrash(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	sock := filepath.Join(m.Base, "metrics.sock")
	m.Opts.Extra = []string{"--metrics", "unix:" + sock + ",mode=0660"}
	m.Mount()
	m.KillDaemon()
	m.MustCLI("umount", m.Mountpoint, "--bare")
	m.Dead, m.Mounted = false, false
	_, err := net.Dial("unix", sock)
	require.ErrorIs(t, err, unix.ECONNREFUSED, "the dead one's socket is there")
	m.Mount()
	require.Positive(t, scrape(m).sum("jvsfs_operations_total"))
	info, err := os.Lstat(sock)
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o660, info.Mode())
}

// Metrics that cannot be served are no reason to leave a tree unguarded, nor to hide it.
func TestAMountServesWhenItsMetricsCannotBeServed(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	precious := filepath.Join(m.Base, "file")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
	m.Opts.Extra = []string{"--metrics", "unix:" + precious}
	m.Mount()
	require.FileExists(t, precious)
	require.Contains(t, harness.ReadText(t, m.LogFile()), "metrics cannot be served yet")
	_, errs, exit := m.CLI("mount", "--metrics", "unix:"+m.Source+"/s", m.Source)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "outside of")
}
