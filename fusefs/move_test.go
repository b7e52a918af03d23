package fusefs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/integration/goroutines"
	"github.com/jvsfs/jvsfs/lease"
)

func repositoryMount(t *testing.T) *testMount {
	t.Helper()
	return repositoryMountWith(t, patience)
}

func repositoryMountWith(t *testing.T, wait time.Duration) *testMount {
	t.Helper()
	return mountedWith(t, wait, layout.JVS, func(s string) {
		for _, d := range []string{".jvs/locks", "main/d", "worktrees"} {
			require.NoError(t, os.MkdirAll(filepath.Join(s, d), 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(s, "main/d/f"), nil, 0o644))
	})
}

// mustWait makes a rename, which must wait until the pass is left.
func mustWait(t *testing.T, leave func(), rename func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- rename() }()
	goroutines.MustBlock(t, done, "gate.(*Enforcement).Freeze") // in the mount, which this process serves
	leave()
	return <-done
}

func enterBy(t *testing.T, g *gate.Guard, token lease.Token) func() {
	t.Helper()
	p, no := g.Enter(gate.Request{Op: gate.OpWrite, Epoch: gate.EpochOf(token)})
	require.Nil(t, no)
	return p.End
}

// A request in flight is waited for, whatever the name by which it was let in.
func TestARenameOfARootWaitsForWhatIsInFlight(t *testing.T) {
	m := repositoryMount(t)
	main := m.hold(t, "main", 1)
	m.hold(t, "y", 2)
	f, err := os.OpenFile(m.at("main/d/f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	move := func(from, to string) func() error {
		return func() error { return os.Rename(m.at(from), m.at(to)) }
	}
	require.NoError(t, mustWait(t, enterBy(t, main, 1), move("main", "worktrees/y")))
	_, err = f.WriteString("late")
	require.ErrorIs(t, err, unix.EROFS, "what was open in main is not open in y")
	require.NoError(t, move("worktrees/y", "aside")())
	// Between two names of which none is main, for the file that is open was opened there.
	require.NoError(t, mustWait(t, enterBy(t, main, 1), move("aside", "worktrees/y")))
	y := m.guards["y"]
	require.NoError(t, mustWait(t, enterBy(t, y, 2), move("worktrees/y", "main")))
	outside, ok, _ := m.opts.Enforcement.Outside(false)
	require.True(t, ok)
	require.NoError(t, mustWait(t, outside.End, move("main", "worktrees/y")))
}

// What is open in a tree that becomes a worktree is refused by that worktree, and its mappings are looked at with those
// of the worktree.
func TestAnOpenFileMovedIntoAWorktreeIsRefusedByIt(t *testing.T) {
	m := repositoryMount(t)
	main := m.hold(t, "main", 1)
	require.NoError(t, os.Mkdir(m.at("aside"), 0o755))
	for from, was := range map[string]uint64{"aside": 0, "main": 1} {
		f, err := os.OpenFile(m.at(from+"/f"), os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		defer f.Close()
		y := m.hold(t, "y", 2)
		require.NoError(t, os.Rename(m.at(from), m.at("worktrees/y")))
		y.Close(lease.Loss{Kind: lease.LossReleased, Token: 2})
		m.fs.handles.writers(func(h *handle) {
			require.True(t, m.fs.mayStore(h, y), from)
			require.Equal(t, was == 1, m.fs.mayStore(h, main), from)
			w, err := y.Quiesce(t.Context(), gate.Windowed{Lasts: time.Minute})
			require.NoError(t, err)
			_, _ = m.fs.refusedStore(&fuse.WriteIn{}, h, fuse.EROFS)
			require.NoError(t, w.Err(), "a write is seen by nobody")
			_, _ = m.fs.refusedStore(&fuse.WriteIn{WriteFlags: fuse.WRITE_CACHE}, h, fuse.EROFS)
			require.Error(t, w.Err(), from)
		})
		_, err = f.WriteString("late")
		require.ErrorIs(t, err, unix.EROFS, from)
		require.Contains(t, y.Status().LastRefusals[0], "before its directory became worktree y", from)
		require.NoError(t, f.Close())
		m.hold(t, "y", 3)
		require.NoError(t, os.Rename(m.at("worktrees/y"), m.at("gone-"+from)))
	}
}

// A write that reads its handle before a rename and enters after it is judged again.
func TestAWriteIsJudgedAgainWhenARenameCameBetween(t *testing.T) {
	m := repositoryMount(t)
	main := m.hold(t, "main", 1)
	h := &handle{node: m.fs.root, claims: []claim{{main, gate.EpochOf(1), nil}}}
	freeze, err := m.opts.Enforcement.Freeze(t.Context(), []*gate.Guard{main})
	require.NoError(t, err)
	done := make(chan fuse.Status, 1)
	go func() {
		p, st := m.fs.admitHandle(nil, gate.OpWrite, &fuse.InHeader{}, h)
		if st == fuse.OK {
			p.abandon()
		}
		done <- st
	}()
	goroutines.MustBlock(t, done, "fusefs.(*rawFS).admitHandle")
	h.revoked.Store(true)
	freeze.Thaw()
	require.Equal(t, fuse.Status(unix.EROFS), <-done)
}

// So is a path operation.
func TestAPathOperationIsJudgedAgainWhenARenameCameBetween(t *testing.T) {
	m := repositoryMount(t)
	asked := 0
	p, st := m.fs.settled(func() (permit, fuse.Status) {
		if asked++; asked == 1 {
			m.fs.moves.Add(1)
		}
		return permit{}, fuse.OK
	})
	p.abandon()
	require.Equal(t, fuse.OK, st)
	require.Equal(t, 2, asked)
}

// If something does not end in time the rename gives up, and everything goes on.
func TestARenameOfARootGivesUpAfterItsTime(t *testing.T) {
	m := repositoryMountWith(t, 20*time.Millisecond)
	main := m.hold(t, "main", 1)
	m.hold(t, "y", 2)
	leave := enterBy(t, main, 1)
	require.ErrorIs(t, os.Rename(m.at("main"), m.at("worktrees/y")), unix.EBUSY)
	require.NoError(t, os.WriteFile(m.at("main/g"), nil, 0o644))
	leave()
	var err error
	require.Eventually(t, func() bool { // a busy machine may need longer for it than this mount waits
		err = os.Rename(m.at("main"), m.at("worktrees/y"))
		return !errors.Is(err, unix.EBUSY)
	}, patience, time.Millisecond)
	require.NoError(t, err)
}
