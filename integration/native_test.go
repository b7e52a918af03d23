package integration

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
	requireRoot(t)
	base := newBase(t)
	tree := filepath.Join(base, "tree")
	require.NoError(t, os.Mkdir(tree, 0o755))
	prepareRows(t, tree)
	view := bindView(t, tree, filepath.Join(base, "view"), 0)
	a := startActor(t, "native")
	for _, r := range allRows() {
		t.Run(r.name, func(t *testing.T) {
			a.ok(command{Op: "row.open", Path: tree, Name: r.name})
			before := takeDigest(t, view)
			a.ok(command{Op: "row.run", Path: tree, Name: r.name})
			after := takeDigest(t, view)
			assert.Equal(t, harmless[r.name], len(before.diff(after)) == 0, "a trace in the tree")
			a.ok(command{Op: "row.drop", Path: tree, Name: r.name})
		})
	}
}

// A read-only bind mount refuses like a lost lease, with the same errno: path
// rows that do not get it from here would not get it from jvsfs either.
func TestNativePathRowsRefusedReadOnly(t *testing.T) {
	requireRoot(t)
	base := newBase(t)
	tree := filepath.Join(base, "tree")
	require.NoError(t, os.Mkdir(tree, 0o755))
	prepareRows(t, tree)
	prepareReads(t, tree)
	view := bindView(t, tree, filepath.Join(base, "view"), 0)
	guarded := bindView(t, tree, filepath.Join(base, "ro"), unix.MS_RDONLY)
	a := startActor(t, "refused")
	refuseRows(t, a, guarded, view, func(r row) bool { return !r.isHandle() })
	require.Empty(t, a.do(command{Op: "reads", Path: guarded}).Note)
}

// refuseRows runs the chosen rows through guarded and demands that each is
// refused and that the tree behind it stays as it was.
func refuseRows(t *testing.T, a *actor, guarded, view string, choose func(row) bool) {
	t.Helper()
	before := takeDigest(t, view)
	for _, r := range allRows() {
		if !choose(r) {
			continue
		}
		t.Run(a.name+"/"+r.name, func(t *testing.T) {
			got, err := a.try(command{Op: "row.run", Path: guarded, Name: r.name})
			require.NoError(t, err)
			assert.Contains(t, r.refusals(), got.Errno, "%s", got.Note)
			after := takeDigest(t, view)
			assert.Empty(t, before.diff(after), "the refused operation left a trace")
			// The next row answers only for itself.
			before = after
		})
	}
}

func TestNativeDigestSeesEveryField(t *testing.T) {
	requireRoot(t)
	base := newBase(t)
	tree := filepath.Join(base, "tree")
	require.NoError(t, os.Mkdir(tree, 0o755))
	withFiles("f")(t, tree)
	view := bindView(t, tree, filepath.Join(base, "view"), 0)
	file := filepath.Join(tree, "f")
	changes := map[string]func() error{
		"mode":    func() error { return os.Chmod(file, 0o600) },
		"owner":   func() error { return os.Chown(file, 7, 7) },
		"content": func() error { return os.WriteFile(file, []byte("other"), 0) },
		"times":   func() error { return os.Chtimes(file, time.Unix(5, 0), time.Unix(6, 0)) },
		"xattr":   func() error { return unix.Setxattr(file, "user.x", []byte("x"), 0) },
		"link":    func() error { return os.Link(file, filepath.Join(tree, "g")) },
		"flags": func() error {
			b := newBox(tree)
			return flagged("f", setNoDump)(b)
		},
	}
	for name, change := range changes {
		before := takeDigest(t, view)
		require.Empty(t, before.diff(takeDigest(t, view)), "looking leaves a trace")
		require.NoError(t, change(), name)
		require.NotEmpty(t, before.diff(takeDigest(t, view), leaveChangeTimes), "unnoticed: %s", name)
	}
}

func TestNativeActorKeepsMappingsAndStops(t *testing.T) {
	dir := newBase(t)
	withFiles("f")(t, dir)
	file := filepath.Join(dir, "f")
	a := startActor(t, "mapper")
	a.ok(command{Op: "open", Handle: "f", Path: file, Flags: unix.O_RDWR})
	a.ok(command{Op: "mmap", Handle: "f", Name: "m", Len: 4096})
	a.stop()
	a.resume()
	a.ok(command{Op: "store", Name: "m", Data: []byte("STORED")})
	a.ok(command{Op: "msync", Name: "m"})
	a.ok(command{Op: "munmap", Name: "m"})
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "STORED", string(text[:6]))
	a.fails(command{Op: "write", Handle: "never opened", Data: []byte("x")}, "EBADF")
	a.fails(command{Op: "nonsense"}, "EBADCOMMAND")
}

func TestNativeActorIsWhoItIsToldToBe(t *testing.T) {
	requireRoot(t)
	dir := newBase(t)
	require.NoError(t, os.Chmod(dir, 0o777))
	a := startActorAs(t, "user", identity{uid: 1000, gid: 1000, groups: []uint32{1000, 2000}})
	a.ok(command{Op: "mkdir", Path: filepath.Join(dir, "d"), Mode: 0o755})
	e, err := readEntry(filepath.Join(dir, "d"))
	require.NoError(t, err)
	require.Equal(t, []uint32{1000, 1000}, []uint32{e.uid, e.gid})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "g"), 0))
	require.NoError(t, os.Chown(filepath.Join(dir, "g"), 0, 2000))
	require.NoError(t, os.Chmod(filepath.Join(dir, "g"), 0o070))
	a.ok(command{Op: "mkdir", Path: filepath.Join(dir, "g", "d"), Mode: 0o755})
	session, err := unix.Getsid(a.pid())
	require.NoError(t, err)
	require.Equal(t, a.pid(), session)
}
