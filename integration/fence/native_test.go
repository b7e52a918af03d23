package fence

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// The native tests prove the instruments on a plain directory: a row that
// changes nothing natively would pass every refusal test.

func TestNativeRowsAreNamedOnce(t *testing.T) {
	names, dirs := map[string]bool{}, map[string]bool{}
	for _, r := range allRows() {
		require.False(t, names[r.name] || dirs[r.slug()], "twice: %s", r.name)
		names[r.name], dirs[r.slug()] = true, true
	}
	require.GreaterOrEqual(t, len(names), 55)
}

// harmless are the rows that leave no trace when they succeed: the first two
// by nature, the others on files without a name.
var harmless = map[string]bool{
	"handle fsync": true, "handle fdatasync": true,
	"handle nameless write": true, "handle write to an unlinked file": true,
}

func TestNativeRowsSucceedAndShow(t *testing.T) {
	base := harness.NewBase(t)
	tree := filepath.Join(base, "tree")
	require.NoError(t, os.Mkdir(tree, 0o755))
	prepareRows(t, tree)
	view := harness.BindView(t, tree, filepath.Join(base, "view"), 0)
	a := harness.StartActor(t, "native")
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			require.Empty(t, r.opens(t, a, tree).Errno)
			before := harness.TakeDigest(t, view)
			got := r.runs(t, a, tree)
			require.Empty(t, got.Errno, got.Note)
			after := harness.TakeDigest(t, view)
			assert.Equal(t, harmless[r.name], len(before.Diff(after)) == 0, "a trace in the tree")
			r.drops(t, a, tree)
		})
	}
}

// A read-only bind mount refuses like a lost lease, with the same errno: path
// rows that do not get it from here would not get it from jvsfs either.
func TestNativePathRowsRefusedReadOnly(t *testing.T) {
	base := harness.NewBase(t)
	tree := filepath.Join(base, "tree")
	require.NoError(t, os.Mkdir(tree, 0o755))
	prepareRows(t, tree)
	prepareReads(t, tree)
	view := harness.BindView(t, tree, filepath.Join(base, "view"), 0)
	guarded := harness.BindView(t, tree, filepath.Join(base, "ro"), unix.MS_RDONLY)
	a := harness.StartActor(t, "refused")
	refuseRows(t, a, guarded, view, func(r row) bool { return !r.isHandle() })
	require.Empty(t, failedReads(t, a, guarded))
}

// refuseRows runs the chosen rows through guarded and demands that each is
// refused and that the tree behind it stays as it was. After each row its own
// directory is read, and the times of the rest; the whole tree after the last.
func refuseRows(t *testing.T, a *harness.Actor, guarded, view string, choose func(row) bool) {
	t.Helper()
	before, rest := harness.TakeDigest(t, view), harness.TakeStats(t, view)
	for _, r := range allRows() {
		if !choose(r) {
			continue
		}
		t.Run(a.Name+"/"+r.name, func(t *testing.T) {
			got := r.runs(t, a, guarded)
			assert.Contains(t, r.refusals(), got.Errno, "%s", got.Note)
			own := filepath.Join(rowsDir, r.slug())
			after := harness.TakeStats(t, view)
			assert.Empty(t, rest.Diff(after), "the refused operation left a trace")
			assert.Empty(t, before.Below(own).Diff(harness.TakeDigest(t, filepath.Join(view, own))), "the refused operation left a trace")
			// The next row answers only for itself.
			rest = after
		})
	}
	assert.Empty(t, before.Diff(harness.TakeDigest(t, view)), "a refused operation left a trace")
}

func TestNativeDigestSeesEveryField(t *testing.T) {
	base := harness.NewBase(t)
	tree := filepath.Join(base, "tree")
	require.NoError(t, os.Mkdir(tree, 0o755))
	harness.WithFiles("f")(t, tree)
	view := harness.BindView(t, tree, filepath.Join(base, "view"), 0)
	changes := map[string]string{
		"mode": "chmod f 0600", "owner": "chown f 7 7", "content": "writefile f other trunc", "times": "utimens f 5 6",
		"xattr": "setxattr f user.x x", "link": "link f g", "flags": "chattr f +d",
	}
	for name, change := range changes {
		before := harness.TakeDigest(t, view)
		require.Empty(t, before.Diff(harness.TakeDigest(t, view)), "looking leaves a trace")
		require.NoError(t, operation.Do(tree, change), name)
		require.NotEmpty(t, before.Diff(harness.TakeDigest(t, view), harness.LeaveChangeTimes), "unnoticed: %s", name)
	}
}

func TestNativeActorKeepsMappingsAndStops(t *testing.T) {
	dir := harness.NewBase(t)
	harness.WithFiles("f")(t, dir)
	file := filepath.Join(dir, "f")
	a := harness.StartActor(t, "mapper")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: file, Flags: unix.O_RDWR})
	a.OK(harness.Command{Op: "mmap", Handle: "f", Name: "m", Len: 4096})
	a.Stop()
	a.Resume()
	a.OK(harness.Command{Op: "store", Name: "m", Data: []byte("STORED")})
	a.OK(harness.Command{Op: "msync", Name: "m"})
	a.OK(harness.Command{Op: "munmap", Name: "m"})
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "STORED", string(text[:6]))
	a.Fails(harness.Command{Op: "write", Handle: "never opened", Data: []byte("x")}, "EBADF")
	a.Fails(harness.Command{Op: "nonsense"}, "EBADCOMMAND")
}

func TestNativeActorIsWhoItIsToldToBe(t *testing.T) {
	dir := harness.NewBase(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	a := harness.StartActorAs(t, "user", harness.Identity{UID: 1000, GID: 1000, Groups: []uint32{1000, 2000}})
	a.OK(harness.Command{Op: "mkdir", Path: filepath.Join(dir, "d"), Mode: 0o755})
	e, err := harness.ReadEntry(filepath.Join(dir, "d"))
	require.NoError(t, err)
	require.Equal(t, []uint32{1000, 1000}, []uint32{e.UID, e.GID})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "g"), 0))
	require.NoError(t, os.Chown(filepath.Join(dir, "g"), 0, 2000))
	require.NoError(t, os.Chmod(filepath.Join(dir, "g"), 0o070))
	a.OK(harness.Command{Op: "mkdir", Path: filepath.Join(dir, "g", "d"), Mode: 0o755})
	session, err := unix.Getsid(a.PID())
	require.NoError(t, err)
	require.Equal(t, a.PID(), session)
}

func TestNativeRowsAreTheSameOnTwoPlainDirectories(t *testing.T) {
	p, view := harness.TwoPlain(t, prepareStage)
	sameRows(t, harness.StartActor(t, "one"), harness.StartActor(t, "two"), p, view)
}
