package fusefs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/hardlink"
	"github.com/jvsfs/jvsfs/lease"
)

// linkedRepository has files in main that also have a name outside of the source. All are a while
// old.
func linkedRepository(t testing.TB, s string, files int) {
	t.Helper()
	for _, d := range []string{".jvs/locks", "main/d", "worktrees/a", "worktrees/b"} {
		require.NoError(t, os.MkdirAll(filepath.Join(s, d), 0o755))
	}
	outside := t.TempDir()
	for i := range files {
		f := filepath.Join(s, "main/d", fmt.Sprint(i))
		require.NoError(t, os.WriteFile(f, []byte("x"), 0o644))
		require.NoError(t, os.Chmod(f, 0o644)) // whatever the umask
		require.NoError(t, os.Link(f, filepath.Join(outside, fmt.Sprint(i))))
	}
	time.Sleep(2 * hardlink.Settled) // what was just changed is not remembered for others
}

func (m *testMount) walks() uint64 {
	walks, _ := m.fs.hardlinks.Walks()
	return walks
}

// Changes of files with names outside of the source cost one walk, and not one for each touch,
// file, or forgotten inode.
func TestNamesOutsideOfTheSourceCostOneWalk(t *testing.T) {
	m := mounted(t, layout.JVS, func(s string) { linkedRepository(t, s, 20) })
	out, err := sh(t, m.dir, "for i in $(seq 0 19); do chmod 600 main/d/$i; done")
	require.Error(t, err, out)
	require.Zero(t, m.walks(), "who is refused makes nobody look")

	m.hold(t, "main", 1)
	var open []*os.File // what is open the kernel does not forget, even if somebody drops the caches of the whole machine just now
	for i := range 20 {
		f, err := os.Open(m.at(fmt.Sprint("main/d/", i)))
		require.NoError(t, err)
		open = append(open, f)
	}
	out, err = sh(t, m.dir, "for n in 1 2 3; do for i in $(seq 0 19); do chmod 60$n main/d/$i && echo x >>main/d/$i && touch main/d/$i || exit; done; done")
	require.NoError(t, err, out)
	require.EqualValues(t, 1, m.walks())

	for _, f := range open {
		require.NoError(t, f.Close())
	}
	m.fs.kernel.DropAttr(fuse.FUSE_ROOT_ID)
	require.NoError(t, unix.Mount("", m.dir, "", unix.MS_REMOUNT, ""), "the kernel forgets what nobody has open of this mount alone")
	require.Eventually(t, func() bool { return m.Stats().Inodes < 20 }, patience, time.Millisecond)
	out, err = sh(t, m.dir, "echo y >>main/d/0; ln main/d/0 main/again && echo z >>main/again && chmod 600 main/d/0")
	require.NoError(t, err, out)
	require.LessOrEqual(t, m.walks(), uint64(2), "the kernel may have forgotten the file, and so its changes")
	before := m.walks()
	out, err = sh(t, m.dir, "exec 9<main/again; for n in 1 2 3; do ln main/again main/$n && echo y >>main/$n || exit; done; exec 8>main/new; echo one >&8 && ln main/new main/new2 && echo two >>main/new")
	require.NoError(t, err, out)
	require.Equal(t, before, m.walks(), "a name that came through the mount is known")
}

// A name that was made or moved behind the mount is found before the next touch.
func TestNamesBehindTheMountAreNoticed(t *testing.T) {
	m := mounted(t, layout.JVS, func(s string) { linkedRepository(t, s, 3) })
	m.hold(t, "main", 1)
	back := func(name string) string { return filepath.Join(m.source, name) }
	chmod := func(name string) error { _, err := sh(t, m.dir, "chmod 640 "+name); return err }
	require.NoError(t, chmod("main/d/0"))
	require.NoError(t, os.Link(back("main/d/0"), back("worktrees/a/f")))
	require.Error(t, chmod("main/d/0"), "a name in a worktree that nobody holds")
	a := m.hold(t, "a", 1)
	require.NoError(t, chmod("main/d/0"))
	require.NoError(t, os.Rename(back("worktrees/a/f"), back("worktrees/b/f")))
	require.Error(t, chmod("main/d/0"), "it was moved: the number of links is as it was")
	m.hold(t, "b", 1)
	a.Close(lease.Loss{Kind: lease.LossReleased})
	require.NoError(t, chmod("main/d/0"))
	require.NoError(t, os.Rename(back("worktrees/b/f"), back("worktrees/a/f")))

	f, err := os.OpenFile(m.at("main/d/1"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, os.Remove(back("worktrees/a/f")))
	require.NoError(t, os.Link(back("main/d/1"), back("worktrees/a/g")))
	require.Error(t, chmod("main/d/1"))
	require.NoError(t, os.Rename(back("worktrees/a/g"), back("main/g")))
	require.NoError(t, chmod("main/d/1"))
	require.NoError(t, os.Rename(back("main/g"), back("worktrees/a/g")))
	_, err = f.WriteString("by a handle, which changes the time of change as well")
	require.NoError(t, err)
	require.Error(t, chmod("main/d/1"), "a write must not hide what was done before it")
}

// BenchmarkTouchOfALinkedFile is a change of a file with a name outside of a source of
// 20,000 files.
func BenchmarkTouchOfALinkedFile(b *testing.B) {
	f := benchFS(b)
	f.opts.Layout, f.opts.Enforcement = laidOut(layout.JVS, ""), gate.NewEnforcement(gate.Enforcing)
	for i := range 200 {
		dir := filepath.Join(f.opts.Source, fmt.Sprint("d", i))
		require.NoError(b, os.Mkdir(dir, 0o755))
		for j := range 100 {
			require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), nil, 0o644))
		}
	}
	require.NoError(b, os.Link(filepath.Join(f.opts.Source, "file00"), filepath.Join(b.TempDir(), "outside")))
	out := fuse.EntryOut{}
	h := benchHeader(fuse.FUSE_ROOT_ID)
	must(b, f.Lookup(nil, &h, "file00", &out))
	in := fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{InHeader: benchHeader(out.NodeId), Valid: fuse.FATTR_MODE}}
	for b.Loop() {
		in.Mode = 0o600
		must(b, f.SetAttr(nil, &in, &fuse.AttrOut{}))
	}
	walks, _ := f.hardlinks.Walks()
	b.ReportMetric(float64(walks), "walks")
}
