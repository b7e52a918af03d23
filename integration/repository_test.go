package integration

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func newRepository(t *testing.T, onFree string) *mount {
	t.Helper()
	return newMount(t, mountOptions{repository: true, inPlace: true, onFree: onFree, prepare: withFiles("f")})
}

// put is one whole write attempt that makes the file if need be.
func (m *mount) put(rel ...string) command {
	return command{Op: "writefile", Path: m.At(rel...), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("put")}
}

func (m *mount) move(from, to string) command {
	return command{Op: "rename", Path: m.At(from), To: m.At(to)}
}

// Two worktrees have two leases, and each holder is nobody in the other.
func TestRepositoryTwoHolders(t *testing.T) {
	m := newRepository(t, "deny")
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a, "main")
	m.acquire(b, "worktrees", "a")
	for range 3 {
		a.ok(m.put("main", "x"))
		b.ok(m.put("worktrees", "a", "x"))
		a.fails(m.put("worktrees", "a", "y"), "EROFS")
		b.fails(m.put("main", "y"), "EROFS")
	}
	a.fails(m.put("worktrees", "b", "y"), "EROFS")
	exit, errs := m.tryLock("acquire", b, "main")
	require.Equal(t, exitConflict, exit, errs)
	m.release(b, "worktrees", "a")
	b.fails(m.put("worktrees", "a", "x"), "EROFS")
	a.ok(m.put("main", "x"))
	require.NoFileExists(t, m.Behind("main", "y"))
	require.NoFileExists(t, m.Behind("worktrees", "a", "y"))
}

// Between two guards nothing moves, not even for who holds both.
func TestRepositoryRenameAcrossWorktrees(t *testing.T) {
	m := newRepository(t, "deny")
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a, "main")
	m.acquire(a, "worktrees", "a")
	a.ok(m.put("worktrees", "a", "x"))
	before := m.digest()
	a.fails(m.move("main/f", "worktrees/a/f"), "EXDEV")
	a.fails(command{Op: "rename", Path: m.At("main/f"), To: m.At("worktrees/a/x"), Flags: unix.RENAME_EXCHANGE}, "EXDEV")
	a.fails(command{Op: "link", Path: m.At("main/f"), To: m.At("worktrees/a/f")}, "EXDEV")
	a.fails(command{Op: "link", Path: m.At("worktrees/a/x"), To: m.At("main/x")}, "EXDEV")
	b.fails(m.move("main/f", "worktrees/a/f"), "EXDEV", "EROFS")
	// Out of a guard is also across: the file would be free of any.
	a.fails(m.move("main/f", "f"), "EXDEV")
	a.fails(command{Op: "link", Path: m.At("main/f"), To: m.At("f")}, "EXDEV")
	require.Empty(t, before.diff(m.digest()))
	a.ok(m.move("main/f", "main/g"))
}

// Into a guard is across as well: whoever has the file open from outside would
// go on writing in it, and a second name outside would be a way in for good.
func TestRepositoryMoveIntoAWorktree(t *testing.T) {
	m := newRepository(t, "deny")
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a, "main")
	b.ok(m.put("loose"))
	b.ok(command{Op: "open", Handle: "loose", Path: m.At("loose"), Flags: unix.O_WRONLY})
	b.fails(m.move("loose", "main/loose"), "EXDEV", "EROFS")
	b.fails(command{Op: "link", Path: m.At("loose"), To: m.At("main/loose")}, "EXDEV", "EROFS")
	a.fails(m.move("loose", "main/loose"), "EXDEV")
	a.fails(command{Op: "link", Path: m.At("loose"), To: m.At("main/loose")}, "EXDEV")
	require.NoFileExists(t, m.Behind("main", "loose"))
}

// A file that has names in two worktrees is in both: who holds one of them may
// not change the bytes of the other.
func TestRepositoryHardLinkIntoAnother(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: func(t testing.TB, main string) {
		withFiles("f")(t, main)
		must(t, os.Link(main+"/f", main+"/../worktrees/a/alias"))
		must(t, os.Link(main+"/f", main+"/../loose"))
	}})
	a := startActor(t, "a")
	m.acquire(a, "worktrees", "a")
	for _, alias := range []string{"worktrees/a/alias", "loose"} {
		r := a.do(command{Op: "writefile", Path: m.At(alias), Data: []byte("by another name")})
		assert.Equal(t, "EROFS", r.Errno, alias)
	}
	text, err := os.ReadFile(m.Behind("main", "f"))
	require.NoError(t, err)
	require.Equal(t, string(body()), string(text), "main was changed without its lease")
}

// TestRepositoryRestore is how JVS restores a snapshot: main is filled under
// another name and takes the old one's place by two renames.
func TestRepositoryRestore(t *testing.T) {
	m := newRepository(t, "deny")
	holder, stranger := startActor(t, "holder"), startActor(t, "stranger")
	m.acquire(holder, "main")
	holder.ok(command{Op: "mkdir", Path: m.At("main.new"), Mode: 0o755})
	holder.ok(m.put("main.new", "restored"))
	// A handle from the time when the directory had no guard.
	holder.ok(command{Op: "open", Handle: "old", Path: m.At("main/f"), Flags: unix.O_WRONLY})
	stranger.ok(command{Op: "open", Handle: "early", Path: m.At("main.new/restored"), Flags: unix.O_WRONLY})

	stranger.ok(m.put("main.new", "mapped"))
	stranger.ok(command{Op: "truncate", Path: m.At("main.new/mapped"), Len: 4096})
	stranger.ok(command{Op: "open", Handle: "mapped", Path: m.At("main.new/mapped"), Flags: unix.O_RDWR})
	stranger.ok(command{Op: "mmap", Handle: "mapped", Name: "m", Len: 4096})
	stranger.ok(command{Op: "open", Handle: "dir", Path: m.At("main.new"), Flags: unix.O_RDONLY})
	stranger.ok(command{Op: "open", Handle: "main", Path: m.At("main"), Flags: unix.O_RDONLY})

	before := m.digest()
	stranger.fails(m.move("main", "main.stolen"), "EROFS")
	stranger.fails(m.move("main.new", "main"), "EROFS")
	stranger.fails(command{Op: "rename", Path: m.At("main.new"), To: m.At("main"), Flags: unix.RENAME_EXCHANGE}, "EROFS")
	require.Empty(t, before.diff(m.digest()))

	holder.ok(m.move("main", "main.restore-backup-x"))
	stranger.fails(m.move("main.new", "main"), "EROFS")
	holder.ok(m.move("main.new", "main"))
	require.FileExists(t, m.Behind("main", "restored"))
	require.FileExists(t, m.Behind("main.restore-backup-x", "f"))

	after := m.digest()
	stranger.fails(m.put("main", "restored"), "EROFS")
	stranger.fails(m.put("main", "new"), "EROFS")
	stranger.fails(command{Op: "unlink", Path: m.At("main/restored")}, "EROFS")
	stranger.fails(command{Op: "write", Handle: "early", Data: []byte("late")}, "EROFS")
	stranger.fails(command{Op: "mkdirat", Handle: "dir", Path: "d", Mode: 0o755}, "EROFS")
	stranger.ok(command{Op: "store", Name: "m", Data: []byte("STORED")})
	stranger.fails(command{Op: "msync", Name: "m"}, "EROFS")
	require.Empty(t, after.diff(m.digest()), "the new main is guarded")
	holder.ok(m.put("main", "new"))
	holder.ok(m.put("main", "restored"))
	m.release(holder, "main")
	holder.fails(m.put("main", "new"), "EROFS")
}

// With nobody holding, nobody may take main away or put one in its place.
func TestRepositoryRootOfAFreeWorktree(t *testing.T) {
	m := newRepository(t, "deny")
	a := startActor(t, "a")
	a.ok(command{Op: "mkdir", Path: m.At("main.new"), Mode: 0o755})
	before := m.digest()
	a.fails(m.move("main", "elsewhere"), "EROFS")
	a.fails(m.move("worktrees/a", "worktrees/c"), "EROFS", "EXDEV")
	a.fails(command{Op: "rmdir", Path: m.At("worktrees/b")}, "EROFS")
	a.fails(command{Op: "chmod", Path: m.At("main"), Mode: 0o700}, "EROFS")
	a.fails(command{Op: "rename", Path: m.At("main.new"), To: m.At("worktrees/b")}, "EROFS", "EXDEV")
	// With the directory above, its worktrees would lose their names.
	a.fails(m.move("worktrees", "elsewhere"), "EROFS", "EXDEV", "EPERM", "EBUSY")
	require.Empty(t, before.diff(m.digest()))
}

// A worktree that comes to be while mounted is guarded from its first moment.
func TestRepositoryNewWorktree(t *testing.T) {
	m := newRepository(t, "acquire")
	a, b := startActor(t, "a"), startActor(t, "b")
	a.ok(command{Op: "mkdir", Path: m.At("worktrees/c"), Mode: 0o755})
	a.ok(m.put("worktrees", "c", "x"))
	b.fails(m.put("worktrees", "c", "x"), "EROFS")
	b.fails(m.put("worktrees", "c", "y"), "EROFS")
	b.ok(m.put("worktrees", "b", "x"))
	a.fails(m.put("worktrees", "b", "x"), "EROFS")
	require.NoFileExists(t, m.Behind("worktrees", "c", "y"))
}

// The same with deny: having been made, it is closed to its maker as well.
func TestRepositoryNewWorktreeWithDeny(t *testing.T) {
	m := newRepository(t, "deny")
	a := startActor(t, "a")
	if r := a.do(command{Op: "mkdir", Path: m.At("worktrees/c"), Mode: 0o755}); r.Errno != "" {
		require.Equal(t, "EROFS", r.Errno)
		require.NoError(t, os.Mkdir(m.Behind("worktrees", "d"), 0o755))
		a.fails(m.put("worktrees", "d", "x"), "EROFS")
		return
	}
	a.fails(m.put("worktrees", "c", "x"), "EROFS")
	m.acquire(a, "worktrees", "c")
	a.ok(m.put("worktrees", "c", "x"))
}

// Nobody changes the leases through the mount, the holder neither; the rest
// of .jvs is for every tool, with and without a lease.
func TestRepositoryLockDirectory(t *testing.T) {
	m := newRepository(t, "deny")
	holder, stranger := startActor(t, "holder"), startActor(t, "stranger")
	m.acquire(holder, "main")
	before := namesOf(t, m.LockDir)
	require.NotEmpty(t, before)
	for _, a := range []*actor{holder, stranger} {
		a.ok(m.put(".jvs", "notes-"+a.name))
		a.ok(command{Op: "mkdir", Path: m.At(".jvs/snapshots-" + a.name), Mode: 0o755})
		a.ok(m.put(".jvs", "snapshots-"+a.name, "x"))
		a.ok(m.move(".jvs/notes-"+a.name, ".jvs/moved-"+a.name))
		for _, c := range attacksOnLocks(m, before) {
			r := a.do(c)
			assert.Contains(t, refusalsOfLocks(c.Op), r.Errno, "%s: %s %s", a.name, c.Op, c.Path)
		}
		require.Equal(t, before, namesOf(t, m.LockDir))
	}
	holder.ok(m.put("main", "x"))
	stranger.fails(m.put("main", "x"), "EROFS")
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

func attacksOnLocks(m *mount, names []string) []command {
	attacks := []command{
		m.put(".jvs", "locks", "main.lock.new"),
		m.put(".jvs", "locks", "main.claim.99999999999999999999"),
		{Op: "mkdir", Path: m.At(".jvs/locks/d"), Mode: 0o755},
		{Op: "symlink", Path: m.At(".jvs/locks/s"), To: "x"},
		{Op: "mknod", Path: m.At(".jvs/locks/p"), Mode: unix.S_IFIFO | 0o644},
		{Op: "tmpfile", Path: m.At(".jvs/locks"), To: m.At(".jvs/locks/t"), Mode: 0o644},
		{Op: "link", Path: m.At(".jvs/format_version"), To: m.At(".jvs/locks/l")},
		{Op: "rename", Path: m.At(".jvs/format_version"), To: m.At(".jvs/locks/r")},
		{Op: "chmod", Path: m.At(".jvs/locks"), Mode: 0o777},
		{Op: "chown", Path: m.At(".jvs/locks"), UID: 1000, GID: 1000},
		{Op: "utimes", Path: m.At(".jvs/locks")},
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
			command{Op: "unlink", Path: file},
			command{Op: "truncate", Path: file},
			command{Op: "writefile", Path: file, Data: []byte("forged")},
			command{Op: "rename", Path: file, To: m.At(".jvs/taken")},
			command{Op: "link", Path: file, To: m.At(".jvs/taken")},
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
