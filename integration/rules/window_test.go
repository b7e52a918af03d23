package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// windowRules have a lock with what it guards, and what is fixed with and without it.
const windowRules = fixedRules + agencyRule + `- name: index
  lock: flocked/.lock
  taken_by: flock
  guards: ['flocked/**']
  except: ['flocked/.lock']
`

func windowMount(t *testing.T) *harness.Mount {
	t.Helper()
	return mountWith(t, windowRules, "once/a", "once/b", "keep/a", "log/a", "ledger/1.json", "ledger/x", "repos/a/f", "flocked/x", "flocked/.lock", "other")
}

// opens opens a window for an actor's session.
func opens(m *harness.Mount, a *harness.Actor, path string, options ...string) string {
	m.T.Helper()
	exit, out := mayOpen(m, a, path, options...)
	require.Zero(m.T, exit, out)
	return out
}

func mayOpen(m *harness.Mount, a *harness.Actor, path string, options ...string) (exit int64, out string) {
	m.T.Helper()
	return a.Run("/", "", strings.Join(append([]string{m.Bin, "rules", "open", "--yes"}, append(options, path)...), " "))
}

func closes(m *harness.Mount, a *harness.Actor, path string) (exit int64, out string) {
	m.T.Helper()
	return a.Run("/", "", m.Bin+" rules close "+path)
}

func isOpen(m *harness.Mount) bool {
	return strings.Contains(m.MustCLI("status"), "maintenance window")
}

// ended waits until no window is open, and returns how each has ended, by the audit chain.
func ended(m *harness.Mount, n int) (how []any) {
	m.T.Helper()
	harness.Eventually(m.T, "the end of the window is audited", func() bool {
		how = nil
		for _, l := range m.AuditTail(m.Mountpoint) {
			if l.Type == "rule_window_close" {
				how = append(how, l.Details["how"])
			}
		}
		return len(how) == n
	})
	require.False(m.T, isOpen(m))
	return how
}

func overwrite(path string) harness.Command {
	return harness.Command{Op: "writefile", Path: path, Flags: unix.O_TRUNC, Data: []byte("new")}
}

func wrote(path string) harness.Command {
	return harness.Command{Op: "writefile", Path: path, Data: []byte("new")}
}

// The holder of a window changes what is fixed, nobody else does, and afterwards nobody.
func TestOnlyTheHolderOfAWindowChangesFixedFiles(t *testing.T) {
	m := windowMount(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	once, keep, log := m.At("once", "a"), m.At("keep", "a"), m.At("log", "a")
	for _, path := range []string{once, keep, log} {
		opens(m, a, path)
	}
	try(t, b, []attempt{
		{"b: once", wrote(once), "EROFS"}, {"b: once, mode", harness.Command{Op: "chmod", Path: once, Mode: 0o600}, "EROFS"},
		{"b: once, garbage", harness.Command{Op: "unlink", Path: once}, "EROFS"}, {"b: keep, content", wrote(keep), "EROFS"},
		{"b: keep", harness.Command{Op: "unlink", Path: keep}, "EROFS"}, {"b: append", harness.Command{Op: "open", Path: log, Handle: "l", Flags: unix.O_RDWR | unix.O_APPEND}, "EROFS"},
		{"b: beside it", wrote(m.At("once", "b")), "EROFS"}, {"b: elsewhere", wrote(m.At("other")), ""},
	})
	try(t, a, []attempt{
		{"a: once, cut and written", overwrite(once), ""}, {"a: once, mode", harness.Command{Op: "chmod", Path: once, Mode: 0o600}, ""},
		{"a: once, replaced", harness.Command{Op: "rename", Path: m.At("other"), To: once}, ""},
		{"a: append, below the end", harness.Command{Op: "open", Path: log, Handle: "l", Flags: unix.O_RDWR}, ""},
		{"a: append, below the end", harness.Command{Op: "pwrite", Handle: "l", Off: 2, Data: []byte("ab")}, ""},
		{"a: append, cut", harness.Command{Op: "ftruncate", Handle: "l", Len: 6}, ""}, {"a: append, cut by name", harness.Command{Op: "truncate", Path: log, Len: 5}, ""},
		{"a: keep", harness.Command{Op: "unlink", Path: keep}, ""}, {"a: beside it", wrote(m.At("once", "b")), "EROFS"},
	})
	require.Equal(t, []string{"new3456789", "01ab4"}, []string{readBehind(t, m, "once/a"), readBehind(t, m, "log/a")})
	for _, path := range []string{once, keep, log} {
		exit, out := closes(m, a, path)
		require.Zero(t, exit, out)
	}
	require.Equal(t, []any{"closed", "closed", "closed"}, ended(m, 3))
	try(t, a, []attempt{
		{"a: once", wrote(once), "EROFS"}, {"a: append, cut", harness.Command{Op: "truncate", Path: log, Len: 1}, "EROFS"},
		{"a: what was opened in the window", harness.Command{Op: "pwrite", Handle: "l", Off: 0, Data: []byte("ab")}, "EROFS"},
		{"a: what was opened in the window, at the end", harness.Command{Op: "pwrite", Handle: "l", Off: 5, Data: []byte("ab")}, "EROFS"},
		{"a: append", harness.Command{Op: "open", Path: log, Handle: "m", Flags: unix.O_RDWR | unix.O_APPEND}, ""}, {"a: append", harness.Command{Op: "write", Handle: "m", Data: []byte("Z")}, ""},
	})
	require.Equal(t, "01ab4Z", readBehind(t, m, "log/a"))
}

func readBehind(t *testing.T, m *harness.Mount, rel string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Source, rel))
	require.NoError(t, err)
	return string(text)
}

// What was opened before a window is judged by who writes: nobody but the holder, below the end as well.
func TestAFileOpenedBeforeAWindowIsWrittenByItsHolderOnly(t *testing.T) {
	m := windowMount(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	log, made := m.At("log", "a"), m.At("once", "made")
	open := harness.Command{Op: "open", Path: log, Handle: "l", Flags: unix.O_RDWR}
	at := func(off int64) harness.Command {
		return harness.Command{Op: "pwrite", Handle: "l", Off: off, Data: []byte("ab")}
	}
	fill := harness.Command{Op: "pwrite", Handle: "h", Data: []byte("x")}
	try(t, a, []attempt{{"a opens", open, ""}})
	try(t, b, []attempt{
		{"b opens", open, ""}, {"b appends", at(10), ""},
		{"b makes", harness.Command{Op: "open", Path: made, Handle: "h", Flags: unix.O_CREAT | unix.O_EXCL | unix.O_RDWR, Mode: 0o644}, ""}, {"b fills it", fill, ""},
	})
	opens(m, a, m.Mountpoint)
	try(t, b, []attempt{
		{"b appends", at(12), "EROFS"}, {"b below the end", at(2), "EROFS"}, {"b cuts", harness.Command{Op: "ftruncate", Handle: "l", Len: 3}, "EROFS"}, {"b fills it", fill, "EROFS"},
		{"b makes another", harness.Command{Op: "writefile", Path: m.At("once", "more"), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")}, "EROFS"},
		{"b links", harness.Command{Op: "link", Path: m.At("other"), To: m.At("once", "linked")}, "EROFS"},
	})
	try(t, a, []attempt{{"a below the end", at(2), ""}, {"a appends", at(12), ""}, {"a cuts", harness.Command{Op: "ftruncate", Handle: "l", Len: 12}, ""}})
	exit, out := closes(m, a, m.Mountpoint)
	require.Zero(t, exit, out)
	try(t, a, []attempt{{"a below the end", at(2), "EROFS"}, {"a appends", at(12), ""}})
	try(t, b, []attempt{{"b appends", at(14), ""}, {"b below the end", at(2), "EROFS"}, {"b fills it", fill, ""}})
}

// A window over a lock: nobody takes it or what it guards, and a lock file that is left may be put right. It is refused while a
// holder lives.
func TestNobodyTakesALockInAWindow(t *testing.T) {
	m := windowMount(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	f, lock := m.At("repos", "a", "f"), m.At("repos", "a", ".lock")
	try(t, b, []attempt{{"b takes the lock", take(lock), ""}})
	exit, out := mayOpen(m, a, f)
	require.EqualValues(t, harness.ExitConflict, exit, out)
	require.Contains(t, out, fmt.Sprintf("by process %d", b.PID()))
	require.Contains(t, out, "jvsfs rules break "+f)
	try(t, b, []attempt{{"b gives it up", harness.Command{Op: "unlink", Path: lock}, ""}})

	opens(m, a, f)
	try(t, b, []attempt{{"b takes the lock", take(lock), "EROFS"}, {"b makes a directory of it", harness.Command{Op: "mkdir", Path: lock, Mode: 0o755}, "EROFS"}, {"b writes", wrote(f), "EROFS"}})
	x, _ := m.Explain(b.PID(), f)
	for _, text := range []string{x.Sentence, m.MustCLI("status")} {
		require.Regexp(t, fmt.Sprintf(`maintenance window.* of process %d \(maintenance\).* until `, a.PID()), text)
	}
	require.Contains(t, m.MustCLI("status", "--json"), "a maintenance window is open here until")
	try(t, a, []attempt{
		{"a writes", wrote(f), ""}, {"a takes the lock", take(lock), ""}, {"a writes under it", wrote(f), ""},
		{"a changes it", wrote(lock), ""}, {"a removes it", harness.Command{Op: "unlink", Path: lock}, ""}, {"a takes it again", take(lock), ""},
	})
	exit, out = mayOpen(m, b, lock)
	require.EqualValues(t, harness.ExitConflict, exit, out)
	require.Contains(t, out, fmt.Sprintf("a maintenance window of process %d", a.PID()))
	_, errs, code := m.CLI("rules", "break", "--yes", lock)
	require.Equal(t, harness.ExitConflict, code)
	require.Contains(t, errs, "a maintenance window of process")
	exit, out = closes(m, a, lock)
	require.Zero(t, exit, out)
	ended(m, 1)
	try(t, b, []attempt{{"b removes a lock that a took in the window", harness.Command{Op: "unlink", Path: lock}, "EROFS"}})
	try(t, a, []attempt{{"a holds it", wrote(f), ""}, {"and gives it up", harness.Command{Op: "unlink", Path: lock}, ""}, {"nobody holds it", wrote(f), "EROFS"}})
	try(t, b, []attempt{{"b takes the lock", take(lock), ""}, {"b writes", wrote(f), ""}})
}

// A lock that its holder has left is there again when the window is over, or is what the window has made of it.
func TestALeftLockIsThereAgainAfterAWindow(t *testing.T) {
	m := windowMount(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	lock := m.At("repos", "a", ".lock")
	dead := harness.StartActor(t, "dead")
	try(t, dead, []attempt{{"dead takes the lock", take(lock), ""}})
	dead.End()
	harness.Eventually(t, "its end is seen", func() bool { return strings.Contains(m.MustCLI("status"), "agency{repo=a}  gone") })
	opens(m, a, lock)
	require.Contains(t, m.MustCLI("status"), "agency{repo=a}  window")
	try(t, b, []attempt{{"b may not break it now", harness.Command{Op: "unlink", Path: lock}, "EROFS"}})
	exit, out := closes(m, a, lock)
	require.Zero(t, exit, out)
	require.Contains(t, m.MustCLI("status"), "agency{repo=a}  gone")
	opens(m, a, lock)
	try(t, a, []attempt{{"a removes it", harness.Command{Op: "unlink", Path: lock}, ""}})
	exit, out = closes(m, a, lock)
	require.Zero(t, exit, out)
	try(t, b, []attempt{{"b takes the lock", take(lock), ""}})
}

// A lock that is taken by flock is nobody else's in a window.
func TestNobodyTakesAFlockInAWindow(t *testing.T) {
	m := windowMount(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	x, lock := m.At("flocked", "x"), m.At("flocked", ".lock")
	line := fmt.Sprintf("exec 9>>%s; flock -n 9 && echo y >>%s", lock, x)
	exit, out := b.Run("/", "", line)
	require.Zero(t, exit, out)
	opens(m, a, x)
	exit, out = b.Run("/", "", line)
	require.NotZero(t, exit, out)
	require.Contains(t, out, "Read-only file system")
	exit, out = a.Run("/", "", line+" && echo z >>"+x)
	require.Zero(t, exit, out)
	exit, out = closes(m, a, x)
	require.Zero(t, exit, out)
	exit, out = b.Run("/", "", line)
	require.Zero(t, exit, out)
	require.Equal(t, "0123456789y\ny\nz\ny\n", readBehind(t, m, "flocked/x"))
}

// A window ends with its time, with its session, with its command, and with the daemon.
func TestAWindowEndsWithItsTimeSessionCommandAndDaemon(t *testing.T) {
	m := windowMount(t)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	once := m.At("once", "a")
	opens(m, a, once, "--for", "1s")
	require.Equal(t, []any{"time"}, ended(m, 1))
	try(t, a, []attempt{{"after its time", wrote(once), "EROFS"}})
	opens(m, b, once)
	b.End()
	require.Equal(t, []any{"time", "holder_ended"}, ended(m, 2))

	out, errs, exit := m.CLI("rules", "open", "--yes", once, "--", "sh", "-c", "echo changed >"+once+" && "+m.Bin+" status && exit 7")
	require.Equal(t, 7, exit, errs)
	require.Contains(t, out, "maintenance window")
	require.Equal(t, "changed\n", readBehind(t, m, "once/a"))
	require.Contains(t, []any{"closed", "holder_ended"}, ended(m, 3)[2], "both follow from the end of the command")
	try(t, a, []attempt{{"after the command", wrote(once), "EROFS"}})

	opens(m, a, once)
	m.KillDaemon()
	m.Recover()
	require.False(t, isOpen(m), "the next daemon does not know it")
	try(t, a, []attempt{{"after recover", wrote(once), "EROFS"}})
	opens(m, a, once)
	m.Unmount()
	m.Mount()
	require.Equal(t, "daemon_end", ended(m, 4)[3])
}

// Only root and who mounted open a window, and only its holder and root close it.
func TestOnlyRootAndTheMounterOpenAWindow(t *testing.T) {
	m := windowMount(t)
	once := m.At("once", "a")
	a, nobody := harness.StartActor(t, "a"), harness.StartActorAs(t, "nobody", harness.Identity{UID: 65534, GID: 65534})
	exit, out := mayOpen(m, nobody, once)
	require.EqualValues(t, 1, exit, out)
	require.Contains(t, out, "only root or the user that mounted may do that")
	_, errs, code := m.CLI("rules", "open", once)
	require.Equal(t, harness.ExitUsage, code)
	require.Contains(t, errs, "wants an answer")
	for _, args := range [][]string{{"--for", "25h"}, {"--for", "1ms"}, {"--json", "--yes", "--", "true"}} {
		_, errs, code = m.CLI(append([]string{"rules", "open", once}, args...)...)
		require.Equal(t, harness.ExitUsage, code, errs)
	}
	_, errs, code = m.CLI("rules", "open", "--yes", m.At("other"))
	require.Equal(t, harness.ExitUsage, code)
	require.Contains(t, errs, "no rule protects")
	opens(m, a, once)
	exit, out = closes(m, nobody, once)
	require.EqualValues(t, 1, exit, out)
	require.Contains(t, out, "only its holder and root may close it")
	require.True(t, isOpen(m))
	m.MustCLI("rules", "close", once) // root
	_, errs, code = m.CLI("rules", "close", once)
	require.Equal(t, harness.ExitNotHeld, code, errs)
}

// The audit chain has a window before anything was changed in it. What cannot be audited is not opened.
func TestAWindowIsAuditedBeforeAnyChange(t *testing.T) {
	m := windowMount(t)
	a := harness.StartActor(t, "a")
	once := m.At("once", "a")
	var w struct {
		Window uint64
		Path   string
		Rules  []string
		Holder struct{ PID int }
	}
	exit, out := a.Run("/", "", m.Bin+" rules open --yes --json "+once+" 2>/dev/null")
	require.Zero(t, exit, out)
	require.NoError(t, json.Unmarshal([]byte(out), &w))
	require.Equal(t, []string{"made"}, w.Rules)
	opened := slices.DeleteFunc(m.AuditTail(m.Mountpoint), func(l harness.AuditLine) bool { return l.Type != "rule_window_open" })
	require.Len(t, opened, 1)
	d := opened[0].Details
	require.Equal(t, []any{float64(w.Window), "once/a", []any{"made"}, float64(0)}, []any{d["window"], d["path"], d["rules"], d["by_uid"]})
	require.Contains(t, d["holder"], fmt.Sprint(":", a.PID(), ":"))
	m.MustCLI("rules", "close", once)
	ended(m, 1)

	log := auditFile(m)
	require.NoError(t, os.Rename(log, log+".aside"))
	require.NoError(t, os.Mkdir(log, 0o755))
	exit, out = mayOpen(m, a, once)
	require.EqualValues(t, harness.ExitStore, exit, out)
	require.Contains(t, out, "E_AUDIT_FAILED")
	try(t, a, []attempt{{"no window", wrote(once), "EROFS"}})
	require.False(t, isOpen(m))
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Rename(log+".aside", log))
}

func auditFile(m *harness.Mount) string {
	var st struct {
		Mounts []struct{ Mountpoint, Audit string }
	}
	require.NoError(m.T, json.Unmarshal([]byte(m.MustCLI("status", "--json")), &st))
	i := slices.IndexFunc(st.Mounts, func(one struct{ Mountpoint, Audit string }) bool { return one.Mountpoint == m.Mountpoint })
	return st.Mounts[i].Audit
}
