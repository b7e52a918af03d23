package fence

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// robbed returns an actor that took the lease by writing and lost it.
func robbed(m *harness.Mount, t *testing.T, name string) *harness.Actor {
	t.Helper()
	a := harness.StartActor(t, name)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	m.LetExpire()
	return a
}

// staysOut tries a robbed session through a mount: its leader, a child, and one that left.
func staysOut(m *harness.Mount, t *testing.T, a *harness.Actor) {
	t.Helper()
	a.Fails(m.Put("late"), "EROFS")
	a.Fails(m.Put("f"), "EROFS")
	for _, script := range []string{
		"echo late >" + m.At("late"),
		"setsid -w sh -c 'echo late >" + m.At("late") + "'",
		"setsid -w sh -c '(setsid -w sh -c \"echo late >>" + m.At("f") + "\")'",
	} {
		exit, said := a.Run("/", "", script)
		require.NotZero(t, exit, "%s: %s", script, said)
		require.Contains(t, said, "Read-only file system")
	}
}

// A session that lost its lease stays out wherever the tree is mounted: through a second
// mount that never saw it, and after umount and mount, until it acquires on purpose.
func TestARevokedSessionIsRefusedThroughEveryMount(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	n := m.Second()
	b := harness.StartActor(t, "b")
	a := robbed(m, t, "a")
	staysOut(n, t, a)
	staysOut(m, t, a)
	b.OK(n.Put("by another session"))
	b.End()
	staysOut(n, t, a)
	before := m.Digest()
	a.Do(harness.Command{Op: "close", Handle: "f"}) // which keeps the mount busy
	m.Unmount()
	m.Mount()
	staysOut(m, t, a)
	staysOut(n, t, a)
	require.Empty(t, before.Diff(m.Digest()))
	require.Equal(t, 1, m.WorktreeStatus("source").Revoked)

	n.Acquire(a) // through the one mount: the other hears of it
	a.OK(n.Put("on purpose"))
	n.Release(a)
	a.OK(m.Put("by itself again"))
	require.Zero(t, m.WorktreeStatus("source").Revoked)
}

// A holder that gave its lease away, in any way, does not count as robbed.
func TestAHolderThatGaveItsLeaseAwayIsNotRevoked(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Calm, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	writes := func(who *harness.Actor) {
		t.Helper()
		harness.EventuallyNoted(t, who.Name+" writes", func() (bool, string) {
			r := who.Do(m.Put("f"))
			return r.Errno == "", r.Errno
		})
	}
	remount := func() {
		m.Unmount()
		m.Mount()
	}
	a.OK(m.Put("f")) // by writing
	remount()
	writes(a)
	m.Acquire(a) // which replaces its automatic one
	m.Release(a)
	remount()
	writes(a)
	m.Acquire(a)
	m.Handover("--to-pid", harness.PIDOf(b))
	b.OK(m.Put("f"))
	m.Release(b)
	remount()
	writes(a)
	a.End()
	writes(b)
	remount()
	writes(b)
	require.Zero(t, m.WorktreeStatus("source").Revoked)
}

// orphaned waits until the shell's parent has ended, if it has not yet.
const orphaned = `p=$PPID n=0 now=$PPID; while [ $n -lt 1000 ] && [ $now = $p ]; do n=$((n+1)); read a b c now d </proc/$$/stat; done; `

// Nor does a double fork make anybody another: neither one whose parent alone ended, nor one
// that began its session in between.
func TestADoubleForkOfARevokedSessionIsRefused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := robbed(m, t, "a")
	b := harness.StartActor(t, "b")
	result := m.Base + "/result"
	write := orphaned + "echo late >" + m.At("late") + "; echo $? >" + result + ".new; mv " + result + ".new " + result
	for name, script := range map[string]string{
		"setsid -f": `setsid -f sh -c '` + write + `'`,
		"daemon":    `(setsid sh -c '(sh -c "$1") & exit 0' sh '` + write + `' & exit 0)`,
		"two deep":  `setsid -f sh -c 'setsid -f sh -c "$1"' sh '` + write + `'`,
	} {
		t.Run(name, func(t *testing.T) {
			exit, said := a.Run("/", "", "("+script+") >/dev/null 2>&1 </dev/null")
			require.Zero(t, exit, said)
			harness.Eventually(t, "it has tried", func() bool {
				_, err := os.Stat(result)
				return err == nil
			})
			got, err := os.ReadFile(result)
			require.NoError(t, err)
			require.NotEqual(t, "0\n", string(got))
			require.NoError(t, os.Remove(result))
			require.NoFileExists(t, m.At("late"))
		})
	}
	b.OK(m.Put("f")) // who was not robbed writes
}

// A process that leaves the robbed session is still the robbed one; one that was another's
// before the loss is not.
func TestAProcessThatLeavesARevokedSessionIsRefused(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	bystander := harness.StartActor(t, "bystander")
	a := robbed(m, t, "a")
	staysOut(m, t, a)
	bystander.OK(m.Put("f"))
	later := harness.StartActor(t, "later")
	bystander.End()
	harness.EventuallyNoted(t, "who began later is no robbed one", func() (bool, string) {
		r := later.Do(m.Put("f"))
		return r.Errno == "", r.Errno
	})
}
