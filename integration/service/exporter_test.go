package service

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// twoMounts are one that enforces and one that observes, each with a daemon of its own.
func twoMounts(t *testing.T) (enforces, observes *harness.Mount) {
	t.Helper()
	enforces = harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	second := *enforces
	second.Opts.Extra = []string{"--enforce", "observe"}
	return enforces, second.Second()
}

// daemonOf is the daemon of a mount, as status says.
func daemonOf(m *harness.Mount) int {
	m.T.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			PID        int
		}
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &all))
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint {
			return one.PID
		}
	}
	m.T.Fatalf("status does not name %s: %+v", m.Mountpoint, all)
	return 0
}

// startExporter runs jvsfs exporter as a user without any power, and returns its address.
func startExporter(m *harness.Mount) (e *harness.Background, url string) {
	m.T.Helper()
	e = m.Start("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all",
		m.Bin, "exporter", "--listen", "127.0.0.1:0")
	return e, saysWhere(m.T, e, `metrics of all mounts: (http://\S+)\n`)
}

// saysWhere waits until a process has said where it serves.
func saysWhere(t *testing.T, b *harness.Background, pattern string) (where string) {
	t.Helper()
	says := regexp.MustCompile(pattern)
	harness.EventuallyNoted(t, "it says where it serves", func() (bool, string) {
		text := harness.ReadText(t, b.File)
		if found := says.FindStringSubmatch(text); found != nil {
			where = found[1]
		}
		return where != "", text
	})
	return where
}

// terminate ends a process as a service manager does; it must end by itself, without an error.
func terminate(t *testing.T, b *harness.Background) {
	t.Helper()
	require.NoError(t, unix.Kill(b.PID(), unix.SIGTERM))
	exit, said := b.Wait()
	require.Zero(t, exit, said)
}

// fetch leaves no connection behind.
func fetch(t *testing.T, url string) (status int, text string) {
	t.Helper()
	client := http.Client{Timeout: harness.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// httpGet is fetch for what must be there.
func httpGet(t *testing.T, url string) string {
	t.Helper()
	status, text := fetch(t, url)
	require.Equal(t, http.StatusOK, status, text)
	return text
}

// exported are the metrics of one scrape.
func exported(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(httpGet(t, url)))
	require.NoError(t, err)
	return families
}

// valueOf is the sum of the samples that have these values of labels.
func valueOf(f *dto.MetricFamily, values ...string) (sum float64, n int) {
next:
	for _, m := range f.GetMetric() {
		has := map[string]bool{}
		for _, l := range m.Label {
			has[l.GetValue()] = true
		}
		for _, v := range values {
			if !has[v] {
				continue next
			}
		}
		sum, n = sum+m.GetGauge().GetValue()+m.GetCounter().GetValue(), n+1
	}
	return sum, n
}

// One process serves the metrics of all mounts. A daemon that is stopped or dead takes its own metrics away, and
// no other ones.
func TestExporterServesAllMounts(t *testing.T) {
	m, other := twoMounts(t)
	e, url := startExporter(m)
	stranger := harness.StartActor(t, "stranger")
	stranger.Fails(m.Put("f"), "EROFS")
	stranger.OK(other.Put("f"))
	expect := func(state string) {
		t.Helper()
		harness.EventuallyNoted(t, "the exporter shows "+state, func() (bool, string) { // a slow machine's daemon may miss a scrape
			shown := shownAs(exported(t, url), m.Mountpoint) + shownAs(exported(t, url), other.Mountpoint)
			return shown == shownServing+map[bool]string{true: shownServing, false: "up 0, " + state + ", no metrics\n"}[state == "serving"], shown
		})
	}
	expect("serving")
	harness.Eventually(t, "both count", func() bool {
		all := exported(t, url)
		refused, _ := valueOf(all["jvsfs_refusals_total"], m.Mountpoint)
		would, _ := valueOf(all["jvsfs_would_refuse_total"], other.Mountpoint)
		return refused == 1 && would > 0
	})

	daemon := daemonOf(other)
	require.NoError(t, unix.Kill(daemon, unix.SIGSTOP))
	expect("silent")
	require.NoError(t, unix.Kill(daemon, unix.SIGCONT))
	expect("serving")
	killSecond(other, daemon)
	expect("dead")
	m.MustCLI("umount", "--bare", other.Mountpoint)
	other.Mounted = false
	_, n := valueOf(exported(t, url)["jvsfs_up"], other.Mountpoint)
	require.Zero(t, n, "a mount that is no more is no series")
	terminate(t, e)
	m.RepairState()
}

const shownServing = "up 1, serving, metrics\n"

// shownAs is what a scrape says of a mount.
func shownAs(all map[string]*dto.MetricFamily, point string) string {
	up, _ := valueOf(all["jvsfs_up"], point)
	text := fmt.Sprintf("up %v, ", up)
	for _, state := range []string{"serving", "dead", "silent", "forbidden", "other_release", "elsewhere"} {
		if holds, _ := valueOf(all["jvsfs_mount_state"], point, state); holds == 1 {
			text += state + ", "
		}
	}
	if _, n := valueOf(all["jvsfs_operations_total"], point); n == 0 {
		text += "no "
	}
	return text + "metrics\n"
}

// killSecond kills the daemon of one of two mounts, and waits until the kernel has seen its end.
func killSecond(m *harness.Mount, daemon int) {
	m.T.Helper()
	require.NoError(m.T, unix.Kill(daemon, unix.SIGKILL))
	m.Dead = true
	harness.Eventually(m.T, "the connection is cut", func() bool {
		var st unix.Statfs_t
		err := unix.Statfs(m.Mountpoint, &st)
		return err == unix.ENOTCONN || err == unix.ECONNABORTED
	})
}

// A socket has the mode that was asked for, and goes with the exporter. A mistake ends it at once.
func TestExportersSocketHasItsModeAndGoesWithIt(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	socket := filepath.Join(m.Base, "exporter.sock")
	e := m.Start(m.Bin, "exporter", "--listen", "unix:"+socket+",mode=0660")
	require.Equal(t, "unix:"+socket, saysWhere(t, e, `metrics of all mounts: (\S+)\n`))
	info, err := os.Lstat(socket)
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o660, info.Mode())
	_, errs, exit := m.CLI("exporter", "--listen", "unix:"+socket)
	require.NotZero(t, exit)
	require.Contains(t, errs, "somebody answers there")
	terminate(t, e)
	require.NoFileExists(t, socket)
	_, errs, exit = m.CLI("exporter", "--listen", "9747")
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "--listen 9747")
}
