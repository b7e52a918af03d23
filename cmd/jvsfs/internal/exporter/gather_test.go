package exporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/moby/sys/mountinfo"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

// said is what a daemon tells; err is why it does not.
type said struct {
	text string
	err  error
}

// gathererOf has daemons that tell this, by mount point; the root of the machine is below them.
func gathererOf(daemons map[string]said, mounts ...*mountinfo.Info) *Gatherer {
	table := host.MountTable{{ID: 1, Mountpoint: "/", FSType: "ext4"}}
	return &Gatherer{
		ctx:    context.Background(),
		mounts: func() (host.MountTable, error) { return append(table, mounts...), nil },
		ask: func(_ context.Context, m *mountinfo.Info) (string, error) {
			return daemons[m.Mountpoint].text, daemons[m.Mountpoint].err
		},
	}
}

// mountAt is the jvsfs mount with a number at a place, on the file system of the machine.
func mountAt(id int, point string) *mountinfo.Info {
	return &mountinfo.Info{ID: id, Parent: 1, Minor: id, Mountpoint: point, Root: "/", FSType: host.FSType}
}

const writes = "# HELP jvsfs_writes_total Mutations.\n# TYPE jvsfs_writes_total counter\njvsfs_writes_total{worktree=\"main\"} %d\n"

// All metrics of all mounts stand under their names once, each with its mount point.
func TestMetricsOfAllMountsAreTogether(t *testing.T) {
	g := gathererOf(map[string]said{"/a": {text: fmt.Sprintf(writes, 3)}, "/b": {text: fmt.Sprintf(writes, 4)}}, mountAt(2, "/a"), mountAt(3, "/b"))
	want := `
# HELP jvsfs_up 1 if the daemon of the mount has told its metrics.
# TYPE jvsfs_up gauge
jvsfs_up{mountpoint="/a"} 1
jvsfs_up{mountpoint="/b"} 1
# HELP jvsfs_writes_total Mutations.
# TYPE jvsfs_writes_total counter
jvsfs_writes_total{mountpoint="/a",worktree="main"} 3
jvsfs_writes_total{mountpoint="/b",worktree="main"} 4
`
	require.NoError(t, testutil.GatherAndCompare(gathered(t, g), strings.NewReader(want), "jvsfs_up", "jvsfs_writes_total"))
	problems, err := testutil.GatherAndLint(gathered(t, g))
	require.NoError(t, err)
	require.Empty(t, problems)
}

// Whatever a daemon answers, or does not, the mount has a state, and the other mounts have their metrics.
func TestAMountWhoseDaemonIsSilentHasAState(t *testing.T) {
	usage := &api.Failure{Class: api.ClassUsage, Message: "bad request: unknown operation", Answer: true}
	for name, c := range map[string]struct {
		said
		state string
	}{
		"silent":                       {said{err: context.DeadlineExceeded}, client.StateSilent},
		"killed":                       {said{err: unix.ECONNREFUSED}, client.StateDead},
		"not for us":                   {said{err: os.ErrPermission}, client.StateForbidden},
		"older":                        {said{err: usage}, otherRelease},
		"too busy":                     {said{err: &api.Failure{Message: "too many control connections", Answer: true}}, client.StateSilent},
		"says nonsense":                {said{text: "nonsense{"}, client.StateSilent},
		"says a metric of other names": {said{text: "up 1\n"}, client.StateSilent},
		"says a metric of ours":        {said{text: "jvsfs_up 1\n"}, client.StateSilent},
		"names a mount by itself":      {said{text: `jvsfs_writes_total{mountpoint="/good"} 7` + "\n"}, client.StateSilent},
	} {
		t.Run(name, func(t *testing.T) {
			g := gathererOf(map[string]said{"/good": {text: fmt.Sprintf(writes, 3)}, "/other": c.said}, mountAt(2, "/good"), mountAt(3, "/other"))
			values := samples(t, g)
			require.EqualValues(t, 0, values["jvsfs_up /other"])
			require.EqualValues(t, 1, values["jvsfs_up /good"])
			for _, state := range states {
				require.Equal(t, one(state == c.state), values["jvsfs_mount_state /other "+state], state)
			}
			require.EqualValues(t, 3, values["jvsfs_writes_total /good main"])
			require.NotContains(t, values, "jvsfs_writes_total /other main")
		})
	}
}

// Two daemons of different releases may count a thing differently. A name has one type.
func TestANameHasOneType(t *testing.T) {
	gauge := strings.Replace(fmt.Sprintf(writes, 9), "counter", "gauge", 1)
	g := gathererOf(map[string]said{"/a": {text: fmt.Sprintf(writes, 3)}, "/b": {text: gauge}}, mountAt(2, "/a"), mountAt(3, "/b"))
	values := samples(t, g)
	require.Contains(t, values, "jvsfs_writes_total /a main")
	require.NotContains(t, values, "jvsfs_writes_total /b main")
	require.EqualValues(t, 1, values["jvsfs_up /b"])
}

// A daemon is asked once: not for a bind mount, nor for the mount below the one that takes its place.
func TestEachDaemonIsAskedOnce(t *testing.T) {
	bind := mountAt(2, "/bind")
	bind.ID, bind.Root = 9, "/main"
	above := mountAt(4, "/b")
	above.Parent = 3
	points := []string{}
	table := host.MountTable{{ID: 1, Mountpoint: "/", FSType: "ext4"}, bind, mountAt(2, "/a"), mountAt(3, "/b"), above, mountAt(5, "/caf\xe9")}
	for _, m := range distinct(table) {
		points = append(points, fmt.Sprint(label(m.Mountpoint), " ", m.Minor))
	}
	require.Equal(t, []string{"/a 2", "/b 4", `"/caf\xe9" 5`}, points)
}

// Without the mount table there is nothing to say: a scrape that shows no mount would hide them all.
func TestAnUnreadableMountTableFailsTheScrape(t *testing.T) {
	broken := errors.New("broken")
	g := gathererOf(nil)
	g.mounts = func() (host.MountTable, error) { return nil, broken }
	_, err := g.Gather()
	require.ErrorIs(t, err, broken)
}

// gathered is what Prometheus gets.
func gathered(t *testing.T, g *Gatherer) prometheus.Gatherer {
	t.Helper()
	all, err := g.Gather()
	require.NoError(t, err)
	return testkit.Prometheus(t, metrics.Text(all))
}

// samples are the values by name and label values.
func samples(t *testing.T, g *Gatherer) map[string]float64 {
	t.Helper()
	families, err := gathered(t, g).Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			id := f.GetName()
			for _, l := range m.Label {
				id += " " + l.GetValue()
			}
			require.NotContains(t, all, id)
			all[id] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return all
}
