package fusefs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// gitFS is a file system over a repository with the checkout a, and files as they are given.
func gitFS(t *testing.T, files map[string]string) (*rawFS, string) {
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
	root, err := unix.Open(source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	f, err := newRawFS(Options{Source: source, Mountpoint: source, Layout: laidOut(layout.Git, "main"), Enforcement: gate.NewEnforcement(gate.Enforcing), Log: zap.NewNop()}, root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.close()) })
	return f, source
}

func (f *rawFS) checkouts() (roots map[string]lease.WorktreeID) {
	roots = make(map[string]lease.WorktreeID)
	for _, c := range f.layout().Repository().Linked {
		roots[c.Root] = c.ID
	}
	return roots
}

// What a note alone gives: an empty directory where anybody may make checkouts.
func TestAGitNoteGivesOnlyAnEmptyDirectoryForCheckouts(t *testing.T) {
	f, source := gitFS(t, map[string]string{"src/f": "", ".worktrees/full/f": "", ".worktrees/clone/.git/HEAD": ""})
	require.NoError(t, os.MkdirAll(filepath.Join(source, ".worktrees/new"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(source, ".worktrees/clone/src/empty"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(source, ".worktrees/team/feature/x"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(source, "empty"), 0o755))
	has := map[string]lease.WorktreeID{".worktrees/a": "a"}
	require.Equal(t, has, f.checkouts())
	admin := filepath.Join(source, ".git/worktrees/A") // its note is read before that of a
	require.NoError(t, os.Mkdir(admin, 0o755))
	for _, root := range []string{"src", "empty", ".worktrees/full", ".worktrees/clone/src/empty", ".worktrees/a", ".git", ".git/worktrees/a", ""} {
		require.NoError(t, os.WriteFile(admin+"/gitdir", []byte(source+"/"+root+"/.git"), 0o644))
		f.reread(consent{})
		require.Equal(t, has, f.checkouts(), root)
	}
	require.NoError(t, os.WriteFile(admin+"/gitdir", []byte(source+"/.worktrees/new/.git"), 0o644))
	f.reread(consent{})
	require.Equal(t, map[string]lease.WorktreeID{".worktrees/a": "a", ".worktrees/new": "A"}, f.checkouts())
	require.NoError(t, os.WriteFile(admin+"/gitdir", []byte(source+"/.worktrees/team/feature/x/.git"), 0o644))
	f.reread(consent{})
	require.Equal(t, map[string]lease.WorktreeID{".worktrees/a": "a", ".worktrees/team/feature/x": "A"}, f.checkouts())
}

// A checkout whose directory is gone has no root any more. Its inode is pinned until that is seen.
func TestARemovedCheckoutHasNoRoot(t *testing.T) {
	f, source := gitFS(t, nil)
	require.Len(t, f.git.now.Load().roots, 1)
	require.NoError(t, os.RemoveAll(filepath.Join(source, ".worktrees/a")))
	f.reread(consent{})
	require.Empty(t, f.git.now.Load().roots)
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
	f, path, k := lockFileOf(t, os.Getpid())
	f.git.locks.remove(f, k)
	require.FileExists(t, path)
	stranger := process.Caller{TID: 1}
	require.NotNil(t, f.git.locks.keeper(k, stranger))
	require.NoError(t, os.Rename(path, path+".elsewhere")) // behind the mount: the inode is another file's
	require.Nil(t, f.git.locks.keeper(k, stranger))
}

// Nobody tells of a lock file that goes behind the mount.
func TestASweepForgetsOnlyLockFilesThatAreGone(t *testing.T) {
	f, path, k := lockFileOf(t, os.Getpid())
	l := &f.git.locks
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
	f, path, k := leftLockFile(t)
	to := func(mode gate.Enforce) {
		require.NoError(t, f.opts.Enforcement.Switch(t.Context(), mode, func() []*gate.Guard { return nil }))
	}
	to(gate.ReadOnly)
	require.True(t, f.git.locks.remove(f, k))
	require.FileExists(t, path)
	to(gate.Enforcing)
	require.True(t, f.git.locks.remove(f, k))
	require.NoFileExists(t, path)
}

// Nothing waits for a freeze for more than 5 s, a lock file's removal neither. It comes later.
func TestALockFileOfAnEndedMakerIsRemovedAfterAFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, path, k := leftLockFile(t)
		freeze, err := f.opts.Enforcement.Freeze(t.Context(), nil)
		require.NoError(t, err)
		l := &f.git.locks
		require.False(t, l.remove(f, k))
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			l.run(f, stop)
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
		require.Eventually(t, func() bool { _, err := os.Lstat(path); return os.IsNotExist(err) }, patience, time.Millisecond)
		close(stop)
		<-done
	})
}

// leftLockFile is one whose creator has ended.
func leftLockFile(t *testing.T) (*rawFS, string, tree.Key) {
	t.Helper()
	made := exec.Command("sleep", "60")
	require.NoError(t, made.Start())
	f, path, k := lockFileOf(t, made.Process.Pid)
	require.NoError(t, made.Process.Kill())
	require.Error(t, made.Wait())
	return f, path, k
}

// lockFileOf is one that a process has made.
func lockFileOf(t *testing.T, pid int) (*rawFS, string, tree.Key) {
	t.Helper()
	f, source := gitFS(t, nil)
	path := filepath.Join(source, "x.lock")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	var st unix.Stat_t
	require.NoError(t, unix.Stat(path, &st))
	dir, err := unix.Open(source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	creator, err := process.CreatorOf(process.Caller{TID: uint32(pid)}, nil, func() {})
	require.NoError(t, err)
	f.git.locks.of[tree.KeyOf(&st)] = &lockFile{dir: dir, name: "x.lock", creator: creator}
	return f, path, tree.KeyOf(&st)
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

// What was judged by the content is judged again before it is done.
func TestAJudgementByContentIsRepeatedWhenTheContentChanged(t *testing.T) {
	by := judgement{rules: []*layout.Rule{layout.Common}, content: true}
	again := func(r *layout.Rule) func() judgement {
		return func() judgement { return judgement{[]*layout.Rule{r}, true} }
	}
	require.True(t, by.still(again(layout.Common)))
	require.False(t, by.still(again(layout.Fixed)))
}

// What is not there may be made by another one until the rename replaces it, so that is judged again.
func TestTheTargetOfARenameIsJudgedAgainWhenItAppears(t *testing.T) {
	f, source := gitFS(t, map[string]string{".git/objects/pack/x": ""})
	fd, err := unix.Open(source+"/.git/objects/pack", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	const pack = ".git/objects/pack/"
	looks := func(was, is string, flags uint32) bool {
		r := renaming{in: &fuse.RenameIn{Flags: flags}, to: &node{fd: fd}, newName: is}
		_, looked := f.keepReplaced(nil, r, pack+was, pack+is)
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
	f, _ := gitFS(t, map[string]string{".git/refs/heads/main": value + "\n"})
	first := func(branch string) []*layout.Rule {
		return f.packedRules([]*layout.Rule{layout.Common}, []byte(value+" refs/heads/"+branch+"\n"))
	}
	require.Equal(t, []*layout.Rule{layout.Common}, first("main"))
	require.Equal(t, []*layout.Rule{layout.Common}, first("nobodys"))
	require.Equal(t, []*layout.Rule{layout.Common, layout.LinkedRoot("a").Own}, first("a"))
	require.Equal(t, []*layout.Rule{layout.Common}, f.packedRules([]*layout.Rule{layout.Common}, nil))
}

// What somebody makes at a new name after nobody had to be asked for it is not replaced.
func TestAFreeNameIsTakenOnlyWhileItIsFree(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	at := &node{fd: fd}
	for _, name := range []string{"checkout", "theirs"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	move := func(to string, free bool) error {
		return renaming{in: &fuse.RenameIn{}, from: at, to: at, oldName: "checkout", newName: to, free: free}.rename()
	}
	require.ErrorIs(t, move("theirs", true), unix.EEXIST)
	require.DirExists(t, filepath.Join(dir, "checkout"))
	require.NoError(t, move("moved", true))
	require.NoError(t, os.Rename(filepath.Join(dir, "moved"), filepath.Join(dir, "checkout")))
	require.NoError(t, move("theirs", false), "where the rule of the new name was asked")
}
