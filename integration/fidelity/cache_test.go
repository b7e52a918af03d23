package fidelity

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// With a timeout of nothing each look asks the daemon, until this mount's holder is
// the only writer; and again when it is not any more.
func TestTheKernelCachesForLongOnlyWhileThisMountHolds(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("0s"))
	a := harness.StartActor(t, "a")
	for range 2 {
		require.GreaterOrEqual(t, m.Lookups(m.At("f"), harness.Looks), uint64(harness.Looks), "free")
		require.GreaterOrEqual(t, m.Lookups(m.At("absent"), harness.Looks), uint64(harness.Looks), "absent, free")
		m.Acquire(a)
		require.LessOrEqual(t, m.Lookups(m.At("f"), harness.Looks), uint64(1), "held")
		require.LessOrEqual(t, m.Lookups(m.At("absent"), harness.Looks), uint64(1), "absent, held")
		a.OK(m.Put("absent"))
		a.OK(harness.Command{Op: "readfile", Path: m.At("absent")}) // its own change is seen
		a.OK(m.Move("absent", "moved"))
		_, err := os.Lstat(m.At("absent"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		a.OK(harness.Command{Op: "unlink", Path: m.At("moved")})
		m.Release(a)
		harness.Eventually(t, "looks ask again", func() bool { return m.Lookups(m.At("f"), harness.Looks) >= harness.Looks })
		harness.Eventually(t, "looks for what is absent ask again", func() bool { return m.Lookups(m.At("absent"), harness.Looks) >= harness.Looks })
	}
}

// Of a file with several names one is believed for long, whichever is renamed.
func TestOnlyOneNameOfAHardLinkedFileIsCachedForLong(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("0s"))
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	require.LessOrEqual(t, m.Lookups(m.At("g"), harness.Looks), uint64(1))
	a.OK(harness.Command{Op: "link", Path: m.At("g"), To: m.At("other")})
	m.Lookups(m.At("other"), harness.Looks)
	a.OK(m.Move("other", "renamed"))
	m.Lookups(m.At("renamed"), harness.Looks)
	m.Release(a)
	for _, name := range []string{"g", "renamed"} {
		harness.Eventually(t, "looks ask again", func() bool { return m.Lookups(m.At(name), harness.Looks) >= harness.Looks })
	}
}

// A worktree that somebody holds says nothing about the one beside it.
func TestOnlyTheHeldWorktreeIsCachedForLong(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f"), Extra: []string{"--cache-timeout", "0s"}})
	a := harness.StartActor(t, "a")
	m.Acquire(a, "worktrees", "a")
	a.OK(m.Put("worktrees", "a", "f"))
	held := m.Lookups(m.At("worktrees", "a", "f"), harness.Looks) // the worktree's own name is not below its root
	require.LessOrEqual(t, held, uint64(2*harness.Looks+1))
	require.GreaterOrEqual(t, m.Lookups(m.At("main", "f"), harness.Looks), uint64(2*harness.Looks))
}

// Entries that a mount cached while it had the only writer are dropped when another mount has it.
func TestCachedEntriesAreDroppedWhenTheLeaseGoesToAnotherMount(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("100ms"))
	n := m.Second()
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	m.Acquire(a)
	a.OK(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	a.OK(m.Put("d", "old"))
	seen(m, "g")
	a.OK(m.Move("g", "d/moved"))
	// Names, absence, attributes and pages are cached now.
	look := func() string { return seen(m, "d/old") + seen(m, "d/new") + seen(m, "d/moved") + seen(m, "f") }
	warm := look()
	require.Equal(t, warm, look())
	m.Release(a)
	n.Acquire(b)
	b.OK(n.Move("d/old", "d/new"))
	b.OK(harness.Command{Op: "unlink", Path: n.At("d/moved")})
	b.OK(harness.Command{Op: "chmod", Path: n.At("f"), Mode: 0o600})
	b.OK(harness.Command{Op: "writefile", Path: n.At("f"), Data: []byte("b")})
	harness.EventuallyNoted(t, "the first mount shows what the second did", func() (bool, string) {
		got, want := "", ""
		for _, rel := range []string{"d/old", "d/new", "d/moved", "f"} {
			got, want = got+seen(m, rel), want+seen(n, rel)
		}
		return got == want, got
	})
	require.Equal(t, names(t, n.At("d")), names(t, m.At("d")))
	n.Release(b)
}

func seen(m *harness.Mount, rel string) string {
	st, err := os.Lstat(m.At(rel))
	if err != nil {
		return fmt.Sprintln(rel, "absent")
	}
	text, _ := os.ReadFile(m.At(rel))
	return fmt.Sprintln(rel, st.Mode(), st.Size(), st.ModTime().UnixNano(), string(text))
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// Changes behind the mount on this machine are seen at once, long before the cache times out.
func TestChangesBehindTheMountAreSeenAtOnce(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("1h", "--cache", "shared"))
	// A directory is watched from a moment after it was first looked into.
	behind := func(what string, change func() error, shows func() bool) {
		t.Helper()
		require.False(t, shows(), "before: %s", what)
		require.NoError(t, change())
		harness.Eventually(t, what, shows)
	}
	require.Equal(t, []string{"f", "g"}, names(t, m.At()))
	touched := 0
	harness.Eventually(t, "the directory is watched", func() bool {
		touched++
		require.NoError(t, os.Chmod(m.Behind("g"), fs.FileMode(0o600+touched%8)))
		st, err := os.Lstat(m.At("g"))
		require.NoError(t, err)
		return st.Mode().Perm() == fs.FileMode(0o600+touched%8)
	})
	absent := func(name string) bool { _, err := os.Lstat(m.At(name)); return err != nil }
	behind("a new file", func() error { return os.WriteFile(m.Behind("new"), []byte("1"), 0o644) }, func() bool { return !absent("new") })
	behind("longer content", func() error { return os.WriteFile(m.Behind("new"), []byte("12345"), 0o644) },
		func() bool { text, _ := os.ReadFile(m.At("new")); return string(text) == "12345" })
	behind("a mode", func() error { return os.Chmod(m.Behind("f"), 0o400) },
		func() bool { st, err := os.Lstat(m.At("f")); return err == nil && st.Mode() == 0o400 })
	behind("a rename", func() error { return os.Rename(m.Behind("f"), m.Behind("h")) }, func() bool { return absent("f") && !absent("h") })
	behind("a directory", func() error { return os.Mkdir(m.Behind("d"), 0o755) }, func() bool { return !absent("d") })
	behind("a file that has gone", func() error { return os.Remove(m.Behind("new")) }, func() bool { return absent("new") })
}

// An admin who says that nobody else changes the directory gets long times without
// a lease, too.
func TestAnExclusiveDirectoryIsCachedForLongWithoutALease(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("0s", "--cache", "exclusive"))
	require.LessOrEqual(t, m.Lookups(m.At("f"), harness.Looks), uint64(1))
}

// A listing that the kernel keeps follows every change that comes through the mount.
func TestCachedListingFollowsTheHolder(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("0s"))
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	for i := range 300 { // more than one READDIR
		a.OK(m.Put("d", fmt.Sprintf("some file with a long name %04d", i)))
	}
	require.Len(t, names(t, m.At("d")), 300)
	before := m.Requests("ReadDir") + m.Requests("ReadDirPlus")
	for range harness.Looks {
		require.Len(t, names(t, m.At("d")), 300)
	}
	require.LessOrEqual(t, m.Requests("ReadDir")+m.Requests("ReadDirPlus"), before+8, "the kernel answers by itself")
	for i := range 300 {
		name := fmt.Sprintf("some file with a long name %04d", i)
		switch i % 3 {
		case 0:
			a.OK(harness.Command{Op: "unlink", Path: m.At("d", name)})
		case 1:
			a.OK(m.Move(filepath.Join("d", name), filepath.Join("d", "moved"+name)))
		}
		if i%50 == 0 {
			require.Equal(t, names(t, m.Behind("d")), names(t, m.At("d")), i)
		}
	}
	require.Equal(t, names(t, m.Behind("d")), names(t, m.At("d")))
}

// A write takes setuid away, and the kernel must not run the file with it from what
// it has cached of the mode.
func TestAWriteTakesSetuidFromTheCachedMode(t *testing.T) {
	o := harness.CacheOptions("1h", "--scope", "mount")
	o.Prepare = func(t testing.TB, dir string) {
		text, err := os.ReadFile("/usr/bin/id")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "id"), text, 0o755))
		require.NoError(t, os.Chmod(filepath.Join(dir, "id"), 0o777|fs.ModeSetuid))
	}
	m := harness.NewMount(t, o)
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	who := func() string {
		c := exec.Command(m.At("id"), "-u")
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4242, Gid: 4242}}
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	require.Equal(t, "0\n", who())
	other := harness.StartActorAs(t, "other", harness.Identity{UID: 4242, GID: 4242})
	other.OK(harness.Command{Op: "writefile", Path: m.At("id"), Data: []byte{0x7f}}) // as it was
	require.Equal(t, "4242\n", who())
}

// Where this mount's holder is the only writer, names are believed for minutes; what
// somebody else does to them past the mount is seen all the same.
func TestNamesChangedBehindAHolderAreSeen(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("100ms"))
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	a.OK(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	for _, name := range []string{"gone", "old", "kept"} {
		a.OK(m.Put("d", name))
	}
	a.OK(harness.Command{Op: "unlink", Path: m.At("d", "gone")})
	present := func(name string) bool { _, err := os.Lstat(m.At("d", name)); return err == nil }
	require.False(t, present("gone"))
	require.False(t, present("new"))
	require.True(t, present("old"))
	require.True(t, present("kept"))
	require.LessOrEqual(t, m.Lookups(m.At("d", "gone"), harness.Looks), uint64(1), "believed")

	require.NoError(t, os.WriteFile(m.Behind("d", "gone"), []byte("1"), 0o644))
	harness.Eventually(t, "a name that was removed here and made again behind", func() bool { return present("gone") })
	require.NoError(t, os.Rename(m.Behind("d", "old"), m.Behind("d", "new")))
	harness.Eventually(t, "a name that was moved behind", func() bool { return present("new") && !present("old") })
	require.NoError(t, os.Remove(m.Behind("d", "gone")))
	harness.Eventually(t, "a name that was removed behind", func() bool { return !present("gone") })
	require.Equal(t, []string{"kept", "new"}, names(t, m.At("d")))
}

// A holder's own changes are not taken for somebody else's: the kernel goes on believing
// the names that it made, and asks for none of them.
func TestAHoldersOwnChangesDropNoCachedName(t *testing.T) {
	m := harness.NewMount(t, harness.CacheOptions("0s"))
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	const files = 200
	before := m.Requests("Lookup")
	for i := range files {
		a.OK(m.Put(fmt.Sprintf("n%03d", i)))
	}
	a.OK(m.Move("n000", "moved"))
	made := m.Requests("Lookup") - before // a name that is new is looked up once
	require.LessOrEqual(t, made, uint64(2*files))
	require.NoError(t, os.WriteFile(m.Behind("last"), nil, 0o644)) // its event comes after theirs
	harness.Eventually(t, "the events have been read", func() bool { _, err := os.Lstat(m.At("last")); return err == nil })
	before = m.Requests("Lookup")
	for i := 1; i < files; i++ {
		_, err := os.Lstat(m.At(fmt.Sprintf("n%03d", i)))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, m.Requests("Lookup")-before, uint64(files/10), "still believed")
}
