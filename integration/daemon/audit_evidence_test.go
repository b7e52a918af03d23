package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
	"github.com/jvsfs/jvsfs/integration/operation"
)

// audited is a repository with a chain of a few events, and the chain's path behind the mount.
func audited(t *testing.T) (m *harness.Mount, a *harness.Actor, log string) {
	t.Helper()
	m = harness.NewMount(t, harness.MountOptions{Repository: true, InPlace: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a = harness.StartActor(t, "a")
	takeTurns(m, a, 2)
	return m, a, m.Behind(".jvs", "audit", "audit.jsonl")
}

// takeTurns makes events: each turn is two.
func takeTurns(m *harness.Mount, a *harness.Actor, n int) {
	m.T.Helper()
	for range n {
		m.Acquire(a, "main")
		m.Release(a, "main")
	}
}

// verify is audit verify: whether the chain is whole, and what it says.
func verify(m *harness.Mount) (whole bool, said string) {
	m.T.Helper()
	out, errs, exit := m.CLI("audit", "verify", m.At("main"))
	require.Contains(m.T, []int{0, 1}, exit, out+errs)
	return exit == 0, out
}

func requireWhole(m *harness.Mount) {
	m.T.Helper()
	whole, said := verify(m)
	require.True(m.T, whole, said)
}

func requireBroken(m *harness.Mount, why string) {
	m.T.Helper()
	whole, said := verify(m)
	require.False(m.T, whole, said)
	require.Contains(m.T, said, why)
}

// Through the mount the chain can be appended to, as JVS does, and nothing else.
func TestTheAuditChainTakesOnlyAppendsThroughTheMount(t *testing.T) {
	m, a, _ := audited(t)
	dir := m.At(".jvs", "audit")
	log := filepath.Join(dir, "audit.jsonl")
	before := harness.ReadText(t, log)
	require.NoError(t, os.WriteFile(m.At(".jvs", "other"), nil, 0o644))

	for name, c := range map[string]harness.Command{
		"open and truncate":      {Op: "open", Handle: "x", Path: log, Flags: unix.O_WRONLY | unix.O_APPEND | unix.O_TRUNC},
		"truncate":               {Op: "truncate", Path: log},
		"chmod":                  {Op: "chmod", Path: log, Mode: 0o600},
		"chmod of the directory": {Op: "chmod", Path: dir, Mode: 0o700},
		"chown":                  {Op: "chown", Path: log, UID: 1000, GID: 1000},
		"utimes":                 {Op: "utimens", Path: log},
		"setxattr":               {Op: "setxattr", Path: log, Name: "user.x", Data: []byte("x")},
		"unlink":                 {Op: "unlink", Path: log},
		"rename within":          {Op: "rename", Path: log, To: log + ".old"},
		"another file":           {Op: "writefile", Path: log + ".new", Flags: unix.O_CREAT | unix.O_APPEND, Mode: 0o644, Data: []byte("x")},
		"a directory":            {Op: "mkdir", Path: filepath.Join(dir, "d"), Mode: 0o755},
		"a symbolic link":        {Op: "symlink", To: "/dev/null", Path: filepath.Join(dir, "l")},
		"mknod":                  {Op: "mknod", Path: filepath.Join(dir, "n"), Mode: unix.S_IFIFO | 0o644},
		"tmpfile":                {Op: "tmpfile", Path: dir, To: filepath.Join(dir, "t"), Mode: 0o644},
	} {
		require.NotEmpty(t, a.Do(c).Errno, name)
	}
	for name, c := range map[string]harness.Command{
		"rename away":               {Op: "rename", Path: log, To: m.At(".jvs", "stolen")},
		"rename over":               {Op: "rename", Path: m.At(".jvs", "other"), To: log},
		"exchange":                  {Op: "rename", Path: m.At(".jvs", "other"), To: log, Flags: unix.RENAME_EXCHANGE},
		"rename of the directory":   {Op: "rename", Path: dir, To: m.At(".jvs", "audit2")},
		"removal of the directory":  {Op: "rmdir", Path: dir},
		"a link elsewhere":          {Op: "link", Path: log, To: m.At(".jvs", "linked")},
		"a second name":             {Op: "link", Path: log, To: log + ".2"},
		"a link of something to it": {Op: "link", Path: m.At(".jvs", "other"), To: filepath.Join(dir, "x")},
	} {
		require.NotEmpty(t, a.Do(c).Errno, name)
	}
	require.Equal(t, before, harness.ReadText(t, log))

	for i, mode := range []int{unix.O_WRONLY | unix.O_APPEND, unix.O_RDWR | unix.O_APPEND, unix.O_RDWR} { // as JVS does
		a.OK(harness.Command{Op: "open", Handle: "jvs", Path: log, Flags: mode | unix.O_CREAT, Mode: 0o644})
		a.OK(harness.Command{Op: "pwrite", Handle: "jvs", Off: int64(len(before) + i), Data: []byte("\n")})
		a.OK(harness.Command{Op: "fsync", Handle: "jvs"})
		for _, c := range []harness.Command{
			{Op: "ftruncate", Handle: "jvs"},
			{Op: "fallocate", Handle: "jvs", Flags: unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE, Len: 100},
			{Op: "fallocate", Handle: "jvs", Flags: unix.FALLOC_FL_COLLAPSE_RANGE, Len: 4096},
		} {
			require.NotEmpty(t, a.Do(c).Errno, c.Op)
		}
		if mode&unix.O_APPEND == 0 {
			for what, off := range map[string]int{"the first byte": 0, "the last byte": len(before) + i, "a hole before it": len(before) + i + 2} {
				a.Fails(harness.Command{Op: "pwrite", Handle: "jvs", Off: int64(off), Data: []byte(what)}, "EPERM")
			}
		}
		if mode&unix.O_RDWR != 0 {
			a.OK(harness.Command{Op: "mmap", Name: "map", Handle: "jvs", Len: 4096})
			a.OK(harness.Command{Op: "store", Name: "map", Data: []byte("forged")})
			a.Do(harness.Command{Op: "msync", Name: "map"}) // whatever it answers, nothing is stored
			a.OK(harness.Command{Op: "munmap", Name: "map"})
		}
		a.Do(harness.Command{Op: "close", Handle: "jvs"})
	}
	require.Equal(t, before+"\n\n\n", harness.ReadText(t, m.Behind(".jvs", "audit", "audit.jsonl")))
	takeTurns(m, a, 1)
	requireWhole(m)
}

func init() {
	operation.Add("append", func(s *operation.Box, c operation.Command) error { // as JVS with locks does, but without its flock
		for {
			end, err := unix.Seek(s.FD(c.Handle), 0, unix.SEEK_END)
			if err != nil {
				return err
			}
			if _, err = unix.Pwrite(s.FD(c.Handle), c.Data, end); !errors.Is(err, unix.EPERM) { // somebody else was there first
				return err
			}
		}
	})
}

// Who reads where the end is, and then writes there, overwrites nothing that others append meanwhile, in whatever way.
func TestAuditAppendsOverwriteNoOtherAppend(t *testing.T) {
	m, a, log := audited(t)
	const writers, lines = 4, 60
	failed := make(chan string, writers)
	for w := range writers {
		b := harness.StartActor(t, strconv.Itoa(w))
		flags, op := unix.O_RDWR|unix.O_CREAT, "append"
		if w == 0 {
			flags, op = unix.O_WRONLY|unix.O_APPEND, "write"
		}
		b.OK(harness.Command{Op: "open", Handle: "log", Path: m.At(".jvs", "audit", "audit.jsonl"), Flags: flags, Mode: 0o644})
		go func() {
			errno := ""
			for i := 0; i < lines && errno == ""; i++ {
				errno = b.Do(harness.Command{Op: op, Handle: "log", Data: fmt.Appendf(nil, "by %d: %d\n", w, i)}).Errno
			}
			failed <- errno
		}()
	}
	takeTurns(m, a, 3) // the daemon appends in the backing directory
	for range writers {
		require.Empty(t, <-failed)
	}
	text := harness.ReadText(t, log)
	for w := range writers {
		for i := range lines {
			require.Equal(t, 1, strings.Count(text, fmt.Sprintf("by %d: %d\n", w, i)), "%d of %d", i, w)
		}
	}
	require.Equal(t, 5, strings.Count(text, `"event_type":"lock_acquire"`))
	require.Equal(t, 5, strings.Count(text, `"event_type":"lock_release"`))
}

// What others append costs one event no more than a bounded look, and the chain goes on.
func TestAppendsOfOthersCostAnAuditEventBoundedWork(t *testing.T) {
	m, a, log := audited(t)
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	const flood = 40 << 20
	for range flood >> 20 {
		_, err := f.Write(bytes.Repeat([]byte("\n"), 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	before := bytesRead(m)
	takeTurns(m, a, 3)
	require.Less(t, bytesRead(m)-before, int64(flood/4), "the events did not read what was appended")
	requireWhole(m)
	require.Contains(t, m.MustCLI("audit", "tail", "--json", "-n", "6", m.At("main")), "no record was found")
}

// bytesRead is what the daemon has read so far.
func bytesRead(m *harness.Mount) (n int64) {
	m.T.Helper()
	for _, pid := range m.Daemons() {
		for line := range strings.Lines(harness.ReadText(m.T, "/proc/"+strconv.Itoa(pid)+"/io")) {
			if v, ok := strings.CutPrefix(line, "rchar: "); ok {
				read, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
				require.NoError(m.T, err)
				n += read
			}
		}
	}
	return n
}

// A tail that was cut off is told from a clean end, at once and after later events.
func TestACutOffEndOfTheAuditChainIsSeen(t *testing.T) {
	m, a, log := audited(t)
	requireWhole(m)
	lines := strings.SplitAfter(harness.ReadText(t, log), "\n")
	require.NoError(t, os.WriteFile(log, []byte(strings.Join(lines[:2], "")), 0o644))
	requireBroken(m, "the end is missing")
	takeTurns(m, a, 1)
	requireBroken(m, "bytes of the chain are gone")
	require.NoError(t, os.Remove(log))
	requireBroken(m, "the whole chain is missing")
	takeTurns(m, a, 1)
	requireBroken(m, "bytes of the chain are gone")
}

// Whoever swaps the chain's directory moves events nowhere else and stops nothing for longer than that lasts; and it is seen.
func TestASwappedAuditDirectoryMovesNoEventAndIsSeen(t *testing.T) {
	m, a, log := audited(t)
	dir := filepath.Dir(log)
	require.NoError(t, os.Rename(dir, dir+".away"))
	old := harness.ReadText(t, filepath.Join(dir+".away", "audit.jsonl"))
	takeTurns(m, a, 1)
	require.Equal(t, old, harness.ReadText(t, filepath.Join(dir+".away", "audit.jsonl")), "events do not go where the old directory is")
	require.Contains(t, harness.ReadText(t, log), "lock_acquire")
	requireBroken(m, "bytes of the chain are gone")

	require.NoError(t, os.Rename(dir, dir+".new"))
	require.NoError(t, os.Symlink(dir+".new", dir))
	m.Acquire(a, "main") // an event that cannot be written is logged; only steals depend on theirs
	m.Release(a, "main")
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Rename(dir+".new", dir))
	before := len(harness.ReadText(t, log))
	takeTurns(m, a, 1)
	require.Greater(t, len(harness.ReadText(t, log)), before, "the events come again without a mount anew")
}

// A chain of an earlier version, which has no anchor, is taken over as it is.
func TestAnAuditChainWithoutAnAnchorIsTakenOver(t *testing.T) {
	m, a, log := audited(t)
	require.NoError(t, os.Remove(filepath.Join(m.LockDir, "audit.anchor")))
	whole, said := verify(m)
	require.True(t, whole)
	require.Contains(t, said, "nothing says yet")
	takeTurns(m, a, 1)
	whole, said = verify(m)
	require.True(t, whole)
	require.NotContains(t, said, "nothing says yet")
	require.NoError(t, os.Truncate(log, 10))
	whole, _ = verify(m)
	require.False(t, whole)
}
