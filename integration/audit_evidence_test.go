package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// audited is a repository with a chain of a few events, and the chain's path behind the mount.
func audited(t *testing.T) (m *mount, a *actor, log string) {
	t.Helper()
	m = newMount(t, mountOptions{repository: true, inPlace: true, onFree: "deny", prepare: withFiles("f")})
	a = startActor(t, "a")
	m.takeTurns(a, 2)
	return m, a, m.Behind(".jvs", "audit", "audit.jsonl")
}

// takeTurns makes events: each turn is two.
func (m *mount) takeTurns(a *actor, n int) {
	m.t.Helper()
	for range n {
		m.acquire(a, "main")
		m.release(a, "main")
	}
}

// verify is audit verify: whether the chain is whole, and what it says.
func (m *mount) verify() (whole bool, said string) {
	m.t.Helper()
	out, errs, exit := m.CLI("audit", "verify", m.At("main"))
	require.Contains(m.t, []int{0, 1}, exit, out+errs)
	return exit == 0, out
}

func (m *mount) requireWhole() {
	m.t.Helper()
	whole, said := m.verify()
	require.True(m.t, whole, said)
}

func (m *mount) requireBroken(why string) {
	m.t.Helper()
	whole, said := m.verify()
	require.False(m.t, whole, said)
	require.Contains(m.t, said, why)
}

// Through the mount the chain can be appended to, as JVS does, and nothing else.
func TestTheAuditChainIsSealedButForAppends(t *testing.T) {
	m, a, _ := audited(t)
	dir := m.At(".jvs", "audit")
	log := filepath.Join(dir, "audit.jsonl")
	before := readText(t, log)
	require.NoError(t, os.WriteFile(m.At(".jvs", "other"), nil, 0o644))

	for name, c := range map[string]command{
		"open to overwrite":      {Op: "open", Handle: "x", Path: log, Flags: unix.O_WRONLY},
		"open and truncate":      {Op: "open", Handle: "x", Path: log, Flags: unix.O_WRONLY | unix.O_APPEND | unix.O_TRUNC},
		"truncate":               {Op: "truncate", Path: log},
		"chmod":                  {Op: "chmod", Path: log, Mode: 0o600},
		"chmod of the directory": {Op: "chmod", Path: dir, Mode: 0o700},
		"chown":                  {Op: "chown", Path: log, UID: 1000, GID: 1000},
		"utimes":                 {Op: "utimes", Path: log},
		"setxattr":               {Op: "setxattr", Path: log, Name: "user.x", Data: []byte("x")},
		"unlink":                 {Op: "unlink", Path: log},
		"rename within":          {Op: "rename", Path: log, To: log + ".old"},
		"another file":           {Op: "writefile", Path: log + ".new", Flags: unix.O_CREAT | unix.O_APPEND, Mode: 0o644, Data: []byte("x")},
		"a directory":            {Op: "mkdir", Path: filepath.Join(dir, "d"), Mode: 0o755},
		"a symbolic link":        {Op: "symlink", To: "/dev/null", Path: filepath.Join(dir, "l")},
		"mknod":                  {Op: "mknod", Path: filepath.Join(dir, "n"), Mode: unix.S_IFIFO | 0o644},
		"tmpfile":                {Op: "tmpfile", Path: dir, To: filepath.Join(dir, "t"), Mode: 0o644},
	} {
		require.NotEmpty(t, a.do(c).Errno, name)
	}
	for name, c := range map[string]command{
		"rename away":               {Op: "rename", Path: log, To: m.At(".jvs", "stolen")},
		"rename over":               {Op: "rename", Path: m.At(".jvs", "other"), To: log},
		"exchange":                  {Op: "rename", Path: m.At(".jvs", "other"), To: log, Flags: unix.RENAME_EXCHANGE},
		"rename of the directory":   {Op: "rename", Path: dir, To: m.At(".jvs", "audit2")},
		"removal of the directory":  {Op: "rmdir", Path: dir},
		"a link elsewhere":          {Op: "link", Path: log, To: m.At(".jvs", "linked")},
		"a second name":             {Op: "link", Path: log, To: log + ".2"},
		"a link of something to it": {Op: "link", Path: m.At(".jvs", "other"), To: filepath.Join(dir, "x")},
	} {
		require.NotEmpty(t, a.do(c).Errno, name)
	}
	require.Equal(t, before, readText(t, log))

	for _, mode := range []int{unix.O_WRONLY, unix.O_RDWR} { // as JVS does
		a.ok(command{Op: "open", Handle: "jvs", Path: log, Flags: mode | unix.O_APPEND | unix.O_CREAT, Mode: 0o644})
		a.ok(command{Op: "write", Handle: "jvs", Data: []byte("\n")})
		a.ok(command{Op: "fsync", Handle: "jvs"})
		for _, c := range []command{
			{Op: "ftruncate", Handle: "jvs"},
			{Op: "fallocate", Handle: "jvs", Flags: unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE, Len: 100},
			{Op: "fallocate", Handle: "jvs", Flags: unix.FALLOC_FL_COLLAPSE_RANGE, Len: 4096},
		} {
			require.NotEmpty(t, a.do(c).Errno, c.Op)
		}
		if mode == unix.O_RDWR {
			a.ok(command{Op: "mmap", Name: "map", Handle: "jvs", Len: 4096})
			a.ok(command{Op: "store", Name: "map", Data: []byte("forged")})
			a.do(command{Op: "msync", Name: "map"}) // whatever it answers, nothing is stored
			a.ok(command{Op: "munmap", Name: "map"})
		}
		a.do(command{Op: "close", Handle: "jvs"})
	}
	require.Equal(t, before+"\n\n", readText(t, m.Behind(".jvs", "audit", "audit.jsonl")))
	m.takeTurns(a, 1)
	m.requireWhole()
}

// What others append costs one event no more than a bounded look, and the chain goes on.
func TestWhatOthersAppendCostsBoundedWork(t *testing.T) {
	m, a, log := audited(t)
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	const flood = 40 << 20
	for range flood >> 20 {
		_, err := f.Write(bytes.Repeat([]byte("\n"), 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	before := m.bytesRead()
	m.takeTurns(a, 3)
	require.Less(t, m.bytesRead()-before, int64(flood/4), "the events did not read what was appended")
	m.requireWhole()
	require.Contains(t, m.cliOK("audit", "tail", "--json", "-n", "6", m.At("main")), "no record was found")
}

// bytesRead is what the daemon has read so far.
func (m *mount) bytesRead() (n int64) {
	m.t.Helper()
	for _, pid := range m.daemons() {
		for line := range strings.Lines(readText(m.t, "/proc/"+strconv.Itoa(pid)+"/io")) {
			if v, ok := strings.CutPrefix(line, "rchar: "); ok {
				read, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
				require.NoError(m.t, err)
				n += read
			}
		}
	}
	return n
}

// A tail that was cut off is told from a clean end, at once and after later events.
func TestALossAtTheEndOfTheChainIsSeen(t *testing.T) {
	m, a, log := audited(t)
	m.requireWhole()
	lines := strings.SplitAfter(readText(t, log), "\n")
	require.NoError(t, os.WriteFile(log, []byte(strings.Join(lines[:2], "")), 0o644))
	m.requireBroken("the end is missing")
	m.takeTurns(a, 1)
	m.requireBroken("bytes of the chain are gone")
	require.NoError(t, os.Remove(log))
	m.requireBroken("the whole chain is missing")
	m.takeTurns(a, 1)
	m.requireBroken("bytes of the chain are gone")
}

// Whoever swaps the chain's directory moves events nowhere else and stops nothing for longer than that lasts; and it is seen.
func TestASwappedAuditDirectory(t *testing.T) {
	m, a, log := audited(t)
	dir := filepath.Dir(log)
	require.NoError(t, os.Rename(dir, dir+".away"))
	old := readText(t, filepath.Join(dir+".away", "audit.jsonl"))
	m.takeTurns(a, 1)
	require.Equal(t, old, readText(t, filepath.Join(dir+".away", "audit.jsonl")), "events do not go where the old directory is")
	require.Contains(t, readText(t, log), "lock_acquire")
	m.requireBroken("bytes of the chain are gone")

	require.NoError(t, os.Rename(dir, dir+".new"))
	require.NoError(t, os.Symlink(dir+".new", dir))
	m.acquire(a, "main") // an event that cannot be written is logged; only steals depend on theirs
	m.release(a, "main")
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+".new", dir))
	before := len(readText(t, log))
	m.takeTurns(a, 1)
	require.Greater(t, len(readText(t, log)), before, "the events come again without a mount anew")
}

// A chain of an earlier version, which has no anchor, is taken over as it is.
func TestAChainWithoutAnAnchorIsTakenOver(t *testing.T) {
	m, a, log := audited(t)
	require.NoError(t, os.Remove(filepath.Join(m.LockDir, "audit.anchor")))
	whole, said := m.verify()
	require.True(t, whole)
	require.Contains(t, said, "nothing says yet")
	m.takeTurns(a, 1)
	whole, said = m.verify()
	require.True(t, whole)
	require.NotContains(t, said, "nothing says yet")
	require.NoError(t, os.Truncate(log, 10))
	whole, _ = m.verify()
	require.False(t, whole)
}
