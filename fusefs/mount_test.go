package fusefs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(settleVar); path != "" {
		_, _ = os.Open(path)
		return
	}
	goleak.VerifyTestMain(m)
}

// settleVar makes the test binary open one file through a mount and end. Go's
// runtime asks the kernel to poll a file that it opens, in a system call that
// keeps its processor; when the file system is served by the same process and no
// other processor is free, nobody answers. The first answer switches polling off
// for the mount, so another process asks first.
const settleVar = "JVSFS_TEST_SETTLE"

func settle(t *testing.T, dir string) {
	t.Helper()
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), settleVar+"="+filepath.Join(dir, ".go-fuse-epoll-hack"), "GORACE=atexit_sleep_ms=0")
	require.NoError(t, c.Run())
}

// freeKeeper never has a lease to give: tests open and close guards by hand.
type freeKeeper struct {
	mu   sync.Mutex
	late []lease.LateWrite
}

func (*freeKeeper) Observe() (lease.Head, lease.Judgement) {
	return lease.Head{}, lease.Judgement{State: lease.Free}
}

func (*freeKeeper) Acquire(context.Context, lease.Holder) (lease.Grant, error) {
	return lease.Grant{}, &lease.Error{Class: lease.ClassStoreFailed, Message: "no lease in this test"}
}

func (*freeKeeper) Look() {}

func (*freeKeeper) Past(_, _ lease.Token) ([]lease.Past, error) { return nil, nil }

func (k *freeKeeper) Late(w lease.LateWrite) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.late = append(k.late, w)
	return nil
}

// patience is what only something that hangs takes.
const patience = time.Minute

type testMount struct {
	*Server
	unmounted   bool
	dir, source string
	keeper      freeKeeper
	guards      map[lease.WorktreeID]*gate.Guard
}

func laidOut(name layout.Name, tree lease.WorktreeID) layout.Layout {
	l, err := layout.New(name, tree)
	if err != nil {
		panic(err)
	}
	return l
}

// mounted serves a directory beside its source. The guards are closed. What waits there does so for longer than a busy machine needs.
func mounted(t *testing.T, name layout.Name, prepare func(source string), change ...func(*Options)) *testMount {
	t.Helper()
	return mountedWith(t, patience, name, prepare, change...)
}

// mountedWith is mounted where a rename of a root, and who takes the move lock, gives up after wait.
func mountedWith(t *testing.T, wait time.Duration, name layout.Name, prepare func(source string), change ...func(*Options)) *testMount {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and /dev/fuse")
	}
	m := &testMount{dir: t.TempDir(), source: t.TempDir(), guards: make(map[lease.WorktreeID]*gate.Guard)}
	prepare(m.source)
	clock := lease.SystemClock()
	resolver := gate.NewResolver(clock)
	o := Options{
		Source: m.source, Mountpoint: m.dir, Layout: laidOut(name, "tree"),
		Transport: transport.Way(os.Getenv("JVSFS_TEST_TRANSPORT")), // to run the tests on another one
		Guards: func(id lease.WorktreeID) (*gate.Guard, error) {
			if m.guards[id] == nil {
				m.guards[id] = gate.NewGuard(gate.GuardConfig{Worktree: id, Mode: gate.Exclusive,
					OnFree: gate.DenyOnFree, Clock: clock, Resolver: resolver})
				m.guards[id].Bind(&m.keeper)
			}
			return m.guards[id], nil
		},
	}
	for _, f := range change {
		f(&o)
	}
	var err error
	m.Server, err = Open(o)
	require.NoError(t, err)
	m.fs.moveWait, m.fs.moveLock.Wait, m.fs.budget.wait = wait, wait, patience
	if o.Exempt {
		require.NoError(t, m.ShareBorder(m.SourceFD()))
	}
	require.NoError(t, m.Mount())
	settle(t, m.dir)
	t.Cleanup(func() {
		m.unmount(t)
		require.NoError(t, m.Close())
		resolver.Close()
	})
	return m
}

func (m *testMount) unmount(t *testing.T) {
	t.Helper()
	if !m.unmounted {
		unmountedInTime(t, m.Server)
	}
	m.unmounted = true
	m.Wait()
}

// unmountedInTime unmounts. A command of another test that looks at all mounts of the machine keeps one busy for a moment.
func unmountedInTime(t *testing.T, s *Server) {
	t.Helper()
	var err error
	require.Eventually(t, func() bool { err = s.Unmount(); return !errors.Is(err, unix.EBUSY) }, patience, time.Millisecond)
	require.NoError(t, err)
}

// hold opens a guard for everybody.
func (m *testMount) hold(t *testing.T, id lease.WorktreeID, token lease.Token) *gate.Guard {
	t.Helper()
	g, err := m.fs.guard(&layout.Rule{Kind: layout.Guarded, Worktree: id})
	require.NoError(t, err)
	g.Open(lease.Grant{Token: token, Holder: lease.Holder{Scope: string(gate.ScopeMount)},
		Deadline: lease.SystemClock().Boot() + time.Hour})
	return g
}

func (m *testMount) at(name string) string { return filepath.Join(m.dir, name) }

// sh runs a script in dir. The shell goes there by itself: exec.Cmd's Dir is entered
// by the child before it is a program of its own, while this process waits for that
// with its processor in hand, and nobody is left to answer when dir is its own mount.
func sh(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	c := exec.Command("sh", "-c", `cd "$0" && eval "$1"`, dir, script)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestReadsPassAndWritesNeedALease(t *testing.T) {
	m := mounted(t, layout.Tree, func(s string) {
		require.NoError(t, os.WriteFile(filepath.Join(s, "f"), []byte("old"), 0o644))
	})
	out, err := sh(t, m.dir, "cat f; ls")
	require.NoError(t, err)
	require.Equal(t, "oldf\n", out)
	out, err = sh(t, m.dir, "echo new > f")
	require.Error(t, err)
	require.Contains(t, out, "Read-only file system")

	g := m.hold(t, "tree", 1)
	_, err = sh(t, m.dir, "echo new > f && mkdir d && mv f d/g && ln d/g h && ln -s h s && chmod 600 h && truncate -s 2 h")
	require.NoError(t, err)
	out, _ = sh(t, m.source, "cat s; stat -c %a%h d/g")
	require.Equal(t, "ne6002\n", out)
	g.Close(lease.Loss{Kind: lease.LossReleased})
	_, err = sh(t, m.dir, "rm h")
	require.Error(t, err)
}

func TestAStaleHandleStaysStale(t *testing.T) {
	m := mounted(t, layout.Tree, func(string) {})
	g := m.hold(t, "tree", 1)
	f, err := os.Create(m.at("f"))
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("one")
	require.NoError(t, err)
	g.Close(lease.Loss{Kind: lease.LossReleased})
	m.hold(t, "tree", 2)
	_, err = f.WriteString("two")
	require.ErrorIs(t, err, unix.EROFS)
	require.ErrorIs(t, f.Truncate(0), unix.EROFS)
	require.ErrorIs(t, f.Sync(), unix.EROFS)
	require.NoError(t, os.WriteFile(m.at("f"), []byte("fresh handle"), 0o600))
}

// A tree that was filled outside of any worktree comes under the guard by the rename that makes it
// one. Its old descriptors are refused.
func TestARenamedTreeTakesTheRuleOfItsNewPath(t *testing.T) {
	m := mounted(t, layout.JVS, func(s string) {
		for _, d := range []string{".jvs/locks", "main/sub", "worktrees/a"} {
			require.NoError(t, os.MkdirAll(filepath.Join(s, d), 0o755))
		}
	})
	out, err := sh(t, m.dir, "mkdir -p main.new/sub && echo x > main.new/sub/f && echo y > .jvs/state")
	require.NoError(t, err, out)
	old, err := os.OpenFile(m.at("main.new/sub/f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer old.Close()
	out, err = sh(t, m.dir, "mv main main.old")
	require.Error(t, err)
	require.Contains(t, out, "Read-only")

	g := m.hold(t, "main", 1)
	out, err = sh(t, m.dir, "mv main main.old && mv main.new main && echo z > main/sub/g")
	require.NoError(t, err, out)
	_, err = old.WriteString("late")
	require.ErrorIs(t, err, unix.EROFS, "a descriptor from before the rename")
	g.Close(lease.Loss{Kind: lease.LossReleased})
	for _, script := range []string{"echo q > main/sub/f", "mkdir main/x", "rm main/sub/g", "mv main main.again", "rmdir main/sub"} {
		_, err = sh(t, m.dir, script)
		require.Error(t, err, script)
	}
	_, err = sh(t, m.dir, "echo q > main.old/f")
	require.NoError(t, err, "what was moved away is no worktree any more")
}

func TestARenameBetweenWorktreesIsEXDEV(t *testing.T) {
	m := mounted(t, layout.JVS, func(s string) {
		for _, d := range []string{".jvs/locks", "main", "worktrees/a", "worktrees/b"} {
			require.NoError(t, os.MkdirAll(filepath.Join(s, d), 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(s, "main/f"), nil, 0o644))
	})
	m.hold(t, "main", 1)
	m.hold(t, "a", 1)
	require.ErrorIs(t, os.Rename(m.at("main/f"), m.at("worktrees/a/f")), unix.EXDEV)
	require.ErrorIs(t, os.Link(m.at("main/f"), m.at("worktrees/a/f")), unix.EXDEV)
	require.ErrorIs(t, os.Rename(m.at("main/f"), m.at("f")), unix.EXDEV, "out of a worktree")
	require.ErrorIs(t, os.Mkdir(m.at("worktrees/b/x"), 0o755), unix.EROFS)
	require.NoError(t, os.Mkdir(m.at("worktrees/a/x"), 0o755))
	// A worktree's own root moves when both its names are held.
	require.ErrorIs(t, os.Rename(m.at("worktrees/a"), m.at("worktrees/c")), unix.EROFS)
	m.hold(t, "c", 1)
	require.NoError(t, os.Rename(m.at("worktrees/a"), m.at("worktrees/c")))
	require.NoError(t, os.Mkdir(m.at("worktrees/c/y"), 0o755))
}

func TestLockRecordsAreSealed(t *testing.T) {
	m := mounted(t, layout.JVS, func(s string) {
		for _, d := range []string{".jvs/locks", "main", "worktrees"} {
			require.NoError(t, os.MkdirAll(filepath.Join(s, d), 0o755))
		}
		require.NoError(t, os.WriteFile(filepath.Join(s, ".jvs/locks/main.lock"), []byte("{}"), 0o600))
	})
	for _, script := range []string{
		"echo x > .jvs/locks/main.lock", "rm .jvs/locks/main.lock", "touch .jvs/locks/n", "mv .jvs/locks .jvs/l", "mv .jvs j",
		"ln .jvs/locks/main.lock .jvs/steal", "chmod 777 .jvs/locks", "mv worktrees w", "rmdir worktrees", "mkdir 'worktrees/a b'",
	} {
		_, err := sh(t, m.dir, script)
		require.Error(t, err, script)
	}
	out, err := sh(t, m.dir, "cat .jvs/locks/main.lock && echo ok > .jvs/x && cat .jvs/x")
	require.NoError(t, err)
	require.Equal(t, "{}ok\n", out)
}

func TestOneInodeForHardLinksAndHonestDirectories(t *testing.T) {
	m := mounted(t, layout.Tree, func(s string) {
		require.NoError(t, os.WriteFile(filepath.Join(s, "a"), nil, 0o644))
		require.NoError(t, os.Link(filepath.Join(s, "a"), filepath.Join(s, "b")))
		for i := range 3000 {
			require.NoError(t, os.WriteFile(filepath.Join(s, "file-with-a-long-name-"+time.Duration(i).String()), nil, 0o644))
		}
	})
	out, err := sh(t, m.dir, "stat -c %i a b | uniq | wc -l; ls -a | wc -l; find . | wc -l")
	require.NoError(t, err)
	require.Equal(t, "1\n3004\n3003\n", out)
}

// A walk over more files than there are descriptors works, because the kernel is
// asked to forget.
func TestMoreInodesThanDescriptors(t *testing.T) {
	const files, descriptors = 3000, 800
	m := mounted(t, layout.Tree, func(s string) {
		for i := range files {
			require.NoError(t, os.WriteFile(filepath.Join(s, strconv.Itoa(i)), nil, 0o644))
		}
	}, func(o *Options) { o.Descriptors = descriptors })
	out, err := sh(t, m.dir, "ls -l | wc -l")
	require.NoError(t, err)
	require.Equal(t, "3001\n", out)
	require.Eventually(t, func() bool { return m.Stats().Inodes < descriptors }, patience, time.Millisecond)
}

// After an abort every use fails, and the directory below stays covered.
func TestAnAbortedMountFailsClosed(t *testing.T) {
	m := mounted(t, layout.Tree, func(s string) {
		require.NoError(t, os.WriteFile(filepath.Join(s, "f"), nil, 0o644))
	})
	f, err := os.Open(m.at("f"))
	require.NoError(t, err)
	require.NoError(t, m.Abort())
	m.Wait()
	_ = f.Close() // which fails as well
	_, err = os.ReadDir(m.dir)
	require.ErrorIs(t, err, unix.ENOTCONN)
	require.ErrorIs(t, os.WriteFile(m.at("g"), nil, 0o644), unix.ENOTCONN)
	require.NoFileExists(t, filepath.Join(m.source, "g"))
}

// A daemon may want to cut its mount off just when the last user lets it go. By then the kernel may have given the
// number of the connection to somebody else's mount, which goes on.
func TestALateAbortCutsNoOtherMount(t *testing.T) {
	for range 100 {
		former := mounted(t, layout.Tree, func(string) {})
		_, number := former.Device()
		former.unmount(t)
		next := mounted(t, layout.Tree, func(string) {})
		if _, now := next.Device(); now != number { // another test's mount has it
			continue
		}
		require.NoError(t, former.Abort())
		_, err := os.ReadDir(next.dir)
		require.NoError(t, err)
		return
	}
	t.Fatal("no number of a connection was given again")
}

// A late call is not acknowledged, whichever it is.
func TestLateMutationsAreNotAcknowledged(t *testing.T) {
	m := mounted(t, layout.Tree, func(s string) {
		require.NoError(t, os.WriteFile(filepath.Join(s, "f"), nil, 0o644))
	})
	g, err := m.fs.guard(&layout.Rule{Kind: layout.Guarded, Worktree: "tree"})
	require.NoError(t, err)
	var stolen atomic.Bool
	g.Open(lease.Grant{Token: 3, Holder: lease.Holder{Scope: string(gate.ScopeMount)},
		Deadline: lease.SystemClock().Boot() + time.Hour, Late: func() error {
			if stolen.Load() {
				return errors.New("token 4 is there")
			}
			return nil
		}})
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteAt([]byte("ab"), 5)
	require.NoError(t, err)
	stolen.Store(true)
	_, err = f.WriteAt([]byte("cde"), 7)
	require.ErrorIs(t, err, unix.EIO)
	require.ErrorIs(t, os.Mkdir(m.at("d"), 0o755), unix.EIO)
	require.ErrorIs(t, os.WriteFile(m.at("g"), nil, 0o644), unix.EIO)
	require.ErrorIs(t, f.Truncate(1), unix.EIO)
	m.keeper.mu.Lock()
	late := m.keeper.late
	m.keeper.mu.Unlock()
	require.Len(t, late, 4)
	require.Contains(t, late[0].File, "/f")
	late[0].File = ""
	require.Equal(t, lease.LateWrite{Token: 3, Op: "Write", Offset: 7, Length: 3}, late[0])
	require.EqualValues(t, 1, m.Stats().Handles, "a late creation leaves no handle behind")
}

// In mode read-only the whole mount is read-only, even what passes through otherwise.
func TestAReadOnlyModeRefusesEveryWrite(t *testing.T) {
	m := mounted(t, layout.JVS, func(s string) {
		for _, d := range []string{".jvs/locks", "main"} {
			require.NoError(t, os.MkdirAll(filepath.Join(s, d), 0o755))
		}
	}, func(o *Options) { o.Enforcement, o.Errno = gate.NewEnforcement(gate.ReadOnly), unix.EPERM })
	require.ErrorIs(t, os.Mkdir(m.at(".jvs/x"), 0o755), unix.EPERM)
	require.ErrorIs(t, os.Mkdir(m.at("x"), 0o755), unix.EPERM)
}

// Another mount of the repository knows the open files of its processes by their old place. So
// roots stay where they are while there is one.
func TestRootsAreNotRenamedWhileAnotherMountServes(t *testing.T) {
	m := mounted(t, layout.JVS, func(s string) {
		for _, d := range []string{".jvs/locks", "main", "worktrees/a", "x"} {
			require.NoError(t, os.MkdirAll(filepath.Join(s, d), 0o755))
		}
	})
	m.hold(t, "a", 1)
	m.hold(t, "b", 1)
	other, err := Open(Options{Source: m.source, Mountpoint: m.dir, Layout: laidOut(layout.JVS, "")})
	require.NoError(t, err)
	require.ErrorIs(t, os.Rename(m.at("worktrees/a"), m.at("worktrees/b")), unix.EBUSY)
	require.ErrorIs(t, os.Rename(m.at("x"), m.at("worktrees/b")), unix.EBUSY)
	require.NoError(t, os.Mkdir(m.at("worktrees/b"), 0o755))
	require.NoError(t, os.Remove(m.at("worktrees/b")))
	require.NoError(t, os.Rename(m.at("x"), m.at("y")))
	require.NoError(t, other.Close())
	require.NoError(t, os.Rename(m.at("worktrees/a"), m.at("worktrees/b")))
}
