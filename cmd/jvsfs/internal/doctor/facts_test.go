package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

func TestKernelFindings(t *testing.T) {
	good := kernelFacts{release: "6.18.1", beneath: has, pidfd: has}
	for _, c := range []struct {
		change func(*kernelFacts)
		want   []string
	}{
		{func(*kernelFacts) {}, []string{}},
		{func(k *kernelFacts) { k.release = "6.12.0-arch1" }, []string{}}, // no prune: told, no worry
		{func(k *kernelFacts) { k.release = "6.1.0-50-amd64" }, []string{"kernel.map"}},
		{func(k *kernelFacts) { k.release = "?" }, []string{}},
		{func(k *kernelFacts) { k.missing = []string{"open_tree", "mount_setattr"} }, []string{"kernel.old"}},
		{func(k *kernelFacts) { k.pidfd = lacks }, []string{"kernel.pidfd"}},
		{func(k *kernelFacts) { k.beneath = lacks }, []string{"kernel.beneath"}},
		{func(k *kernelFacts) { k.beneath = unknown }, []string{}},
		{func(k *kernelFacts) { k.fuse = unix.ENOENT }, []string{"fuse.missing"}},
		{func(k *kernelFacts) { k.fuse = &os.PathError{Op: "open", Path: "/dev/fuse", Err: unix.EPERM} }, []string{"fuse.denied"}},
	} {
		k := good
		c.change(&k)
		require.Equal(t, c.want, testkit.BadFindings(t, kernelFindings(k)), "%+v", k)
	}
	require.NotEmpty(t, kernelFindings(gatherKernel()))
}

func TestSupportIsReadFromTheErrorOfACall(t *testing.T) {
	for err, want := range map[error]support{
		nil: has, unix.EBADF: has, unix.ENOENT: has, unix.EINVAL: lacks, unix.ENOSYS: lacks, unix.EPERM: unknown,
	} {
		require.Equal(t, want, supportOf(err, unix.EINVAL), "%v", err)
	}
}

func TestLimitFindings(t *testing.T) {
	good := limitFacts{descriptors: 1 << 20, ceiling: 1 << 20, files: 1 << 20, watches: 1 << 20, instances: 128}
	for _, c := range []struct {
		change func(*limitFacts)
		want   []string
	}{
		{func(*limitFacts) {}, []string{}},
		{func(l *limitFacts) { *l = limitFacts{descriptors: 1 << 20} }, []string{}}, // nothing else is known
		{func(l *limitFacts) { l.descriptors = 1024 }, []string{"limits.processes"}},
		{func(l *limitFacts) { l.ceiling = 1024 }, []string{"limits.processes"}},
		{func(l *limitFacts) { l.descriptorsError = unix.EPERM }, []string{"limits.unknown"}},
		{func(l *limitFacts) { l.filesUsed = 1 << 20 }, []string{"limits.machine"}},
		{func(l *limitFacts) { l.watchesUsed = 1<<20 - 100 }, []string{"limits.inotify"}},
		{func(l *limitFacts) { l.watches = 1000 }, []string{"limits.inotify"}},
		{func(l *limitFacts) { l.instancesUsed = 128 }, []string{"limits.instances"}},
		{func(l *limitFacts) { l.requestTimeout = time.Minute }, []string{"fuse.timeout"}},
		{func(l *limitFacts) { l.maxRequestTimeout = time.Hour }, []string{}},
	} {
		l := good
		c.change(&l)
		require.Equal(t, c.want, testkit.BadFindings(t, limitFindings(l)), "%+v", l)
	}
	require.NotEmpty(t, limitFindings(gatherLimits()))
}

func TestInotifyUseIsCounted(t *testing.T) {
	proc := t.TempDir() // of this process alone: others come and go
	require.NoError(t, os.Symlink(fmt.Sprintf("/proc/%d", os.Getpid()), filepath.Join(proc, fmt.Sprint(os.Getpid()))))
	before, instances := inotifyUse(proc, uint32(os.Geteuid()))
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, t.TempDir(), unix.IN_CREATE)
	require.NoError(t, err)
	watches, now := inotifyUse(proc, uint32(os.Geteuid()))
	require.Equal(t, before+1, watches)
	require.Equal(t, instances+1, now)
}

func TestStackFindings(t *testing.T) {
	lower := &mountinfo.Info{ID: 40, Parent: 27, Mountpoint: "/srv/repo"}
	upper := &mountinfo.Info{ID: 41, Parent: 40, Mountpoint: "/srv/repo"}
	apart := &mountinfo.Info{ID: 42, Parent: 40, Mountpoint: "/srv/repo/main/x"}
	for states, want := range map[[2]string][]string{
		{"serving", "dead"}: {"recovery.interrupted"}, {"dead", "serving"}: {"recovery.covered"},
		{"dead", "dead"}: {"recovery.interrupted"}, {"serving", "serving"}: {}, {"silent", "dead"}: {"recovery.interrupted"},
	} {
		got := stackFindings([]*mountinfo.Info{lower, upper, apart}, []api.MountStatus{{State: states[0]}, {State: states[1]}, {State: "dead"}})
		require.Equal(t, want, testkit.BadFindings(t, got), "lower, upper: %v", states)
		if len(want) > 0 && want[0] == "recovery.interrupted" {
			require.Contains(t, got[0].Fix, "jvsfs recover /srv/repo")
		}
	}
}

func TestMountFindingsNameTheWayOut(t *testing.T) {
	dead := checkMount(api.MountStatus{Mountpoint: "/srv/repo", State: "dead"})
	require.Equal(t, []string{"mounts.dead"}, testkit.BadFindings(t, []finding.Finding{dead}))
	require.Contains(t, dead.Fix, "jvsfs recover /srv/repo")
	require.Equal(t, []string{"mounts.silent"}, testkit.BadFindings(t, []finding.Finding{checkMount(api.MountStatus{Mountpoint: "/m", State: "silent", Detail: "x"})}))
	require.Equal(t, []string{"mounts.forbidden"}, testkit.BadFindings(t, []finding.Finding{checkMount(api.MountStatus{Mountpoint: "/m", State: "forbidden"})}))
}

func TestFeatureFindings(t *testing.T) {
	about := func(stats string) []finding.Finding {
		return featureFindings(api.MountStatus{Mountpoint: "/m", Statistics: []byte(stats)})
	}
	all := about(`{"kernel":{"protocol":"7.45","direct_io_allow_mmap":true,"expire_only":true,"notify_prune":true,"handle_killpriv_v2":true,"setxattr_ext":true}}`)
	require.Empty(t, testkit.BadFindings(t, all))
	require.Contains(t, all[0].Message, "speaks FUSE 7.45 and can do all")
	old := about(`{"kernel":{"protocol":"7.36"}}`)
	require.Equal(t, []string{"kernel.map"}, testkit.BadFindings(t, old))
	require.Contains(t, old[1].Message, "cannot clear setuid with the write (each write asks first), end long caching")
	require.Empty(t, about(`{}`))
	require.Empty(t, about(``))
}

func TestVersionFindings(t *testing.T) {
	for _, c := range []struct {
		Daemon, exe string
		want        []string
	}{
		{"1.2", "/usr/bin/jvsfs", []string{}}, {"1.2", "", []string{}},
		{"1.1", "/usr/bin/jvsfs", []string{"version.mismatch"}}, {"", "", []string{"version.mismatch"}},
		{"1.2", "/usr/bin/jvsfs (deleted)", []string{"version.replaced"}},
		{"1.2", "/usr/bin/nginx (deleted)", []string{}}, // its number means another process here
	} {
		require.Equal(t, c.want, testkit.BadFindings(t, versionFindings(api.MountStatus{Version: c.Daemon, PID: 3}, "1.2", c.exe)), "%+v", c)
	}
}

func TestAbandonedFilesOfTheRun(t *testing.T) {
	now := time.Now()
	old := now.Add(-time.Hour)
	file := func(minor uint32, socket, heard bool, at time.Time) runFile {
		return runFile{path: "x", dev: api.Device{Major: 0, Minor: minor}, socket: socket, heard: heard, at: at}
	}
	files := []runFile{
		file(1, true, false, old), file(1, false, false, old), // a mount that is gone
		file(2, true, false, old), file(2, false, false, old), // a dead mount that is still there
		file(3, true, true, old), file(3, false, false, old), // detached, and served on
		file(4, true, false, now),                                                                        // being made
		file(5, true, false, old), {path: "dev-0-5.state", dev: api.Device{Major: 0, Minor: 5}, at: old}, // recovery's to judge
	}
	got := abandoned(files, map[api.Device]bool{{Major: 0, Minor: 2}: true}, now)
	require.Equal(t, files[:2], got)
	require.Equal(t, []string{"run.socket"}, testkit.BadFindings(t, []finding.Finding{got[0].finding(lockdir.Repair{})}))
	require.Equal(t, []string{"run.state"}, testkit.BadFindings(t, []finding.Finding{got[1].finding(lockdir.Repair{Safe: true})}), "a file with content is nobody's to remove")
}

func TestGuardianFindings(t *testing.T) {
	require.Empty(t, guardianFindings([]guardianFact{{7, false}}))
	require.Equal(t, []string{"run.guardian"}, testkit.BadFindings(t, guardianFindings([]guardianFact{{7, false}, {8, true}})))
}

func TestConfigFindings(t *testing.T) {
	dir := t.TempDir()
	source := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"good.yaml":   {"source: " + source + "\n", ""},
		"typo.yaml":   {"source: " + source + "\nenforcs: observe\n", "config.invalid"},
		"syntax.yaml": {"source: [\n", "config.invalid"},
		"value.yaml":  {"on_free: perhaps\n", "config.invalid"},
		"rules.yaml":  {"source: " + source + "\nrules: [{name: a, lock: l, taken_by: magic}]\n", "config.invalid"},
		"gone.yaml":   {"source: " + source + "/gone\n", "config.source"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(c.text), 0o600))
		f := checkConfig(filepath.Join(dir, name))
		if c.want == "" {
			require.Equal(t, finding.SevOK, f.Severity, f.Message)
			continue
		}
		require.Equal(t, []string{c.want}, testkit.BadFindings(t, []finding.Finding{f}), f.Message)
		require.Contains(t, f.Message, name)
	}
	require.Contains(t, checkConfig(filepath.Join(dir, "typo.yaml")).Message, "typo.yaml:2:1: ")
	require.Len(t, configFindings(dir), 6)
	require.Empty(t, configFindings(dir+"/none"))
}
