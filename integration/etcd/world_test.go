//go:build jvsfs_hosts

package etcd

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/history"
	"github.com/jvsfs/jvsfs/integration/machine"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// world is a repository that all hosts see, and an etcd of three members that keeps its leases. The store has no lock manager: a taker
// need not wait for a host that is stopped. So nothing but etcd stands between the hosts, and a fence agent if there is one.
type world struct {
	t       *testing.T
	bin     string
	dir     string
	members *members
	net     *machine.Net
	hosts   []*machine.Host
	places  []string // roots of worktrees, below the repository's
	agent   *agent   // nil: tier C
	pages   map[*machine.Host]plan.Page
}

// worldPlaces is how many worktrees the hosts share. While one waits for the end of a lease the others go on.
const worldPlaces = 6

func newWorld(t *testing.T, hosts int, fenced bool) *world {
	w := &world{t: t, bin: stoppable(t), dir: harness.NewBase(t), places: []string{"main"}, pages: map[*machine.Host]plan.Page{}}
	for i := 1; i < worldPlaces; i++ {
		w.places = append(w.places, fmt.Sprintf("worktrees/w%d", i))
	}
	for _, place := range w.places {
		require.NoError(t, os.MkdirAll(w.path(place)+"/records", 0o755)) //nolint:gosec // as a store has it
	}
	require.NoError(t, os.MkdirAll(w.path(".jvs"), 0o700))
	w.net = machine.NewNet(machine.New(t, "hub", machine.Network), "10.78")
	w.members = newMembers(t, w.net)
	if fenced {
		w.agent = newAgent(w)
	}
	for i := range hosts {
		w.join(fmt.Sprintf("h%d", i+1))
	}
	return w
}

// path is one of the store.
func (w *world) path(name string) string { return filepath.Join(w.dir, "work", name) }

func (w *world) join(name string) {
	h := machine.New(w.t, name, machine.Network)
	w.net.Join(h)
	w.hosts = append(w.hosts, h)
	text := fmt.Sprintf("etcd: %s\netcd_prefix: /jvsfs/builds\nlease_duration: 6s\nrenew_interval: 2s\nmax_clock_skew: 1s\nsteal_grace: 500ms\n", w.members.endpoints())
	if w.agent != nil {
		text += "fence: [" + w.agent.program + "]\n"
	}
	require.NoError(w.t, os.WriteFile(h.File("jvsfs.yaml"), []byte(text), 0o600))
	require.NoError(w.t, os.WriteFile(h.File("appender"), []byte(history.Appender), 0o600))
	page, err := plan.OpenPage(h.File("page"))
	require.NoError(w.t, err)
	w.pages[h] = page
	h.Must("mkdir", "-p", viewDir)
	w.mount(h)
}

// mount starts a daemon that stops itself in mid-write while its page says so.
func (w *world) mount(h *machine.Host, more ...string) {
	w.t.Helper()
	h.Must(w.mountArgs(h, more...)...)
}

func (w *world) mountArgs(h *machine.Host, more ...string) []string {
	p := plan.Daemon{Events: h.File("events"), Page: h.File("page"), LeaseMS: 6000, Lacks: []string{plan.LockManager, plan.LocalDisk},
		Points: []plan.Point{{Prefix: "admitted.Write", Stop: 300000}}}
	return append([]string{"env", plan.Env + "=" + p.JSON(), w.bin, "mount", filepath.Join(w.dir, "work"), viewDir,
		"--config", h.File("jvsfs.yaml"), "--log-file", h.File("daemon.log")}, more...)
}

// daemons are those of the host that live.
func (w *world) daemons(h *machine.Host) []string {
	return h.Processes("*\"/jvsfs-stoppable mount \"*")
}

// umountBare takes away a mount that is dead.
func (w *world) umountBare(h *machine.Host) {
	w.t.Helper()
	harness.EventuallyNoted(w.t, h.Name+" takes its mount away", func() (bool, string) {
		said, exit := h.Run(w.bin, "umount", "--bare", viewDir)
		return exit == 0 || strings.Contains(said, "E_NO_MOUNT"), said + h.Logs()
	})
}

// idOf is the worktree of a place.
func idOf(place string) string { return path.Base(place) }

// acknowledged is the file of what a host was acknowledged in a worktree.
func (w *world) acknowledged(h *machine.Host, place string) string {
	return h.File("acknowledged-" + idOf(place))
}

// othersAt is how many bytes of records hosts were acknowledged in a worktree, but for one. "" is in all worktrees, nil is for none.
func (w *world) othersAt(not *machine.Host, place string) (all int64) {
	for _, h := range w.hosts {
		for _, at := range w.places {
			if h == not || place != "" && at != place {
				continue
			}
			if info, err := os.Stat(w.acknowledged(h, at)); err == nil {
				all += info.Size()
			}
		}
	}
	return all
}

func (w *world) logs() string {
	var all strings.Builder
	for _, h := range w.hosts {
		all.WriteString(h.Logs())
	}
	return all.String()
}

// historyOf is what was acknowledged and what is stored of a worktree.
func (w *world) historyOf(place string) history.History {
	all := history.New()
	for _, h := range w.hosts {
		all.AcknowledgedTo(w.t, w.acknowledged(h, place))
	}
	taints, err := filepath.Glob(w.path(".jvs/locks/" + idOf(place) + ".taint.*"))
	require.NoError(w.t, err)
	for _, taint := range taints {
		text, err := os.ReadFile(taint)
		require.NoError(w.t, err)
		all.ReportedBy(w.t, string(text))
	}
	text, err := os.ReadFile(w.path(place) + "/records/log")
	require.NoError(w.t, err)
	all.Stored = history.Lines(string(text))
	return all
}
