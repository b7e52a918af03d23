package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

const seenRules = `- name: agency
  lock: 'repos/{repo}/.lock'
  taken_by: create
  guards: ['repos/{repo}/**']
  except: ['repos/*/.lock']
- name: sealed
  once: ['sealed/*']
- name: nothing
  lock: 'nowhere/{x}.lock'
  taken_by: create
`

// seenMount has the rules above, and a lock that was there before.
func seenMount(t *testing.T) *harness.Mount {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: func(t testing.TB, dir string) {
		for _, name := range []string{"repos/a/meta", "repos/b/meta", "repos/b/.lock", "sealed/x"} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644))
		}
	}})
	m.Opts.Extra = []string{"--mode", "shared", "--rules", m.WriteConfig("rules.yaml", seenRules)}
	m.Mount()
	return m
}

func takes(a *harness.Actor, lock string) harness.Reply {
	return a.Do(harness.Command{Op: "writefile", Path: lock, Flags: unix.O_CREAT | unix.O_EXCL, Mode: 0o644, Data: []byte("x")})
}

func overwrites(a *harness.Actor, path string) string {
	return a.Do(harness.Command{Op: "writefile", Path: path, Flags: unix.O_TRUNC, Data: []byte("y")}).Errno
}

// explain says who holds the lock of a path, and what the asking process may do.
func TestExplainNamesTheHolderOfAProgramsLock(t *testing.T) {
	m := seenMount(t)
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	meta, lock := m.At("repos", "a", "meta"), m.At("repos", "a", ".lock")
	x, exit := m.Explain(other.PID(), meta)
	require.Equal(t, harness.ExitNotHeld, exit)
	require.Contains(t, x.Sentence, "repos/a/meta is guarded by rule agency: nobody holds its lock repos/a/.lock")

	require.Empty(t, takes(holder, lock).Errno)
	for _, path := range []string{meta, lock} {
		x, exit = m.Explain(holder.PID(), path)
		require.True(t, x.Allowed, path)
		require.Zero(t, exit)
		x, exit = m.Explain(other.PID(), path)
		require.Equal(t, harness.ExitConflict, exit, path)
		require.Contains(t, x.Sentence, "its lock repos/a/.lock is held since", path)
		require.Contains(t, x.Sentence, fmt.Sprintf("by process %d (", holder.PID()), path)
		require.Contains(t, x.Next, "jvsfs rules break "+path, path)
	}
	require.Equal(t, "EROFS", overwrites(other, meta), "as was explained")
	require.Empty(t, overwrites(holder, meta))

	x, _ = m.Explain(other.PID(), m.At("repos", "b", "meta"))
	require.Contains(t, x.Sentence, "its lock repos/b/.lock is there, and nobody was seen to take it")
	x, exit = m.Explain(other.PID(), m.At("sealed", "x"))
	require.Equal(t, "E_IMMUTABLE", x.Class)
	require.Equal(t, 1, exit)
	x, _ = m.Explain(other.PID(), m.At("sealed", "new"))
	require.Contains(t, x.Sentence, "may be made, and never be changed after that (once of rule sealed)")

	_, errs, exit := m.CLI("hook", "--pid", strconv.Itoa(other.PID()), meta)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "is guarded by rule agency")
}

// status and doctor show each lock that is held, left or unknown.
func TestStatusAndDoctorShowLocksOfRules(t *testing.T) {
	m := seenMount(t)
	holder := harness.StartActor(t, "holder")
	require.Empty(t, takes(holder, m.At("repos", "a", ".lock")).Errno)
	require.NotEmpty(t, overwrites(harness.StartActor(t, "other"), m.At("repos", "b", "meta")))
	require.Regexp(t, fmt.Sprintf(`(?m)^ +agency\{repo=a\} +held +\d+ +process %d \(`, holder.PID()), m.MustCLI("status"))
	require.Regexp(t, `(?m)^ +agency\{repo=b\} +unknown +- +- +- +0 +1$`, m.MustCLI("status"))
	m.RequireFinding("rules.unknown", "lock repos/b/.lock of rule agency", "jvsfs rules break")
	m.RequireFinding("rules.never", "rule nothing has matched nothing", "jvsfs rules test")
	m.RequireNoFinding("rules.never", "agency")
	m.RequireNoFinding("rules.gone", "")

	holder.End()
	harness.Eventually(t, "the holder is seen to have ended", func() bool { return strings.Contains(m.MustCLI("status"), "agency{repo=a}  gone") })
	m.RequireFinding("rules.gone", "lock repos/a/.lock of rule agency", "jvsfs rules break")
}

// top shows the lock files of rules, and a maintenance window; rules PATH and the metrics, too.
func TestTopShowsLocksOfRulesAndWindows(t *testing.T) {
	m := seenMount(t)
	holder := harness.StartActor(t, "holder")
	require.Empty(t, takes(holder, m.At("repos", "a", ".lock")).Errno)
	require.NotEmpty(t, overwrites(holder, m.At("repos", "b", "meta")))
	exit, out := holder.Run("/", "", m.Bin+" rules open --yes "+m.At("sealed", "x"))
	require.Zero(t, exit, out)
	c := newTerminal(m, 110, 30, m.Bin+" top --interval 200ms")
	c.shows("lock agency{repo=a}  held by process "+strconv.Itoa(holder.PID()), "lock agency{repo=b}  unknown: nobody was seen to take it, 1 refused",
		"/sealed/x  window of process "+strconv.Itoa(holder.PID())+" (maintenance) until")
	c.keys("q")
	require.Contains(t, m.MustCLI("rules", m.Mountpoint), "maintenance window at sealed/x of process "+strconv.Itoa(holder.PID()))
	exit, out = holder.Run("/", "", m.Bin+" rules close "+m.At("sealed", "x"))
	require.Zero(t, exit, out)
	require.NotContains(t, m.MustCLI("rules", m.Mountpoint), "maintenance window")
}

// rules break takes a lock from its holder, who stays out until it takes it anew. The audit chain has who did it.
func TestRulesBreakTakesALockFromItsHolder(t *testing.T) {
	m := seenMount(t)
	holder, other := harness.StartActor(t, "holder"), harness.StartActor(t, "other")
	meta, lock := m.At("repos", "a", "meta"), m.At("repos", "a", ".lock")
	_, errs, exit := m.CLI("rules", "break", "--yes", meta)
	require.Equal(t, harness.ExitNotHeld, exit)
	require.Contains(t, errs, "nobody holds repos/a/.lock")

	require.Empty(t, takes(holder, lock).Errno)
	_, errs, exit = m.CLI("rules", "break", meta)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "a break wants an answer")
	var was struct {
		ID, State string
		Tenure    uint64
		Holder    struct{ PID int }
	}
	require.NoError(t, json.Unmarshal([]byte(m.MustCLI("rules", "break", "--yes", "--json", meta)), &was))
	require.Equal(t, "agency{repo=a}", was.ID)
	require.Equal(t, holder.PID(), was.Holder.PID)
	require.NoFileExists(t, filepath.Join(m.View, "repos", "a", ".lock"))
	require.NoFileExists(t, lock)

	require.Empty(t, takes(other, lock).Errno)
	require.Equal(t, "EROFS", overwrites(holder, meta))
	x, _ := m.Explain(holder.PID(), meta)
	require.Equal(t, "E_FENCING_MISMATCH", x.Class)
	require.Equal(t, "EROFS", holder.Do(harness.Command{Op: "unlink", Path: lock}).Errno, "a late release")
	require.Empty(t, overwrites(other, meta))

	require.Contains(t, m.MustCLI("rules", "break", "--yes", m.At("repos", "b", ".lock")), "broke agency{repo=b}: removed repos/b/.lock")
	_, err := os.Lstat(m.At("repos", "b", ".lock"))
	require.ErrorIs(t, err, os.ErrNotExist)
	var broken []harness.AuditLine
	harness.Eventually(t, "both are in the audit chain", func() bool {
		broken = nil
		for _, l := range m.AuditTail(m.Mountpoint) {
			if l.Type == "rule_break" {
				broken = append(broken, l)
			}
		}
		return len(broken) == 2
	})
	d := broken[0].Details
	require.Equal(t, []any{"agency", "repos/a/.lock", float64(was.Tenure), float64(0)}, []any{d["rule"], d["lock"], d["tenure"], d["by_uid"]})
	require.Contains(t, d["holder"], fmt.Sprint(":", holder.PID(), ":"))
	harness.Eventually(t, "the refusals are in it, with the rule and the lock", func() bool {
		return slices.ContainsFunc(m.AuditTail(m.Mountpoint), func(l harness.AuditLine) bool {
			return l.Type == "write_refused" && l.Details["rule"] == "agency" && l.Details["lock"] == "repos/a/.lock" &&
				strings.Contains(fmt.Sprint(l.Details["reason"]), "of rule agency was taken from")
		})
	})
}
