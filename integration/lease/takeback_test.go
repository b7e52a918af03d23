package lease

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/machine"
)

// fencedHosts are hosts over one store, each with an agent that cuts whole hosts off, as those of GlusterFS, MooseFS and JuiceFS do. It
// only notes whom.
type fencedHosts struct {
	t           *testing.T
	bin         string
	work, locks string // on the store
	cut, config string
}

// workView is where each host has its mount.
const workView = "/mnt/view"

func newFencedHosts(t *testing.T) *fencedHosts {
	t.Helper()
	store, dir := newLacking(t, "nothing"), harness.NewBase(t)
	f := &fencedHosts{t: t, bin: harness.RequireBinary(t), work: filepath.Join(store, "work"), locks: filepath.Join(store, "control"),
		cut: filepath.Join(dir, "cut"), config: filepath.Join(dir, "jvsfs.yaml")}
	require.NoError(t, os.Mkdir(f.work, 0o755))
	agent := filepath.Join(dir, "fence_counting")
	writeAgent(t, agent, "sed -n 's/^nodename=//p' >>"+f.cut)
	require.NoError(t, os.WriteFile(f.config, fmt.Appendf(nil, "lease_duration: %s\nrenew_interval: %s\nmax_clock_skew: %s\nsteal_grace: 0s\non_free: deny\nfence: [%s]\n",
		harness.Hasty.Lease, harness.Hasty.Renew, harness.OnThisMachine(time.Second), agent), 0o600))
	return f
}

// join is a new host.
func (f *fencedHosts) join(name string) *machine.Host {
	f.t.Helper()
	h := machine.New(f.t, name)
	h.Must("mkdir", "-p", workView)
	return h
}

func (f *fencedHosts) mount(h *machine.Host) {
	f.t.Helper()
	h.Must(f.bin, "mount", f.work, workView, "--control", f.locks, "--config", f.config, "--log-file", h.File("daemon.log"))
}

// take has a host take the lease by a command, and give it back.
func (f *fencedHosts) take(h *machine.Host, where ...string) {
	f.t.Helper()
	if len(where) == 0 {
		where = []string{workView}
	}
	h.Must(append(append([]string{f.bin, "exec", "--wait", "10m"}, where...), "--", "true")...)
}

// leave has a host mount, take the lease, and lose its daemon to a kill, and its holder too.
func (f *fencedHosts) leave(h *machine.Host) {
	f.t.Helper()
	f.mount(h)
	j := h.Start(f.bin, "exec", workView, "--", "sh", "-c", "echo >"+h.File("begun")+"; exec sleep 4711")
	harness.EventuallyNoted(f.t, h.Name+" holds", func() (bool, string) {
		_, err := os.Stat(h.File("begun"))
		return err == nil, j.Said() + h.Logs()
	})
	h.Signal("KILL", h.Processes("*' mount '"+f.work+"*"))
	h.Sh("kill -KILL " + strings.Join(h.Processes("*' exec '"+workView+"*|' sleep 4711'*"), " ") + " || :") // the one may end with the other
	h.Must(f.bin, "umount", "--bare", workView)
	require.Equal(f.t, 1, f.head().token)
	require.False(f.t, f.head().Released)
}

type leftRecord struct {
	token    int
	Released bool
	HolderID string `json:"holder_id"`
}

// head is the newest claim.
func (f *fencedHosts) head() (r leftRecord) {
	f.t.Helper()
	all, err := filepath.Glob(filepath.Join(f.locks, "*.claim.*"))
	require.NoError(f.t, err)
	require.NotEmpty(f.t, all)
	head := all[len(all)-1] // Glob sorts
	require.NoError(f.t, json.Unmarshal([]byte(strings.TrimRight(harness.ReadText(f.t, head), "\x00 \n")), &r))
	_, err = fmt.Sscanf(head[strings.LastIndex(head, ".")+1:], "%d", &r.token)
	require.NoError(f.t, err)
	return r
}

// cuts are the hosts that agents were asked to cut off.
func (f *fencedHosts) cuts() []string {
	f.t.Helper()
	text, err := os.ReadFile(f.cut)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(f.t, err)
	return strings.Fields(string(text))
}

func (f *fencedHosts) audit(h *machine.Host) string {
	f.t.Helper()
	return h.Must(f.bin, "audit", "tail", "--json", "-n", "1000", "--control", f.locks, f.work)
}

// A host whose daemon was killed mounts again: it gives back what it had left, by itself, and is not cut off when another host wants that.
func TestAHostGivesItsLeftLeaseBackAtTheNextMount(t *testing.T) {
	f := newFencedHosts(t)
	h1, h2 := f.join("h1"), f.join("h2")
	f.leave(h1)
	f.mount(h1)
	harness.EventuallyNoted(t, "the lease is given back", func() (bool, string) { return f.head().Released, h1.Logs() })
	require.Equal(t, 2, f.head().token, "it is taken over, and then released")
	require.Regexp(t, `^h1:root:\d+:\d+$`, f.head().HolderID)
	require.Regexp(t, `(?s)"lock_steal".*"unclean".*"lock_release"`, f.audit(h1))
	require.Contains(t, harness.ReadText(t, h1.File("daemon.log")), "gave back a lease that this host had left")
	f.mount(h2)
	f.take(h2)
	f.take(h1)
	require.Empty(t, f.cuts(), "a host that is up")
}

// The host itself takes what it had left, without a mount: no agent runs for it, then or later.
func TestACommandTakesALeftLeaseOfItsHostWithoutAFenceAgent(t *testing.T) {
	f := newFencedHosts(t)
	h1, h2 := f.join("h1"), f.join("h2")
	f.leave(h1)
	f.take(h1, "--control", f.locks, "--config", f.config, f.work)
	require.True(t, f.head().Released)
	require.Equal(t, 2, f.head().token)
	f.mount(h2)
	f.take(h2)
	require.Empty(t, f.cuts())
}

// What a host had left, and another host has taken before that host is let in again, has nobody cut off afterwards. The host takes
// nothing back.
func TestAHostIsCutOffOnceForALeaseThatItLeft(t *testing.T) {
	f := newFencedHosts(t)
	h1, h2, h3 := f.join("h1"), f.join("h2"), f.join("h3")
	f.leave(h1)
	f.mount(h2)
	f.take(h2)
	require.Equal(t, []string{"h1"}, f.cuts())
	f.mount(h1)
	f.mount(h3)
	f.take(h3)
	f.take(h2)
	f.take(h1)
	require.Equal(t, []string{"h1"}, f.cuts(), "it was let in again")
	require.Equal(t, 5, f.head().token, "h1, h2, h3, h2, h1: and nobody else has had the lease")
}

// A lease that a host has left beside another mount of that host is that of a living holder, and stays.
func TestTheLeaseOfALivingHolderIsNotTakenBack(t *testing.T) {
	f := newFencedHosts(t)
	h1 := f.join("h1")
	f.mount(h1)
	j := h1.Start(f.bin, "exec", workView, "--", "sh", "-c", "echo >"+h1.File("begun")+"; until [ -e "+h1.File("end")+" ]; do sleep .05; done; echo x >"+workView+"/written")
	harness.Eventually(t, "h1 holds", func() bool { _, err := os.Stat(h1.File("begun")); return err == nil })
	h1.Must("mkdir", "/mnt/second")
	h1.Must(f.bin, "mount", f.work, "/mnt/second", "--control", f.locks, "--config", f.config, "--log-file", h1.File("second.log"))
	const renewed = 2 * (4000 + 1000) / 400 // lease, skew and interval
	first := renewals(t, f)
	harness.Eventually(t, "the lease is renewed for longer than anybody must wait", func() bool { return renewals(t, f) > first+renewed })
	require.NoError(t, os.WriteFile(h1.File("end"), nil, 0o644))
	exit, said := j.Wait()
	require.Zero(t, exit, said)
	require.Equal(t, 1, f.head().token)
	require.NotContains(t, harness.ReadText(t, h1.File("second.log")), "had left")
}

// renewals is how often the lease was renewed.
func renewals(t *testing.T, f *fencedHosts) int {
	t.Helper()
	var r struct {
		RenewCount int `json:"renew_count"`
	}
	all, err := filepath.Glob(filepath.Join(f.locks, "*.claim.*"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(harness.ReadText(t, all[len(all)-1])), &r))
	return r.RenewCount
}
