package daemon

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func TestExplainTellsTheDecisionWithItsReason(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	x, exit := m.Explain(a.PID(), m.At("f"))
	require.Equal(t, harness.ExitNotHeld, exit)
	require.False(t, x.Allowed)
	require.Equal(t, "E_LOCK_NOT_HELD", x.Class)
	require.Contains(t, x.Next, "jvsfs lock acquire "+m.Mountpoint)
	require.Nil(t, x.Holder)

	r := m.Acquire(a)
	x, exit = m.Explain(a.PID(), m.At("f"))
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.Empty(t, x.Class)
	require.Equal(t, []any{"source", m.At("f"), m.Mountpoint, a.PID(), true}, []any{x.Worktree, x.Path, x.Mountpoint, x.PID, x.Mounted})
	x, exit = m.Explain(b.PID(), m.At("not/there/yet"))
	require.Equal(t, harness.ExitConflict, exit)
	require.False(t, x.Allowed)
	require.Equal(t, []string{"E_LOCK_CONFLICT", "EROFS"}, []string{x.Class, x.Errno})
	require.Contains(t, x.Sentence, r.HolderID)
	require.NotEmpty(t, x.Next)
	require.Equal(t, []any{r.HolderID, "tree", r.TokenNumber(t)}, []any{x.Holder.ID, x.Holder.Scope, x.Holder.Token})
	require.WithinDuration(t, r.ExpiresAt, x.Holder.ExpiresAt, harness.Patience)

	out, _, exit := m.CLI("explain", "--pid", strconv.Itoa(b.PID()), m.At("f"))
	require.Equal(t, harness.ExitConflict, exit)
	require.Regexp(t, `(?s)^\S+/mnt/f: a write by process \d+ would be refused with EROFS \(E_LOCK_CONFLICT\)\n.*holder: \S+, scope tree, token 1, until .* left\)\n  next: `, out)
	out = m.MustCLI("explain", "--pid", strconv.Itoa(a.PID()), m.At("f"))
	require.Contains(t, out, "would pass")
	_, said := a.Run("/", "", m.Bin+" explain "+m.At("f"))
	require.Contains(t, said, "would pass", "without --pid it is about the caller")
	// Asking is no attempt.
	require.Zero(t, m.WorktreeStatus("source").Refusals)
	b.Fails(m.Put("f"), "EROFS")
	st := m.WorktreeStatus("source")
	require.NotZero(t, st.Refusals)
	require.Contains(t, strings.Join(st.LastRefusals, "\n"), "E_LOCK_CONFLICT")
}

func TestExplainTellsOfAFreeLeaseAndOfPathsElsewhere(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	x, exit := m.Explain(a.PID(), m.At("f"))
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.Contains(t, x.Sentence, "would take it")
	require.Zero(t, m.WorktreeStatus("source").Token, "asking takes nothing")
	x, exit = m.Explain(a.PID(), m.Base)
	require.Zero(t, exit)
	require.True(t, x.Allowed)
	require.False(t, x.Mounted)
	require.Contains(t, x.Sentence, "no jvsfs mount")
}

// doctor knows a healthy mount, and tells by ok and exit code what its
// findings say. Findings about other people's mounts are theirs.
func TestDoctorFindsNothingWrongWithAHealthyMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	m.Acquire(a)
	for _, options := range [][]string{nil, {"--strict"}} {
		all, ok, exit := m.Doctor(options...)
		bad := slices.ContainsFunc(all, func(f harness.Finding) bool {
			return f.Severity == "fail" || options != nil && f.Severity == "warn"
		})
		require.Equal(t, !bad, ok, "%v: %+v", options, all)
		require.Equal(t, !bad, exit == 0)
		for _, f := range all {
			require.Contains(t, []string{"ok", "warn", "fail"}, f.Severity)
			require.NotEmpty(t, f.Message)
			require.True(t, f.Severity == "ok" || f.Fix != "" || f.Check == "tier", "%+v", f)
		}
		for _, want := range [][2]string{{"mounts", m.Mountpoint + " serves " + m.Source}, {"records", "worktree source: held by "}, {"locks", "is private"}} {
			found := all.About(want[0], want[1])
			require.NotEmpty(t, found, "%v in %+v", want, all)
			require.Equal(t, "ok", found[0].Severity)
		}
		require.NotEmpty(t, all.About("clock", ""))
		require.NotEmpty(t, all.About("kernel", ""))
		require.NotEmpty(t, all.Of("kernel.fuse", m.Mountpoint+" speaks FUSE 7."))
	}
	require.Contains(t, m.MustCLI("lock", "status", m.Mountpoint), "held")

	// An unclean end is a warning, which --strict counts.
	a.Stop()
	m.AwaitStealable("")
	harness.Eventually(t, "doctor warns of the lease that nobody released", func() bool {
		all, _, _ := m.Doctor("--strict")
		found := all.About("records", "was not released")
		return len(found) == 1 && found[0].Severity == "warn"
	})
	_, ok, exit := m.Doctor("--strict")
	require.False(t, ok)
	require.Equal(t, 1, exit)
	a.Resume()
}

// doctor finds who bypasses a mount in place, and a lock directory that others
// may read.
func TestDoctorNamesWhoBypassesAMount(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{InPlace: true, Prepare: harness.WithFiles("f")})
	early := harness.StartActor(t, "early")
	early.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	m.Mount()
	all, _, _ := m.Doctor()
	found := all.About("bypass", "process "+strconv.Itoa(early.PID())+" ")
	require.Len(t, found, 1, "%+v", all)
	require.Contains(t, found[0].Message, m.At("f"))
	require.Equal(t, "warn", found[0].Severity)
	require.NoError(t, unix.Chmod(m.LockDir, 0o755))
	all, ok, exit := m.Doctor()
	require.Len(t, all.About("locks", "secrets"), 1)
	require.False(t, ok)
	require.Equal(t, 1, exit)
	early.OK(harness.Command{Op: "close", Handle: "f"})
	all, _, _ = m.Doctor()
	require.Empty(t, all.About("bypass", "process "+strconv.Itoa(early.PID())+" "))
}
