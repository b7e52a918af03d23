package lease

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// way is one way to mount a directory: below the base of a forest.
type way struct {
	source  string
	control string   // below the base, "" for the usual place
	more    []string // further options
}

// forest is directories that may be mounted in several ways.
type forest struct {
	*harness.Mount
	left []string // what to unmount
}

// newForest has a repository, plain directories, and bind mounts of some of them.
func newForest(t *testing.T) *forest {
	t.Helper()
	f := &forest{Mount: harness.PrepareMount(t, harness.MountOptions{OnFree: "deny"})}
	harness.PrepareRepository(t, f.dir("repo"))
	harness.PrepareRepository(t, f.dir("around/repo"))
	for _, dir := range []string{"plain/sub/deep", "other/plain", "volume"} {
		f.dir(dir)
	}
	harness.BindView(t, f.dir("plain"), f.dir("bound/plain"), 0)
	harness.BindView(t, f.dir("plain/sub"), f.dir("bound/sub"), 0)
	harness.BindView(t, f.dir("repo/main"), f.dir("bound/main"), 0)
	harness.BindView(t, f.dir("plain"), f.dir("bound/alias"), 0)
	t.Cleanup(f.unmountAll)
	return f
}

func (f *forest) dir(rel string) string {
	f.T.Helper()
	dir := filepath.Join(f.Base, rel)
	require.NoError(f.T, os.MkdirAll(dir, 0o755))
	return dir
}

func (f *forest) args(w way, at string) []string {
	args := []string{"mount", filepath.Join(f.Base, w.source), at, "--on-free", "deny", "--log-file", f.LogFile()}
	if w.control != "" {
		args = append(args, "--control", filepath.Join(f.Base, w.control))
	}
	f.WasMounted = true
	return append(args, w.more...)
}

// try mounts at a place of its own.
func (f *forest) try(w way) (at, said string, exit int) {
	f.T.Helper()
	at = f.dir("at" + strconv.Itoa(len(f.left)))
	out, errs, exit := f.CLI(f.args(w, at)...)
	if exit == 0 {
		f.left = append(f.left, at)
	}
	return at, out + errs, exit
}

func (f *forest) mountOK(w way) string {
	f.T.Helper()
	at, said, exit := f.try(w)
	require.Zero(f.T, exit, said)
	return at
}

func (f *forest) unmountAll() {
	for _, at := range f.left {
		n := *f.Mount
		n.Mountpoint, n.Mounted, n.Dead = at, true, false
		n.Unmount()
	}
	f.left = nil
}

// usualRecords are the records that lie where nobody said.
const usualRecords = "/var/lib/jvsfs/locks"

func forgetUsualRecords(t *testing.T, base string) {
	t.Helper()
	t.Cleanup(func() {
		dirs, _ := filepath.Glob(filepath.Join(usualRecords, "*"))
		for _, dir := range dirs {
			if regexp.MustCompile(`^(plain|sub|deep|main|moved)-[0-9a-f]{12}$`).MatchString(filepath.Base(dir)) {
				require.NoError(t, os.RemoveAll(dir))
			}
		}
	})
}

// overlapping are two ways each to mount what is one tree, or lies in one, with two sets of
// records.
var overlapping = map[string][2]way{
	"two control directories":            {{source: "plain", control: "c1"}, {source: "plain", control: "c2"}},
	"control and none":                   {{source: "plain", control: "c1"}, {source: "plain"}},
	"a bind path":                        {{source: "plain"}, {source: "bound/sub"}},
	"a bind path of another name":        {{source: "plain/sub", control: "c1"}, {source: "bound/sub", control: "c2"}},
	"a subdirectory":                     {{source: "plain"}, {source: "plain/sub"}},
	"far below, the same control":        {{source: "plain", control: "c1"}, {source: "plain/sub/deep", control: "c1"}},
	"a bind path far below":              {{source: "bound/plain", control: "c1"}, {source: "bound/sub/deep", control: "c2"}},
	"a repository and main with control": {{source: "repo"}, {source: "repo/main", control: "c1"}},
	"a repository twice":                 {{source: "repo"}, {source: "repo", control: "c1"}},
	"main and main with control":         {{source: "repo/main"}, {source: "repo/main", control: "c1"}},
	"main and a worktree with control":   {{source: "repo"}, {source: "repo/worktrees/a", control: "c1"}},
	"a repository and a bind of main":    {{source: "repo"}, {source: "bound/main"}},
	"main and a bind of main":            {{source: "repo/main"}, {source: "bound/main", control: "c1"}},
	"a repository and worktrees":         {{source: "repo"}, {source: "repo/worktrees"}},
	"a directory around a repository":    {{source: "around/repo"}, {source: "around", control: "c1"}},
}

// TestASecondMountWithOtherRecordsIsRefused: whoever comes second with other records is told of the first, and
// nothing is granted there.
func TestASecondMountWithOtherRecordsIsRefused(t *testing.T) {
	for name, pair := range overlapping {
		for order, ways := range map[string][2]way{"": pair, " the other way round": {pair[1], pair[0]}} {
			t.Run(name+order, func(t *testing.T) {
				f := newForest(t)
				forgetUsualRecords(t, f.Base)
				first := f.mountOK(ways[0])
				at, said, exit := f.try(ways[1])
				require.Equal(t, harness.ExitUsage, exit, said)
				require.Contains(t, said, "served with other records already")
				require.Contains(t, said, "the mount at "+first)
				require.NotEqual(t, "fuse.jvsfs", harness.TopType(t, at))
				if ways[1].control != "" && ways[1].control != ways[0].control {
					claims, _ := filepath.Glob(filepath.Join(f.Base, ways[1].control, "*.claim.*"))
					require.Empty(t, claims, "nothing was granted")
				}
				f.unmountAll()
				f.mountOK(ways[1]) // the first one kept nothing
			})
		}
	}
}

// Two that come at the same time with different records are never both served: each locks first,
// and looks afterwards.
func TestTwoMountsAtOnceWithDifferentRecordsAreNeverBothServed(t *testing.T) {
	for name, ways := range map[string][2]way{
		"one tree":             {{source: "plain", control: "c1"}, {source: "plain", control: "c2"}},
		"a tree and its parts": {{source: "plain", control: "c1"}, {source: "plain/sub/deep", control: "c2"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForest(t)
			for range harness.Rounds(5) {
				var begun []*harness.Background
				var points []string
				for i, w := range ways {
					points = append(points, f.dir("at"+strconv.Itoa(i)))
					begun = append(begun, f.Start(append([]string{f.Bin}, f.args(w, points[i])...)...))
				}
				for i, b := range begun {
					if exit, said := b.Wait(); exit == 0 {
						f.left = append(f.left, points[i])
					} else {
						require.Contains(t, said, "served with other records already")
					}
				}
				require.LessOrEqual(t, len(f.left), 1, "both are served")
				f.unmountAll()
			}
		})
	}
}

// Mounts that agree about the records, or have nothing in common, do not disturb each other.
func TestMountsWithTheSameRecordsOrNoCommonTreeAreServed(t *testing.T) {
	for name, pair := range map[string][2]way{
		"the same twice":            {{source: "plain", control: "c1"}, {source: "plain", control: "c1"}},
		"the usual records twice":   {{source: "plain"}, {source: "plain"}},
		"a bind path":               {{source: "plain"}, {source: "bound/plain"}},
		"a bind path, its own name": {{source: "plain"}, {source: "bound/alias"}},
		"a bind path with control":  {{source: "plain", control: "c1"}, {source: "bound/alias", control: "c1"}},
		"a repository and its main": {{source: "repo"}, {source: "repo/main"}},
		"two worktrees":             {{source: "repo/main"}, {source: "repo/worktrees/a"}},
		"two with one control":      {{source: "repo", control: "c1"}, {source: "repo/main", control: "c1"}},
		"side by side":              {{source: "plain/sub", control: "c1"}, {source: "volume", control: "c1"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForest(t)
			forgetUsualRecords(t, f.Base)
			f.mountOK(pair[0])
			f.mountOK(pair[1])
			f.unmountAll()
			f.mountOK(pair[1])
			f.mountOK(pair[0])
		})
	}
}

// What covers the directory above does not hide that it is served: mounted in place, it can
// be reached below by a bind mount of before alone.
func TestOtherRecordsAreRefusedForATreeServedBehindAnInPlaceMount(t *testing.T) {
	f := newForest(t)
	at := filepath.Join(f.Base, "plain")
	out, errs, exit := f.CLI(f.args(way{source: "plain", control: "c1"}, at)...)
	require.Zero(t, exit, out+errs)
	f.left = append(f.left, at)
	_, said, exit := f.try(way{source: "bound/sub", control: "c2"})
	require.Equal(t, harness.ExitUsage, exit, said)
	require.Contains(t, said, "the mount at "+at)
}

// A mount namespace of its own hides neither: the locks are in the inodes.
func TestOtherRecordsAreRefusedForATreeServedInAnotherNamespace(t *testing.T) {
	f := newForest(t)
	first := f.mountOK(way{source: "plain", control: "c1"})
	at := f.dir("at1")
	for _, source := range []string{"plain", "plain/sub", "bound/sub"} {
		args := append([]string{"--mount", "--propagation", "private", f.Bin}, f.args(way{source: source, control: "c2"}, at)...)
		out, err := exec.Command("unshare", args...).CombinedOutput()
		require.Error(t, err, "%s", out)
		require.Contains(t, string(out), "served with other records already")
		require.Contains(t, string(out), "the mount at "+first)
	}
}

// In a container neither the processes nor the state files of the host can be seen: that somebody
// serves the directory is known all the same. Outside, the one in the container is named.
func TestOtherRecordsAreRefusedForATreeServedInAContainer(t *testing.T) {
	f := newForest(t)
	f.mountOK(way{source: "plain", control: "c1"})
	at := f.dir("at1")
	script := `mount -t tmpfs -o mode=755 tmpfs /run/jvsfs && exec "$@"`
	args := append([]string{"--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "sh", "-c", script, "sh", f.Bin},
		f.args(way{source: "bound/sub", control: "c2"}, at)...)
	out, err := exec.Command("unshare", args...).CombinedOutput()
	require.Error(t, err, "%s", out)
	require.Contains(t, string(out), "served with other records already, by somebody who cannot be seen from here")
	f.unmountAll()

	l := harness.NewMail(f.Mount)
	inside := append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c",
		`mount -t tmpfs -o mode=755 tmpfs /run/jvsfs && "$@" && ` + l.Tell("in") + `; read x <` + l.Gate("end") + `; ` + f.Bin + ` umount ` + at, "sh", f.Bin},
		f.args(way{source: "bound/sub", control: "c2"}, at)...)
	b := f.Start(inside...)
	require.Equal(t, "0", l.Take("in"))
	_, said, exit := f.try(way{source: "plain", control: "c1"})
	require.Equal(t, harness.ExitUsage, exit, said)
	require.Regexp(t, `has a directory below it that is served with other records already, by process \d+ \(`, said)
	l.Open("end")
	exit, said = b.Wait()
	require.Zero(t, exit, said)
	f.mountOK(way{source: "plain", control: "c1"})
}

// With its daemon a mount's hold on the directory ends, and not before.
func TestOtherRecordsAreRefusedUntilTheDaemonIsGone(t *testing.T) {
	f := newForest(t)
	at := f.mountOK(way{source: "plain", control: "c1"})
	n := *f.Mount
	n.Mountpoint = at
	n.KillDaemon()
	n.MustCLI("umount", at, "--bare")
	f.left = nil
	f.mountOK(way{source: "plain/sub", control: "c2"})
}

// Commands without a mount work on the records that the mount has, or are told whose they are.
func TestCommandsWithoutAMountUseTheRecordsOfTheMount(t *testing.T) {
	f := newForest(t)
	forgetUsualRecords(t, f.Base)
	first := f.mountOK(way{source: "plain", control: "c1"})
	who := harness.StartActor(t, "who")
	pid := strconv.Itoa(who.PID())
	c2 := filepath.Join(f.Base, "c2")
	for _, args := range [][]string{
		{"lock", "acquire", "--pid", pid, "--control", c2, filepath.Join(f.Base, "plain")},
		{"lock", "acquire", "--pid", pid, "--control", c2, filepath.Join(f.Base, "plain/sub")},
		{"lock", "acquire", "--pid", pid, filepath.Join(f.Base, "bound/sub")},
		{"exec", "--control", c2, filepath.Join(f.Base, "plain"), "--", "true"},
	} {
		_, errs, exit := f.CLI(args...)
		require.Equal(t, harness.ExitUsage, exit, "%v: %s", args, errs)
		require.Contains(t, errs, "the mount at "+first)
	}
	claims, _ := filepath.Glob(filepath.Join(c2, "*.claim.*"))
	require.Empty(t, claims)
	f.MustCLI("lock", "acquire", "--pid", pid, filepath.Join(f.Base, "plain"))
	require.FileExists(t, filepath.Join(f.Base, "c1", "plain.claim.00000000000000000001"))
}

// A command that holds a lease on its own keeps a mount with other records away, and is named.
func TestAMountWithOtherRecordsIsRefusedWhileACommandHolds(t *testing.T) {
	f := newForest(t)
	l := harness.NewMail(f.Mount)
	b := f.Start(f.Bin, "exec", "--control", filepath.Join(f.Base, "c1"), filepath.Join(f.Base, "plain"), "--", "sh", "-c", l.Tell("in")+"; read x <"+l.Gate("end"))
	l.Take("in")
	_, said, exit := f.try(way{source: "plain/sub", control: "c2"})
	require.Equal(t, harness.ExitUsage, exit, said)
	require.Contains(t, said, "by process "+strconv.Itoa(b.PID()))
	l.Open("end")
	exit, said = b.Wait()
	require.Zero(t, exit, said)
	f.mountOK(way{source: "plain/sub", control: "c2"})
}

// A replacement and a recovery have two daemons over one tree, with the same records.
func TestReplaceAndRecoverKeepTheRecordsOfTheTree(t *testing.T) {
	f := newForest(t)
	w := way{source: "plain", control: "c1"}
	at := f.mountOK(w)
	f.MustCLI(append(f.args(w, at), "--replace")...)
	n := *f.Mount
	n.Mountpoint = at
	_, said, exit := f.try(way{source: "plain/sub", control: "c2"})
	require.Equal(t, harness.ExitUsage, exit, said)
	harness.Eventually(t, "the old daemon ends", func() bool { return len(f.Daemons()) == 1 })
	n.KillDaemon()
	f.MustCLI("recover", at)
	_, said, exit = f.try(way{source: "plain/sub", control: "c2"})
	require.Equal(t, harness.ExitUsage, exit, said)
	require.Equal(t, "fuse.jvsfs", harness.TopType(t, at))
}
