package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A session whose automatic lease expired stays out, all of it, while the
// lease is free, held by others, and free again; until it acquires on purpose.
func TestRevokedSession(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	a.ok(command{Op: "write", Handle: "f", Data: []byte("in time")})
	_, first := m.headClaim("")
	a.stop()
	m.awaitStealable("")
	before := m.digest()
	a.resume()
	m.expectRevoked(t, a)
	require.Empty(t, before.diff(m.digest()))
	require.Equal(t, 1, m.worktreeStatus("source").Revoked)
	x, exit := m.explain(a.pid(), m.At("f"))
	require.Equal(t, exitExpired, exit)
	require.Equal(t, "E_LOCK_EXPIRED", x.Class)
	require.Contains(t, x.Sentence, "acquires again on purpose")

	b.ok(m.put("by another session"))
	m.expectRevoked(t, a)
	eventually(t, "the other session's lease is given back", func() bool {
		_, r := m.headClaim("")
		return r.Released
	})
	m.expectRevoked(t, a)

	last := m.acquire(a)
	require.Greater(t, last.token(t), first.token(t)+1)
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.ok(m.put("on purpose"))
	exitOf, said := a.run("/", "", "echo x >"+m.At("by a child"))
	require.Zero(t, exitOf, said)
}

// Who has acquired on purpose is out of the revoked set: once it has released,
// its writes take the lease by themselves as before. The leader acquires here,
// the process to which the session's lost lease was bound.
func TestRevokedSessionIsAdmittedForGood(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	a := startActor(t, "a")
	a.ok(m.put("f"))
	a.stop()
	m.awaitStealable("")
	a.resume()
	a.fails(m.put("f"), "EROFS")
	m.acquire(a)
	a.ok(m.put("f"))
	m.release(a)
	a.ok(m.put("by itself again"))
	require.Zero(t, m.worktreeStatus("source").Revoked)
}

// expectRevoked tries the session's leader, its child, and its old handle.
func (m *mount) expectRevoked(t *testing.T, a *actor) {
	t.Helper()
	a.fails(command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.fails(m.put("late"), "EROFS")
	a.fails(m.put("f"), "EROFS")
	exit, said := a.run("/", "", "echo late >"+m.At("late"))
	require.NotZero(t, exit, said)
	require.Contains(t, said, "Read-only file system")
}
