package rules

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// fixedRules fix what lies in once, keep and log.
const fixedRules = `- name: made
  once: ['once/**']
- name: kept
  keep: ['keep/**']
- name: log
  append: ['log/**']
- name: ledger
  lock: ledger/.lock
  taken_by: create
  guards: ['ledger/**']
  except: ['ledger/.lock']
  once: ['ledger/*.json']
`

// mountWith mounts a directory with files under rules of its own.
func mountWith(t *testing.T, rules string, files ...string) *harness.Mount {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: func(t testing.TB, dir string) {
		t.Helper()
		for _, name := range files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("0123456789"), 0o644))
		}
	}})
	m.Opts.Extra = []string{"--mode", "shared", "--rules", m.WriteConfig("rules.yaml", rules)}
	m.Mount()
	return m
}

// attempt is a call, and its errno.
type attempt struct {
	what string
	harness.Command
	want string
}

func try(t *testing.T, a *harness.Actor, all []attempt) {
	t.Helper()
	for _, one := range all {
		r := a.Do(one.Command)
		require.Equal(t, one.want, r.Errno, "%s (%s)", one.what, r.Note)
	}
}

// Every way to change what a rule fixes is refused, and what the rule leaves open passes.
func TestEveryChangeOfAFixedFileIsRefused(t *testing.T) {
	m := mountWith(t, fixedRules, "once/a", "once/b", "keep/a", "keep/b", "log/a", "log/b", "other")
	a := harness.StartActor(t, "one")
	once, keep, log := m.At("once", "a"), m.At("keep", "a"), m.At("log", "a")
	const no, hole = "EROFS", unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE
	try(t, a, []attempt{
		{"open for writing", harness.Command{Op: "open", Path: once, Handle: "h", Flags: unix.O_WRONLY}, no},
		{"open for reading", harness.Command{Op: "open", Path: once, Handle: "h"}, ""},
		{"truncate", harness.Command{Op: "truncate", Path: once, Len: 1}, no},
		{"chmod", harness.Command{Op: "chmod", Path: once, Mode: 0o600}, no},
		{"chown", harness.Command{Op: "chown", Path: once, UID: 1, GID: 1}, no},
		{"xattr", harness.Command{Op: "setxattr", Path: once, Name: "user.a", Data: []byte("x")}, no},
		{"another name", harness.Command{Op: "rename", Path: once, To: m.At("once", "c")}, no},
		{"away", harness.Command{Op: "rename", Path: once, To: m.At("away")}, no},
		{"over it", harness.Command{Op: "rename", Path: m.At("other"), To: once}, no},
		{"a name that no rule fixes", harness.Command{Op: "link", Path: once, To: m.At("linked")}, "EXDEV"},
		{"garbage collection", harness.Command{Op: "unlink", Path: m.At("once", "b")}, ""},

		{"kept: write", harness.Command{Op: "writefile", Path: keep, Data: []byte("x")}, ""},
		{"kept: removed", harness.Command{Op: "unlink", Path: keep}, no},
		{"kept: renamed", harness.Command{Op: "rename", Path: keep, To: m.At("keep", "c")}, no},
		{"kept: replaced", harness.Command{Op: "rename", Path: m.At("other"), To: keep}, no},

		{"grows: at the end", harness.Command{Op: "open", Path: log, Handle: "l", Flags: unix.O_RDWR}, ""},
		{"grows: at the end", harness.Command{Op: "pwrite", Handle: "l", Off: 10, Data: []byte("ab")}, ""},
		{"grows: below the end", harness.Command{Op: "pwrite", Handle: "l", Off: 11, Data: []byte("ab")}, no},
		{"grows: cut", harness.Command{Op: "ftruncate", Handle: "l", Len: 3}, no},
		{"grows: longer", harness.Command{Op: "ftruncate", Handle: "l", Len: 20}, ""},
		{"grows: a hole", harness.Command{Op: "fallocate", Handle: "l", Flags: hole, Len: 4}, no},
		{"grows: truncated", harness.Command{Op: "truncate", Path: log, Len: 3}, no},
		{"grows: opened anew", harness.Command{Op: "open", Path: log, Handle: "t", Flags: unix.O_WRONLY | unix.O_TRUNC}, no},
		{"grows: removed", harness.Command{Op: "unlink", Path: log}, no},
		{"grows: replaced", harness.Command{Op: "rename", Path: m.At("other"), To: log}, no},
		{"grows: mode", harness.Command{Op: "chmod", Path: log, Mode: 0o600}, ""},
	})
	content, err := os.ReadFile(filepath.Join(m.Source, "log", "a"))
	require.NoError(t, err)
	require.Equal(t, "0123456789ab\x00\x00\x00\x00\x00\x00\x00\x00", string(content))
	require.Contains(t, m.MustCLI("status", "--json"), "rule made lets nobody change this file after it was made")
}

// Whoever makes a file may fill it, through the open file, and under a lock until the lock is given up.
func TestTheMakerOfAFixedFileMayFillIt(t *testing.T) {
	m := mountWith(t, fixedRules, "once/a", "ledger/x")
	a := harness.StartActor(t, "one")
	made, event, lock := m.At("once", "new"), m.At("ledger", "1.json"), m.At("ledger", ".lock")
	try(t, a, []attempt{
		{"make", harness.Command{Op: "open", Path: made, Handle: "h", Flags: unix.O_CREAT | unix.O_EXCL | unix.O_RDWR, Mode: 0o644}, ""},
		{"fill", harness.Command{Op: "pwrite", Handle: "h", Data: []byte("abc")}, ""},
		{"mode, while it is open", harness.Command{Op: "chmod", Path: made, Mode: 0o444}, ""},
		{"close", harness.Command{Op: "close", Handle: "h"}, ""},
	})
	harness.Eventually(t, "the kernel has told of the close", func() bool { // RELEASE is sent, and not waited for
		return a.Do(harness.Command{Op: "chmod", Path: made, Mode: 0o400}).Errno == "EROFS"
	})
	try(t, a, []attempt{
		{"a name under no lock", harness.Command{Op: "link", Path: m.At("ledger", "x"), To: m.At("x")}, "EXDEV"},
		{"a name under a lock", harness.Command{Op: "link", Path: m.At("once", "a"), To: m.At("ledger", "y")}, "EXDEV"},
		{"without the lock", harness.Command{Op: "writefile", Path: event, Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")}, "EROFS"},
		{"take the lock", harness.Command{Op: "writefile", Path: lock, Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Data: []byte("x")}, ""},
		{"make an event", harness.Command{Op: "writefile", Path: event, Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")}, ""},
		{"and correct it", harness.Command{Op: "writefile", Path: event, Data: []byte("y")}, ""},
		{"give up the lock", harness.Command{Op: "unlink", Path: lock}, ""},
		{"take it again", harness.Command{Op: "writefile", Path: lock, Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Data: []byte("x")}, ""},
		{"an event of before", harness.Command{Op: "writefile", Path: event, Data: []byte("z")}, "EROFS"},
		{"give up the lock", harness.Command{Op: "unlink", Path: lock}, ""},
	})
}
