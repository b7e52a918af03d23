package fusefs

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// exempting lets anybody write below cache.
func exempting() func(*Options) {
	return func(o *Options) {
		x, _ := gate.NewExempt([]string{"cache/**"}, false)
		clock := lease.SystemClock()
		g := gate.NewGuard(gate.GuardConfig{Worktree: "tree", Mode: gate.Exclusive,
			OnFree: gate.DenyOnFree, Clock: clock, Resolver: gate.NewResolver(clock), Exempt: x})
		g.Bind(&freeKeeper{})
		o.Exempt = true
		o.Guards = func(lease.WorktreeID) (*gate.Guard, error) { return g, nil }
	}
}

func withCache(t *testing.T) func(string) {
	return func(source string) {
		for _, d := range []string{"cache/d", "src"} {
			require.NoError(t, os.MkdirAll(filepath.Join(source, d), 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(source, "cache/f"), []byte("x"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(source, "cache/d/f"), []byte("x"), 0o644))
	}
}

// underWay is a write by a stranger that the gate has let pass and that has not taken effect yet.
func (m *testMount) underWay(t *testing.T, name string) (f *os.File, pass permit) {
	t.Helper()
	f, err := os.OpenFile(m.at(name), os.O_WRONLY, 0)
	require.NoError(t, err)
	var h *handle
	m.fs.handles.writers(func(o *handle) {
		if h == nil || o.id > h.id {
			h = o
		}
	})
	require.NotNil(t, h)
	pass, st := m.fs.admitHandle(nil, gate.OpWrite, &fuse.InHeader{}, h)
	require.Equal(t, fuse.OK, st)
	require.True(t, pass.byPlace())
	return f, pass
}

// waits demands that a call waits at the move lock until a pass is left.
func (m *testMount) waits(t *testing.T, pass permit, moved string, call func() error) {
	t.Helper()
	leave := sync.OnceFunc(pass.abandon)
	defer leave() // or nothing could be unmounted
	done := make(chan error, 1)
	go func() { done <- call() }()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		select {
		case err := <-done:
			t.Fatalf("it did not wait for the write that is under way: %v", err)
		default:
		}
		if m.fs.moveLock.Busy() {
			break
		}
		require.True(t, time.Now().Before(deadline), "nobody comes to the move lock")
	}
	require.NoFileExists(t, filepath.Join(m.source, moved))
	leave()
	require.NoError(t, <-done)
	require.FileExists(t, filepath.Join(m.source, moved))
}

func TestARenameOverAnExemptBorderWaitsForCallsInFlight(t *testing.T) {
	for name, c := range map[string]struct {
		file, moved string
		call        func(at func(string) string) error
	}{
		"the file":      {"cache/f", "src/f", func(at func(string) string) error { return os.Rename(at("cache/f"), at("src/f")) }},
		"its directory": {"cache/d/f", "src/d/f", func(at func(string) string) error { return os.Rename(at("cache/d"), at("src/d")) }},
		"a link":        {"cache/f", "src/f", func(at func(string) string) error { return os.Link(at("cache/f"), at("src/f")) }},
		"a guarded directory above": {"cache/d/f", "cache2/d/f",
			func(at func(string) string) error { return os.Rename(at("cache"), at("cache2")) }},
	} {
		t.Run(name, func(t *testing.T) {
			m := mounted(t, layout.Tree, withCache(t), exempting())
			m.hold(t, "tree", 1).Close(lease.Loss{Kind: lease.LossReleased})
			f, pass := m.underWay(t, c.file)
			defer f.Close()
			m.hold(t, "tree", 2)
			m.waits(t, pass, c.moved, func() error { return c.call(m.at) })
			_, err := f.WriteString("late")
			require.ErrorIs(t, err, unix.EROFS)
		})
	}
}

// A reserved name cannot come into a directory while that is being moved because it had none.
func TestAReservedNameWaitsWhileItsDirectoryIsMoved(t *testing.T) {
	m := mounted(t, layout.Tree, withCache(t), exempting())
	m.hold(t, "tree", 1)
	pass, ok := m.fs.moveLock.Take(true, gate.Request{})
	require.True(t, ok)
	leave := sync.OnceFunc(func() { m.fs.moveLock.Release(pass, true) })
	defer leave() // or nothing could be unmounted
	done := make(chan error, 1)
	go func() { done <- os.Mkdir(m.at("cache/d/.git"), 0o755) }()
	require.Eventually(t, func() bool { return m.fs.stats.requests[gate.OpMkdir].Load() == 1 }, patience, time.Millisecond)
	for i := range 20 { // each takes as long as the one that waits would
		require.NoError(t, os.Mkdir(m.at("cache/git"+strconv.Itoa(i)), 0o755), "other names do not wait")
	}
	require.Empty(t, done, "it did not wait")
	require.NoDirExists(t, filepath.Join(m.source, "cache/d/.git"))
	leave()
	require.NoError(t, <-done)
}

// The place of a new file was judged. If there is a file already, it may have other names
// elsewhere, so it is not touched.
func TestACreationInAnExemptPlaceOpensNoExistingFile(t *testing.T) {
	m := mounted(t, layout.Tree, withCache(t), exempting())
	in := fuse.CreateIn{Flags: unix.O_WRONLY | unix.O_TRUNC, Mode: 0o644}
	root := &node{fd: m.SourceFD()}
	_, _, err := m.fs.createAt(&in, root, "cache/f", true)
	require.ErrorIs(t, err, unix.ESTALE)
	text, err := os.ReadFile(filepath.Join(m.source, "cache/f"))
	require.NoError(t, err)
	require.Equal(t, "x", string(text))
	fd, _, err := m.fs.createAt(&in, root, "cache/new", true)
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
}

// Mounts of one worktree agree by the move lock through a directory that they share.
func TestARenameOverAnExemptBorderWaitsForOtherMounts(t *testing.T) {
	m := mounted(t, layout.Tree, withCache(t), exempting())
	n := mounted(t, layout.Tree, func(string) {}, exempting(), func(o *Options) { o.Source = m.source })
	n.source = m.source
	f, pass := m.underWay(t, "cache/f")
	defer f.Close()
	n.hold(t, "tree", 2)
	n.waits(t, pass, "src/f", func() error { return os.Rename(n.at("cache/f"), n.at("src/f")) })
	_, err := f.WriteString("late")
	require.ErrorIs(t, err, unix.EROFS)

	// A daemon that is stopped at the move lock stops the others there, but not for ever.
	require.NoError(t, os.WriteFile(filepath.Join(m.source, "cache/g"), nil, 0o644))
	g, pass := m.underWay(t, "cache/g")
	defer g.Close()
	brief := mountedWith(t, 20*time.Millisecond, layout.Tree, func(string) {}, exempting(), func(o *Options) { o.Source = m.source })
	brief.hold(t, "tree", 3)
	require.ErrorIs(t, os.Rename(brief.at("cache/g"), brief.at("src/g")), unix.EBUSY)
	require.NoFileExists(t, filepath.Join(m.source, "src/g"))
	pass.abandon()
	require.NoError(t, os.Rename(n.at("cache/g"), n.at("src/g")))
}

// Without rules nothing is looked up and nobody waits.
func TestWithoutExemptRulesNothingIsLookedUp(t *testing.T) {
	m := mounted(t, layout.Tree, withCache(t))
	require.Nil(t, m.fs.exempt.OfInode(gate.OpWrite, m.fs.root))
	pass, free := m.fs.moveLock.Take(true, gate.Request{})
	require.True(t, free)
	defer m.fs.moveLock.Release(pass, true)
	m.hold(t, "tree", 1)
	require.NoError(t, os.Rename(m.at("cache/f"), m.at("src/f")))
	m.fs.nodes.all(func(n *node) bool { require.Nil(t, n.called.Load()); return true })
}

// If the name by which a file was opened has gone, its other name counts while it is there.
func TestAFileIsJudgedByTheNameThatItStillHas(t *testing.T) {
	m := mounted(t, layout.Tree, withCache(t), exempting())
	g := m.hold(t, "tree", 1)
	require.NoError(t, os.Link(m.at("cache/f"), m.at("cache/g")))
	require.NoError(t, os.Remove(m.at("cache/f")))
	f, err := os.OpenFile(m.at("cache/g"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	g.Close(lease.Loss{Kind: lease.LossReleased})
	_, err = f.WriteString("still")
	require.NoError(t, err)

	require.NoError(t, os.Rename(filepath.Join(m.source, "cache/g"), filepath.Join(m.source, "src/g")), "behind the mount")
	_, err = f.WriteString("late")
	require.ErrorIs(t, err, unix.EROFS)
	require.NoError(t, os.WriteFile(filepath.Join(m.source, "cache/g"), nil, 0o644))
	_, err = f.WriteString("late")
	require.ErrorIs(t, err, unix.EROFS, "another file has its name now")
}

func TestWhereFindsThePlaceOfAPath(t *testing.T) {
	m := mounted(t, layout.Tree, func(s string) {
		withCache(t)(s)
		require.NoError(t, os.Symlink("../src", filepath.Join(s, "cache/out")))
		require.NoError(t, os.Symlink("/etc", filepath.Join(s, "cache/etc")))
		require.NoError(t, os.Link(filepath.Join(s, "cache/f"), filepath.Join(s, "src/f")))
	}, exempting())
	for path, want := range map[string]gate.Where{
		"/cache/d/f":     {Worktree: "tree", Names: []string{"cache/d/f"}},
		"cache/d/":       {Worktree: "tree", Names: []string{"cache/d"}},
		"cache/new":      {Worktree: "tree", Names: []string{"cache/new"}},
		"new":            {Worktree: "tree", Names: []string{"new"}},
		"cache/out/x":    {Worktree: "tree", Names: []string{"src/x"}},
		"cache/d/../../": {Worktree: "tree", Names: []string{""}},
		"":               {Worktree: "tree", Names: []string{""}},
		"cache/f":        {Worktree: "tree", Names: []string{"cache/f"}, Linked: true},
		"cache/etc/x":    {},
		"../x":           {},
		"no/new":         {},
	} {
		require.Equal(t, want, m.Where(path), path)
	}
}
