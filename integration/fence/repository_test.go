package fence

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func newRepository(t *testing.T, onFree string) *harness.Mount {
	t.Helper()
	return harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: onFree, Prepare: harness.WithFiles("f")})
}

// Two worktrees have two leases, and each holder is nobody in the other.
func TestTheHolderOfOneWorktreeIsRefusedInAnother(t *testing.T) {
	m := newRepository(t, "deny")
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a, "main")
	m.Acquire(b, "worktrees", "a")
	for range 3 {
		a.OK(m.Put("main", "x"))
		b.OK(m.Put("worktrees", "a", "x"))
		a.Fails(m.Put("worktrees", "a", "y"), "EROFS")
		b.Fails(m.Put("main", "y"), "EROFS")
	}
	a.Fails(m.Put("worktrees", "b", "y"), "EROFS")
	exit, errs := m.TryLock("acquire", b, "main")
	require.Equal(t, harness.ExitConflict, exit, errs)
	m.Release(b, "worktrees", "a")
	b.Fails(m.Put("worktrees", "a", "x"), "EROFS")
	a.OK(m.Put("main", "x"))
	require.NoFileExists(t, m.Behind("main", "y"))
	require.NoFileExists(t, m.Behind("worktrees", "a", "y"))
}

// Between two guards nothing moves, not even for who holds both.
func TestARenameAcrossWorktreesIsRefused(t *testing.T) {
	m := newRepository(t, "deny")
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a, "main")
	m.Acquire(a, "worktrees", "a")
	a.OK(m.Put("worktrees", "a", "x"))
	before := m.Digest()
	a.Fails(m.Move("main/f", "worktrees/a/f"), "EXDEV")
	a.Fails(harness.Command{Op: "rename", Path: m.At("main/f"), To: m.At("worktrees/a/x"), Flags: unix.RENAME_EXCHANGE}, "EXDEV")
	a.Fails(harness.Command{Op: "link", Path: m.At("main/f"), To: m.At("worktrees/a/f")}, "EXDEV")
	a.Fails(harness.Command{Op: "link", Path: m.At("worktrees/a/x"), To: m.At("main/x")}, "EXDEV")
	b.Fails(m.Move("main/f", "worktrees/a/f"), "EXDEV", "EROFS")
	// Out of a guard is also across: the file would be free of any.
	a.Fails(m.Move("main/f", "f"), "EXDEV")
	a.Fails(harness.Command{Op: "link", Path: m.At("main/f"), To: m.At("f")}, "EXDEV")
	require.Empty(t, before.Diff(m.Digest()))
	a.OK(m.Move("main/f", "main/g"))
}

// A move into a worktree is a crossing, too: a process that has the file open from outside would continue to
// write to it, and a second name outside would be a way in for good.
func TestAMoveFromOutsideIntoAWorktreeIsRefused(t *testing.T) {
	m := newRepository(t, "deny")
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a, "main")
	b.OK(m.Put("loose"))
	b.OK(harness.Command{Op: "open", Handle: "loose", Path: m.At("loose"), Flags: unix.O_WRONLY})
	b.Fails(m.Move("loose", "main/loose"), "EXDEV", "EROFS")
	b.Fails(harness.Command{Op: "link", Path: m.At("loose"), To: m.At("main/loose")}, "EXDEV", "EROFS")
	a.Fails(m.Move("loose", "main/loose"), "EXDEV")
	a.Fails(harness.Command{Op: "link", Path: m.At("loose"), To: m.At("main/loose")}, "EXDEV")
	require.NoFileExists(t, m.Behind("main", "loose"))
}

// A file that has names in two worktrees is in both: who holds one of them may
// not change the bytes of the other.
func TestAFileWithNamesInTwoWorktreesIsRefusedToEachHolder(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: func(t testing.TB, main string) {
		harness.WithFiles("f")(t, main)
		harness.Must(t, os.Link(main+"/f", main+"/../worktrees/a/alias"))
		harness.Must(t, os.Link(main+"/f", main+"/../loose"))
	}})
	a := harness.StartActor(t, "a")
	m.Acquire(a, "worktrees", "a")
	for _, alias := range []string{"worktrees/a/alias", "loose"} {
		r := a.Do(harness.Command{Op: "writefile", Path: m.At(alias), Data: []byte("by another name")})
		assert.Equal(t, "EROFS", r.Errno, alias)
	}
	text, err := os.ReadFile(m.Behind("main", "f"))
	require.NoError(t, err)
	require.Equal(t, string(harness.Body()), string(text), "main was changed without its lease")
}

// TestARestoreByTwoRenamesKeepsMainGuarded is how JVS restores a snapshot: main is filled under
// another name and takes the old one's place by two renames.
func TestARestoreByTwoRenamesKeepsMainGuarded(t *testing.T) {
	m := newRepository(t, "deny")
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	m.Acquire(holder, "main")
	holder.OK(harness.Command{Op: "mkdir", Path: m.At("main.new"), Mode: 0o755})
	holder.OK(m.Put("main.new", "restored"))
	// A handle from the time when the directory had no guard.
	holder.OK(harness.Command{Op: "open", Handle: "old", Path: m.At("main/f"), Flags: unix.O_WRONLY})
	stranger.OK(harness.Command{Op: "open", Handle: "early", Path: m.At("main.new/restored"), Flags: unix.O_WRONLY})

	stranger.OK(m.Put("main.new", "mapped"))
	stranger.OK(harness.Command{Op: "truncate", Path: m.At("main.new/mapped"), Len: 4096})
	stranger.OK(harness.Command{Op: "open", Handle: "mapped", Path: m.At("main.new/mapped"), Flags: unix.O_RDWR})
	stranger.OK(harness.Command{Op: "mmap", Handle: "mapped", Name: "m", Len: 4096})
	stranger.OK(harness.Command{Op: "open", Handle: "dir", Path: m.At("main.new"), Flags: unix.O_RDONLY})
	stranger.OK(harness.Command{Op: "open", Handle: "main", Path: m.At("main"), Flags: unix.O_RDONLY})

	before := m.Digest()
	stranger.Fails(m.Move("main", "main.stolen"), "EROFS")
	stranger.Fails(m.Move("main.new", "main"), "EROFS")
	stranger.Fails(harness.Command{Op: "rename", Path: m.At("main.new"), To: m.At("main"), Flags: unix.RENAME_EXCHANGE}, "EROFS")
	require.Empty(t, before.Diff(m.Digest()))

	holder.OK(m.Move("main", "main.restore-backup-x"))
	stranger.Fails(m.Move("main.new", "main"), "EROFS")
	holder.OK(m.Move("main.new", "main"))
	require.FileExists(t, m.Behind("main", "restored"))
	require.FileExists(t, m.Behind("main.restore-backup-x", "f"))

	after := m.Digest()
	stranger.Fails(m.Put("main", "restored"), "EROFS")
	stranger.Fails(m.Put("main", "new"), "EROFS")
	stranger.Fails(harness.Command{Op: "unlink", Path: m.At("main/restored")}, "EROFS")
	stranger.Fails(harness.Command{Op: "write", Handle: "early", Data: []byte("late")}, "EROFS")
	stranger.Fails(harness.Command{Op: "mkdirat", Handle: "dir", Path: "d", Mode: 0o755}, "EROFS")
	stranger.OK(harness.Command{Op: "store", Name: "m", Data: []byte("STORED")})
	stranger.Fails(harness.Command{Op: "msync", Name: "m"}, "EROFS")
	require.Empty(t, after.Diff(m.Digest()), "the new main is guarded")
	holder.OK(m.Put("main", "new"))
	holder.OK(m.Put("main", "restored"))
	m.Release(holder, "main")
	holder.Fails(m.Put("main", "new"), "EROFS")
}

// While nobody holds the lease, nobody may remove or replace main.
func TestTheRootOfAFreeWorktreeCannotBeRemovedOrReplaced(t *testing.T) {
	m := newRepository(t, "deny")
	a := harness.StartActor(t, "a")
	a.OK(harness.Command{Op: "mkdir", Path: m.At("main.new"), Mode: 0o755})
	before := m.Digest()
	a.Fails(m.Move("main", "elsewhere"), "EROFS")
	a.Fails(m.Move("worktrees/a", "worktrees/c"), "EROFS", "EXDEV")
	a.Fails(harness.Command{Op: "rmdir", Path: m.At("worktrees/b")}, "EROFS")
	a.Fails(harness.Command{Op: "chmod", Path: m.At("main"), Mode: 0o700}, "EROFS")
	a.Fails(harness.Command{Op: "rename", Path: m.At("main.new"), To: m.At("worktrees/b")}, "EROFS", "EXDEV")
	// With the directory above, its worktrees would lose their names.
	a.Fails(m.Move("worktrees", "elsewhere"), "EROFS", "EXDEV", "EPERM", "EBUSY")
	require.Empty(t, before.Diff(m.Digest()))
}

// A worktree that comes to be while mounted is guarded from its first moment.
func TestANewWorktreeIsGuardedFromItsFirstMoment(t *testing.T) {
	m := newRepository(t, "acquire")
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	a.OK(harness.Command{Op: "mkdir", Path: m.At("worktrees/c"), Mode: 0o755})
	a.OK(m.Put("worktrees", "c", "x"))
	b.Fails(m.Put("worktrees", "c", "x"), "EROFS")
	b.Fails(m.Put("worktrees", "c", "y"), "EROFS")
	b.OK(m.Put("worktrees", "b", "x"))
	a.Fails(m.Put("worktrees", "b", "x"), "EROFS")
	require.NoFileExists(t, m.Behind("worktrees", "c", "y"))
}

// The same with deny: having been made, it is closed to its maker as well.
func TestANewWorktreeIsClosedToItsMakerWithDeny(t *testing.T) {
	m := newRepository(t, "deny")
	a := harness.StartActor(t, "a")
	if r := a.Do(harness.Command{Op: "mkdir", Path: m.At("worktrees/c"), Mode: 0o755}); r.Errno != "" {
		require.Equal(t, "EROFS", r.Errno)
		require.NoError(t, os.Mkdir(m.Behind("worktrees", "d"), 0o755))
		a.Fails(m.Put("worktrees", "d", "x"), "EROFS")
		return
	}
	a.Fails(m.Put("worktrees", "c", "x"), "EROFS")
	m.Acquire(a, "worktrees", "c")
	a.OK(m.Put("worktrees", "c", "x"))
}

// Nobody changes the leases through the mount, the holder neither; the rest
// of .jvs is for every tool, with and without a lease.
func TestNobodyChangesLeaseRecordsThroughTheMount(t *testing.T) {
	m := newRepository(t, "deny")
	holder, stranger := harness.StartActor(t, "holder"), harness.StartActor(t, "stranger")
	m.Acquire(holder, "main")
	before := namesOf(t, m.LockDir)
	require.NotEmpty(t, before)
	for _, a := range []*harness.Actor{holder, stranger} {
		a.OK(m.Put(".jvs", "notes-"+a.Name))
		a.OK(harness.Command{Op: "mkdir", Path: m.At(".jvs/snapshots-" + a.Name), Mode: 0o755})
		a.OK(m.Put(".jvs", "snapshots-"+a.Name, "x"))
		a.OK(m.Move(".jvs/notes-"+a.Name, ".jvs/moved-"+a.Name))
		for _, c := range attacksOnLocks(m, before) {
			r := a.Do(c)
			assert.Contains(t, refusalsOfLocks(c.Op), r.Errno, "%s: %s %s", a.Name, c.Op, c.Path)
		}
		require.Equal(t, before, namesOf(t, m.LockDir))
	}
	holder.OK(m.Put("main", "x"))
	stranger.Fails(m.Put("main", "x"), "EROFS")
}

// refusalsOfLocks are the errnos that say no to an attack. Renames and links
// may also be told that they cross from one rule to another, and ENOTEMPTY is
// what a plain file system says first of a directory.
func refusalsOfLocks(op string) []string {
	refusals := []string{"EROFS", "EPERM", "EACCES", "EBUSY"}
	switch op {
	case "rename", "link":
		return append(refusals, "EXDEV")
	case "rmdir":
		return append(refusals, "ENOTEMPTY")
	}
	return refusals
}

func attacksOnLocks(m *harness.Mount, names []string) []harness.Command {
	attacks := []harness.Command{
		m.Put(".jvs", "locks", "main.lock.new"),
		m.Put(".jvs", "locks", "main.claim.99999999999999999999"),
		{Op: "mkdir", Path: m.At(".jvs/locks/d"), Mode: 0o755},
		{Op: "symlink", Path: m.At(".jvs/locks/s"), To: "x"},
		{Op: "mknod", Path: m.At(".jvs/locks/p"), Mode: unix.S_IFIFO | 0o644},
		{Op: "tmpfile", Path: m.At(".jvs/locks"), To: m.At(".jvs/locks/t"), Mode: 0o644},
		{Op: "link", Path: m.At(".jvs/format_version"), To: m.At(".jvs/locks/l")},
		{Op: "rename", Path: m.At(".jvs/format_version"), To: m.At(".jvs/locks/r")},
		{Op: "chmod", Path: m.At(".jvs/locks"), Mode: 0o777},
		{Op: "chown", Path: m.At(".jvs/locks"), UID: 1000, GID: 1000},
		{Op: "utimens", Path: m.At(".jvs/locks")},
		{Op: "setxattr", Path: m.At(".jvs/locks"), Name: "user.x", Data: []byte("x")},
		{Op: "rmdir", Path: m.At(".jvs/locks")},
		{Op: "rename", Path: m.At(".jvs/locks"), To: m.At(".jvs/gone")},
		{Op: "rename", Path: m.At(".jvs/locks"), To: m.At("main"), Flags: unix.RENAME_EXCHANGE},
		{Op: "rename", Path: m.At(".jvs"), To: m.At("jvs.gone")},
		{Op: "rename", Path: m.At(".jvs"), To: m.At("main"), Flags: unix.RENAME_EXCHANGE},
		{Op: "rmdir", Path: m.At(".jvs")},
	}
	for _, name := range names {
		file := m.At(".jvs/locks", name)
		attacks = append(attacks,
			harness.Command{Op: "unlink", Path: file},
			harness.Command{Op: "truncate", Path: file},
			harness.Command{Op: "writefile", Path: file, Data: []byte("forged")},
			harness.Command{Op: "rename", Path: file, To: m.At(".jvs/taken")},
			harness.Command{Op: "link", Path: file, To: m.At(".jvs/taken")},
		)
	}
	return attacks
}

func namesOf(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
