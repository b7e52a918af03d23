package integration

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// requests asks the daemon how many requests of a kind have reached it.
func (m *mount) requests(kind string) (n uint64) {
	m.t.Helper()
	var all struct {
		Mounts []struct {
			Mountpoint string
			Statistics struct{ Requests map[string]uint64 }
		}
	}
	require.NoError(m.t, json.Unmarshal([]byte(m.cliOK("status", "--json")), &all))
	for _, one := range all.Mounts {
		if one.Mountpoint == m.Mountpoint {
			return one.Statistics.Requests[kind]
		}
	}
	m.t.Fatalf("status does not show %s", m.Mountpoint)
	return 0
}

// lookups is what a number of looks at a path costs in LOOKUP requests.
func (m *mount) lookups(path string, looks int) uint64 {
	m.t.Helper()
	before := m.requests("Lookup")
	for range looks {
		_, _ = os.Lstat(path)
	}
	return m.requests("Lookup") - before
}

const looks = 5

func cacheOptions(timeout string, more ...string) mountOptions {
	return mountOptions{onFree: "deny", prepare: withFiles("f", "g"), extra: append([]string{"--cache-timeout", timeout}, more...)}
}

// With a timeout of nothing each look asks the daemon, until this mount's holder is
// the only writer; and again when it is not any more.
func TestCacheFollowsTheLease(t *testing.T) {
	m := newMount(t, cacheOptions("0s"))
	a := startActor(t, "a")
	for range 2 {
		require.GreaterOrEqual(t, m.lookups(m.At("f"), looks), uint64(looks), "free")
		require.GreaterOrEqual(t, m.lookups(m.At("absent"), looks), uint64(looks), "absent, free")
		m.acquire(a)
		require.LessOrEqual(t, m.lookups(m.At("f"), looks), uint64(1), "held")
		require.LessOrEqual(t, m.lookups(m.At("absent"), looks), uint64(1), "absent, held")
		a.ok(m.put("absent"))
		a.ok(command{Op: "readfile", Path: m.At("absent")}) // its own change is seen
		a.ok(m.move("absent", "moved"))
		_, err := os.Lstat(m.At("absent"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		a.ok(command{Op: "unlink", Path: m.At("moved")})
		m.release(a)
		eventually(t, "looks ask again", func() bool { return m.lookups(m.At("f"), looks) >= looks })
		eventually(t, "looks for what is absent ask again", func() bool { return m.lookups(m.At("absent"), looks) >= looks })
	}
}

// Of a file with several names one is believed for long, whichever is renamed.
func TestCacheOfHardLinks(t *testing.T) {
	m := newMount(t, cacheOptions("0s"))
	a := startActor(t, "a")
	m.acquire(a)
	require.LessOrEqual(t, m.lookups(m.At("g"), looks), uint64(1))
	a.ok(command{Op: "link", Path: m.At("g"), To: m.At("other")})
	m.lookups(m.At("other"), looks)
	a.ok(m.move("other", "renamed"))
	m.lookups(m.At("renamed"), looks)
	m.release(a)
	for _, name := range []string{"g", "renamed"} {
		eventually(t, "looks ask again", func() bool { return m.lookups(m.At(name), looks) >= looks })
	}
}

// A worktree that somebody holds says nothing about the one beside it.
func TestCacheOfOneWorktree(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, onFree: "deny", prepare: withFiles("f"), extra: []string{"--cache-timeout", "0s"}})
	a := startActor(t, "a")
	m.acquire(a, "worktrees", "a")
	a.ok(m.put("worktrees", "a", "f"))
	held := m.lookups(m.At("worktrees", "a", "f"), looks) // the worktree's own name is not below its root
	require.LessOrEqual(t, held, uint64(2*looks+1))
	require.GreaterOrEqual(t, m.lookups(m.At("main", "f"), looks), uint64(2*looks))
}

// What a mount believed while it had the only writer is not believed when another
// mount has it.
func TestCacheAfterTheLeaseHasGoneElsewhere(t *testing.T) {
	m := newMount(t, cacheOptions("100ms"))
	n := m.second()
	a, b := startActor(t, "a"), startActor(t, "b")
	m.acquire(a)
	a.ok(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	a.ok(m.put("d", "old"))
	m.seen("g")
	a.ok(m.move("g", "d/moved"))
	// Names, absence, attributes and pages are cached now.
	look := func() string { return m.seen("d/old") + m.seen("d/new") + m.seen("d/moved") + m.seen("f") }
	warm := look()
	require.Equal(t, warm, look())
	m.release(a)
	n.acquire(b)
	b.ok(n.move("d/old", "d/new"))
	b.ok(command{Op: "unlink", Path: n.At("d/moved")})
	b.ok(command{Op: "chmod", Path: n.At("f"), Mode: 0o600})
	b.ok(command{Op: "writefile", Path: n.At("f"), Data: []byte("b")})
	eventuallyNoted(t, "the first mount shows what the second did", func() (bool, string) {
		got, want := "", ""
		for _, rel := range []string{"d/old", "d/new", "d/moved", "f"} {
			got, want = got+m.seen(rel), want+n.seen(rel)
		}
		return got == want, got
	})
	require.Equal(t, names(t, n.At("d")), names(t, m.At("d")))
	n.release(b)
}

func (m *mount) seen(rel string) string {
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

// What changes behind the mount on this machine is seen at once, long before the
// cache times out.
func TestCacheSeesChangesBehindTheMount(t *testing.T) {
	m := newMount(t, cacheOptions("1h", "--cache", "shared"))
	// A directory is watched from a moment after it was first looked into.
	behind := func(what string, change func() error, shows func() bool) {
		t.Helper()
		require.False(t, shows(), "before: %s", what)
		require.NoError(t, change())
		eventually(t, what, shows)
	}
	require.Equal(t, []string{"f", "g"}, names(t, m.At()))
	touched := 0
	eventually(t, "the directory is watched", func() bool {
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
func TestCacheExclusive(t *testing.T) {
	m := newMount(t, cacheOptions("0s", "--cache", "exclusive"))
	require.LessOrEqual(t, m.lookups(m.At("f"), looks), uint64(1))
}

// A listing that the kernel keeps follows every change that comes through the mount.
func TestCachedListingFollowsTheHolder(t *testing.T) {
	m := newMount(t, cacheOptions("0s"))
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	for i := range 300 { // more than one READDIR
		a.ok(m.put("d", fmt.Sprintf("some file with a long name %04d", i)))
	}
	require.Len(t, names(t, m.At("d")), 300)
	before := m.requests("ReadDir") + m.requests("ReadDirPlus")
	for range looks {
		require.Len(t, names(t, m.At("d")), 300)
	}
	require.LessOrEqual(t, m.requests("ReadDir")+m.requests("ReadDirPlus"), before+8, "the kernel answers by itself")
	for i := range 300 {
		name := fmt.Sprintf("some file with a long name %04d", i)
		switch i % 3 {
		case 0:
			a.ok(command{Op: "unlink", Path: m.At("d", name)})
		case 1:
			a.ok(m.move(filepath.Join("d", name), filepath.Join("d", "moved"+name)))
		}
		if i%50 == 0 {
			require.Equal(t, names(t, m.Behind("d")), names(t, m.At("d")), i)
		}
	}
	require.Equal(t, names(t, m.Behind("d")), names(t, m.At("d")))
}

// A write takes setuid away, and the kernel must not run the file with it from what
// it has cached of the mode.
func TestCachedModeLosesSetuid(t *testing.T) {
	o := cacheOptions("1h", "--scope", "mount")
	o.prepare = func(t testing.TB, dir string) {
		text, err := os.ReadFile("/usr/bin/id")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "id"), text, 0o755))
		require.NoError(t, os.Chmod(filepath.Join(dir, "id"), 0o777|fs.ModeSetuid))
	}
	m := newMount(t, o)
	a := startActor(t, "a")
	m.acquire(a)
	who := func() string {
		c := exec.Command(m.At("id"), "-u")
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 4242, Gid: 4242}}
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	require.Equal(t, "0\n", who())
	other := startActorAs(t, "other", identity{uid: 4242, gid: 4242})
	other.ok(command{Op: "writefile", Path: m.At("id"), Data: []byte{0x7f}}) // as it was
	require.Equal(t, "4242\n", who())
}

// Where this mount's holder is the only writer, names are believed for minutes; what
// somebody else does to them past the mount is seen all the same.
func TestCacheSeesNamesThatChangeBehindAHolder(t *testing.T) {
	m := newMount(t, cacheOptions("100ms"))
	a := startActor(t, "a")
	m.acquire(a)
	a.ok(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755})
	for _, name := range []string{"gone", "old", "kept"} {
		a.ok(m.put("d", name))
	}
	a.ok(command{Op: "unlink", Path: m.At("d", "gone")})
	present := func(name string) bool { _, err := os.Lstat(m.At("d", name)); return err == nil }
	require.False(t, present("gone"))
	require.False(t, present("new"))
	require.True(t, present("old"))
	require.True(t, present("kept"))
	require.LessOrEqual(t, m.lookups(m.At("d", "gone"), looks), uint64(1), "believed")

	require.NoError(t, os.WriteFile(m.Behind("d", "gone"), []byte("1"), 0o644))
	eventually(t, "a name that was removed here and made again behind", func() bool { return present("gone") })
	require.NoError(t, os.Rename(m.Behind("d", "old"), m.Behind("d", "new")))
	eventually(t, "a name that was moved behind", func() bool { return present("new") && !present("old") })
	require.NoError(t, os.Remove(m.Behind("d", "gone")))
	eventually(t, "a name that was removed behind", func() bool { return !present("gone") })
	require.Equal(t, []string{"kept", "new"}, names(t, m.At("d")))
}

// A holder's own changes are not taken for somebody else's: the kernel goes on believing
// the names that it made, and asks for none of them.
func TestCacheOfAHoldersOwnNames(t *testing.T) {
	m := newMount(t, cacheOptions("0s"))
	a := startActor(t, "a")
	m.acquire(a)
	const files = 200
	before := m.requests("Lookup")
	for i := range files {
		a.ok(m.put(fmt.Sprintf("n%03d", i)))
	}
	a.ok(m.move("n000", "moved"))
	made := m.requests("Lookup") - before // a name that is new is looked up once
	require.LessOrEqual(t, made, uint64(2*files))
	require.NoError(t, os.WriteFile(m.Behind("last"), nil, 0o644)) // its event comes after theirs
	eventually(t, "the events have been read", func() bool { _, err := os.Lstat(m.At("last")); return err == nil })
	before = m.requests("Lookup")
	for i := 1; i < files; i++ {
		_, err := os.Lstat(m.At(fmt.Sprintf("n%03d", i)))
		require.NoError(t, err)
	}
	require.LessOrEqual(t, m.requests("Lookup")-before, uint64(files/10), "still believed")
}
