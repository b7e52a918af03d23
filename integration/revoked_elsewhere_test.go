package integration

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// robbed returns an actor that took the lease by writing, slept over its end, and woke up.
func (m *mount) robbed(t *testing.T, name string) *actor {
	t.Helper()
	a := startActor(t, name)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	a.stop()
	m.awaitStealable("")
	a.resume()
	return a
}

// staysOut tries a robbed session through a mount: its leader, a child, and one that left.
func (m *mount) staysOut(t *testing.T, a *actor) {
	t.Helper()
	a.fails(m.put("late"), "EROFS")
	a.fails(m.put("f"), "EROFS")
	for _, script := range []string{
		"echo late >" + m.At("late"),
		"setsid -w sh -c 'echo late >" + m.At("late") + "'",
		"setsid -w sh -c '(setsid -w sh -c \"echo late >>" + m.At("f") + "\")'",
	} {
		exit, said := a.run("/", "", script)
		require.NotZero(t, exit, "%s: %s", script, said)
		require.Contains(t, said, "Read-only file system")
	}
}

// A session that lost its lease stays out wherever the tree is mounted: through a second
// mount that never saw it, and after umount and mount, until it acquires on purpose.
func TestRevokedElsewhere(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	n := m.second()
	b := startActor(t, "b")
	a := m.robbed(t, "a")
	n.staysOut(t, a)
	m.staysOut(t, a)
	b.ok(n.put("by another session"))
	b.end()
	n.staysOut(t, a)
	before := m.digest()
	a.do(command{Op: "close", Handle: "f"}) // which keeps the mount busy
	m.unmount()
	m.mount()
	m.staysOut(t, a)
	n.staysOut(t, a)
	require.Empty(t, before.diff(m.digest()))
	require.Equal(t, 1, m.worktreeStatus("source").Revoked)

	n.acquire(a) // through the one mount: the other hears of it
	a.ok(n.put("on purpose"))
	n.release(a)
	a.ok(m.put("by itself again"))
	require.Zero(t, m.worktreeStatus("source").Revoked)
}

// Who gave its lease away, in whatever way, is nobody's robbed one.
func TestNobodyIsRevokedForGiving(t *testing.T) {
	m := newMount(t, mountOptions{policy: calm, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	writes := func(who *actor) {
		t.Helper()
		eventuallyNoted(t, who.name+" writes", func() (bool, string) {
			r := who.do(m.put("f"))
			return r.Errno == "", r.Errno
		})
	}
	remount := func() {
		m.unmount()
		m.mount()
	}
	a.ok(m.put("f")) // by writing
	remount()
	writes(a)
	m.acquire(a) // which replaces its automatic one
	m.release(a)
	remount()
	writes(a)
	m.acquire(a)
	m.handover("--to-pid", pidOf(b))
	b.ok(m.put("f"))
	m.release(b)
	remount()
	writes(a)
	a.end()
	writes(b)
	remount()
	writes(b)
	require.Zero(t, m.worktreeStatus("source").Revoked)
}

// orphaned waits until the shell's parent has ended, if it has not yet.
const orphaned = `p=$PPID n=0 now=$PPID; while [ $n -lt 1000 ] && [ $now = $p ]; do n=$((n+1)); read a b c now d </proc/$$/stat; done; `

// Nor does a double fork make anybody another: neither one whose parent alone ended, nor one
// that began its session in between.
func TestADoubleForkIsStillTheRobbedOne(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	a := m.robbed(t, "a")
	b := startActor(t, "b")
	result := m.base + "/result"
	write := orphaned + "echo late >" + m.At("late") + "; echo $? >" + result + ".new; mv " + result + ".new " + result
	for name, script := range map[string]string{
		"setsid -f": `setsid -f sh -c '` + write + `'`,
		"daemon":    `(setsid sh -c '(sh -c "$1") & exit 0' sh '` + write + `' & exit 0)`,
		"two deep":  `setsid -f sh -c 'setsid -f sh -c "$1"' sh '` + write + `'`,
	} {
		t.Run(name, func(t *testing.T) {
			exit, said := a.run("/", "", "("+script+") >/dev/null 2>&1 </dev/null")
			require.Zero(t, exit, said)
			eventually(t, "it has tried", func() bool {
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
	b.ok(m.put("f")) // who was not robbed writes
}

// A process that leaves the robbed session is still the robbed one; one that was another's
// before the loss is not.
func TestLeavingARevokedSession(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	bystander := startActor(t, "bystander")
	a := m.robbed(t, "a")
	m.staysOut(t, a)
	bystander.ok(m.put("f"))
	later := startActor(t, "later")
	bystander.end()
	eventuallyNoted(t, "who began later is no robbed one", func() (bool, string) {
		r := later.do(m.put("f"))
		return r.Errno == "", r.Errno
	})
}
