package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// host is a file system whose kernel knows nothing.
type host struct{ told []string }

func (h *host) Rehang(tree.Key, layout.Entry)          {}
func (h *host) Expire(tree.Key, string)                {}
func (h *host) Info(what string, _ ...string)          { h.told = append(h.told, what) }
func (h *host) Warn(what string, _ error, _ ...string) { h.told = append(h.told, what) }

// inode is one that the kernel has met nowhere.
type inode struct {
	tree.Inode
	fd   int
	key  tree.Key
	role layout.Role
}

func (i inode) Key() tree.Key     { return i.key }
func (i inode) IsDir() bool       { return false }
func (i inode) FD() int           { return i.fd }
func (i inode) Role() layout.Role { return i.role }
func (i inode) Above() tree.Inode { return nil }

// newRepository is one with the checkout a, and files as they are given.
func newRepository(t *testing.T, files map[string]string) (*Repository, string) {
	t.Helper()
	source := t.TempDir()
	all := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/worktrees/a/HEAD": "ref: refs/heads/a\n",
		".git/worktrees/a/gitdir": source + "/.worktrees/a/.git\n", ".worktrees/a/.git": "gitdir: " + source + "/.git/worktrees/a\n"}
	for name, text := range files {
		all[name] = text
	}
	for name, text := range all {
		path := filepath.Join(source, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	pin := func(path string) int {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	l, err := layout.New(layout.Git, "main")
	require.NoError(t, err)
	g := New(Options{
		Layout: l, Tree: tree.New(pin(source), pin("/proc/self/fd"), true), Bases: []string{source}, Enforcement: gate.NewEnforcement(gate.Enforcing), MostRules: 8,
		Host: &host{},
	})
	g.Reread()
	t.Cleanup(g.Close)
	return g, source
}

func (g *Repository) checkouts() (roots map[string]lease.WorktreeID) {
	roots = make(map[string]lease.WorktreeID)
	for _, c := range g.Layout().Repository().Linked {
		roots[c.Root] = c.ID
	}
	return roots
}

// What a note alone gives: an empty directory where anybody may make checkouts.
func TestAGitNoteGivesOnlyAnEmptyDirectoryForCheckouts(t *testing.T) {
	g, source := newRepository(t, map[string]string{"src/f": "", ".worktrees/full/f": "", ".worktrees/clone/.git/HEAD": ""})
	require.NoError(t, os.MkdirAll(filepath.Join(source, ".worktrees/new"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(source, ".worktrees/clone/src/empty"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(source, ".worktrees/team/feature/x"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(source, "empty"), 0o755))
	has := map[string]lease.WorktreeID{".worktrees/a": "a"}
	require.Equal(t, has, g.checkouts())
	admin := filepath.Join(source, ".git/worktrees/A") // its note is read before that of a
	require.NoError(t, os.Mkdir(admin, 0o755))
	for _, root := range []string{"src", "empty", ".worktrees/full", ".worktrees/clone/src/empty", ".worktrees/a", ".git", ".git/worktrees/a", ""} {
		require.NoError(t, os.WriteFile(admin+"/gitdir", []byte(source+"/"+root+"/.git"), 0o644))
		g.Reread()
		require.Equal(t, has, g.checkouts(), root)
	}
	require.NoError(t, os.WriteFile(admin+"/gitdir", []byte(source+"/.worktrees/new/.git"), 0o644))
	g.Reread()
	require.Equal(t, map[string]lease.WorktreeID{".worktrees/a": "a", ".worktrees/new": "A"}, g.checkouts())
	require.NoError(t, os.WriteFile(admin+"/gitdir", []byte(source+"/.worktrees/team/feature/x/.git"), 0o644))
	g.Reread()
	require.Equal(t, map[string]lease.WorktreeID{".worktrees/a": "a", ".worktrees/team/feature/x": "A"}, g.checkouts())
}

// A checkout whose directory is gone has no root any more. Its inode is pinned until that is seen.
func TestARemovedCheckoutHasNoRoot(t *testing.T) {
	g, source := newRepository(t, nil)
	require.Len(t, g.now.Load().roots, 1)
	require.NoError(t, os.RemoveAll(filepath.Join(source, ".worktrees/a")))
	g.Reread()
	require.Empty(t, g.now.Load().roots)
}

// A file that cannot be read just now may be the HEAD of somebody.
func TestAHeadThatCannotBeReadJustNowStaysSomebodys(t *testing.T) {
	for err, is := range map[error]bool{unix.EMFILE: true, unix.ENFILE: true, unix.ENOMEM: true, unix.EIO: true, unix.ENOENT: false, unix.ENOTDIR: false, unix.EFBIG: false, unix.ENXIO: false} {
		require.Equal(t, is, passing(err), err)
	}
	require.False(t, passing(nil))
}

// The end of one creator does not remove the lock file of another that has got the inode since.
func TestTheEndOfAMakerRemovesNoLockFileOfAnother(t *testing.T) {
	g, path, k := lockFileOf(t, os.Getpid())
	g.remove(k)
	require.FileExists(t, path)
	stranger := process.Caller{TID: 1}
	require.NotNil(t, g.locks.keeper(k, stranger))
	require.NoError(t, os.Rename(path, path+".elsewhere")) // behind the mount: the inode is another file's
	require.Nil(t, g.locks.keeper(k, stranger))
}

// Nobody tells of a lock file that goes behind the mount.
func TestASweepForgetsOnlyLockFilesThatAreGone(t *testing.T) {
	g, path, k := lockFileOf(t, os.Getpid())
	l := &g.locks
	sweep := func() {
		l.sweepAt = 1
		l.sweep()
	}
	sweep()
	require.Contains(t, l.of, k)
	require.NoError(t, os.Rename(path, path+".elsewhere"))
	l.names.RLock()
	sweep()
	require.Contains(t, l.of, k, "another one is just changing its name")
	l.names.RUnlock()
	sweep()
	require.Empty(t, l.of)
}

// While the mount is read-only nothing changes, not even for a creator that has ended. Its lock file goes
// when the mode is another one.
func TestALockFileOfAnEndedMakerStaysWhileTheMountIsReadOnly(t *testing.T) {
	g, path, k := leftLockFile(t)
	to := func(mode gate.Enforce) {
		require.NoError(t, g.opts.Enforcement.Switch(t.Context(), mode, func() []*gate.Guard { return nil }))
	}
	to(gate.ReadOnly)
	require.True(t, g.remove(k))
	require.FileExists(t, path)
	to(gate.Enforcing)
	require.True(t, g.remove(k))
	require.NoFileExists(t, path)
}

// Nothing waits for a freeze for more than 5 s, a lock file's removal neither. It comes later.
func TestALockFileOfAnEndedMakerIsRemovedAfterAFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, path, k := leftLockFile(t)
		freeze, err := g.opts.Enforcement.Freeze(t.Context(), nil)
		require.NoError(t, err)
		l := &g.locks
		require.False(t, g.remove(k))
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			g.Run(stop)
		}()
		for _, next := range []tree.Key{k, {}} { // the second is taken when the first is done with
			l.ended(next)
			require.Eventually(t, func() bool {
				l.endsMu.Lock()
				defer l.endsMu.Unlock()
				return len(l.ends) == 0
			}, time.Minute, time.Millisecond)
		}
		require.FileExists(t, path)
		freeze.Thaw()
		require.Eventually(t, func() bool { _, err := os.Lstat(path); return os.IsNotExist(err) }, time.Minute, time.Millisecond)
		close(stop)
		<-done
	})
}

// leftLockFile is one whose creator has ended.
func leftLockFile(t *testing.T) (*Repository, string, tree.Key) {
	t.Helper()
	made := exec.Command("sleep", "60")
	require.NoError(t, made.Start())
	g, path, k := lockFileOf(t, made.Process.Pid)
	require.NoError(t, made.Process.Kill())
	require.Error(t, made.Wait())
	return g, path, k
}

// lockFileOf is one that a process has made.
func lockFileOf(t *testing.T, pid int) (*Repository, string, tree.Key) {
	t.Helper()
	g, source := newRepository(t, nil)
	path := filepath.Join(source, "x.lock")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	dir, err := unix.Open(source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	creator, err := process.CreatorOf(process.Caller{TID: uint32(pid)}, nil, func() {})
	require.NoError(t, err)
	g.locks.of[tree.KeyOf(&st)] = &lockFile{dir: dir, name: "x.lock", creator: creator}
	return g, path, tree.KeyOf(&st)
}

// A transaction of git has thousands of lock files at a time. When they are gone, few that went behind the mount make a sweep due again.
func TestASweepIsDueAgainAfterManyLockFiles(t *testing.T) {
	var l lockFiles
	l.init()
	for n := range uint64(1000) {
		l.of[tree.Key{Ino: n}] = &lockFile{}
	}
	l.sweepAt = 2 * len(l.of)
	for n := range uint64(1000) {
		require.NotNil(t, l.forget(tree.Key{Ino: n}))
		require.GreaterOrEqual(t, l.sweepAt, 2*len(l.of), "as many more are made before the next one")
	}
	require.Equal(t, sweepMin, l.sweepAt)
}

// What is not there may be made by another one until the rename replaces it, so that is judged again.
func TestTheTargetOfARenameIsJudgedAgainWhenItAppears(t *testing.T) {
	g, source := newRepository(t, map[string]string{".git/objects/pack/x": ""})
	fd, err := unix.Open(source+"/.git/objects/pack", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	const pack = ".git/objects/pack/"
	looks := func(was, is string, flags uint32) bool {
		r := Rename{Flags: flags, To: inode{fd: fd}, NewName: is}
		_, looked := g.keepReplaced(nil, r, pack+was, pack+is)
		return looked
	}
	require.True(t, looks("odd", "multi-pack-index", 0))
	require.True(t, looks("multi-pack-index.lock", "multi-pack-index", unix.RENAME_EXCHANGE))
	require.False(t, looks("multi-pack-index.lock", "multi-pack-index", 0), "its writer has locked it")
	require.False(t, looks("odd", "pack-1.pack", 0), "its bytes are compared")
	require.False(t, looks("odd", "even", 0))
}

// Where there is no packed-refs, the first one gives no value to a branch that somebody else is about to make. A branch
// with a file of its own has its value there.
func TestTheFirstPackedRefsMakeNobodyElsesBranch(t *testing.T) {
	value := strings.Repeat("1", 40)
	g, _ := newRepository(t, map[string]string{".git/refs/heads/main": value + "\n"})
	first := func(branch string) []*layout.Rule {
		return g.packedRules([]*layout.Rule{layout.Common}, []byte(value+" refs/heads/"+branch+"\n"))
	}
	require.Equal(t, []*layout.Rule{layout.Common}, first("main"))
	require.Equal(t, []*layout.Rule{layout.Common}, first("nobodys"))
	require.Equal(t, []*layout.Rule{layout.Common, layout.LinkedRoot("a").Own}, first("a"))
	require.Equal(t, []*layout.Rule{layout.Common}, g.packedRules([]*layout.Rule{layout.Common}, nil))
}

// judge judges so first, and then otherwise.
type judge struct{ by, again engine.Judgement }

func (j judge) By() engine.Judgement    { return j.by }
func (j judge) Again() engine.Judgement { return j.again }

// What was judged by the content is judged again before it is done.
func TestAJudgementByContentIsRepeatedWhenTheContentChanged(t *testing.T) {
	common := engine.Judgement{Rules: []*layout.Rule{layout.Common}, Content: true}
	fixed := engine.Judgement{Rules: []*layout.Rule{layout.Fixed}, Content: true}
	other := engine.Judgement{Rules: []*layout.Rule{layout.Common}}
	g, _ := newRepository(t, nil)
	for again, want := range map[*engine.Judgement]error{&common: nil, &fixed: engine.ErrAgain, &other: engine.ErrAgain} {
		var h engine.Held
		a, err := engine.Policies{g}.Admit(engine.Mutation{Op: gate.OpUnlink, Names: []engine.Name{{Dir: inode{}, Name: "x"}}, Judge: judge{common, *again}}, &h, func(error) bool { return false })
		require.ErrorIs(t, err, want)
		require.True(t, h.Has(engine.Repository))
		require.False(t, g.change.TryRLock(), "alone")
		a.Drop()
		h.Release()
	}
}
