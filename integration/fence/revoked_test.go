package fence

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A session whose automatic lease expired stays out, all of it, while the
// lease is free, held by others, and free again; until it acquires on purpose.
func TestARevokedSessionIsRefusedUntilItAcquires(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("in time")})
	_, first := m.HeadClaim("")
	m.LetExpire()
	before := m.Digest()
	expectRevoked(m, t, a)
	require.Empty(t, before.Diff(m.Digest()))
	require.Equal(t, 1, m.WorktreeStatus("source").Revoked)
	x, exit := m.Explain(a.PID(), m.At("f"))
	require.Equal(t, harness.ExitExpired, exit)
	require.Equal(t, "E_LOCK_EXPIRED", x.Class)
	require.Contains(t, x.Sentence, "acquires again on purpose")

	b.OK(m.Put("by another session"))
	expectRevoked(m, t, a)
	harness.Eventually(t, "the other session's lease is given back", func() bool {
		_, r := m.HeadClaim("")
		return r.Released
	})
	expectRevoked(m, t, a)

	last := m.Acquire(a)
	require.Greater(t, last.TokenNumber(t), first.TokenNumber(t)+1)
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.OK(m.Put("on purpose"))
	exitOf, said := a.Run("/", "", "echo x >"+m.At("by a child"))
	require.Zero(t, exitOf, said)
}

// Who has acquired on purpose is out of the revoked set: once it has released,
// its writes take the lease by themselves as before. The leader acquires here,
// the process to which the session's lost lease was bound.
func TestARevokedSessionThatAcquiredWritesAsBefore(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY}) // or the lease may be given back before it ends
	m.LetExpire()
	a.Fails(m.Put("f"), "EROFS")
	m.Acquire(a)
	a.OK(m.Put("f"))
	m.Release(a)
	a.OK(m.Put("by itself again"))
	require.Zero(t, m.WorktreeStatus("source").Revoked)
}

// expectRevoked tries the session's leader, its child, and its old handle.
func expectRevoked(m *harness.Mount, t *testing.T, a *harness.Actor) {
	t.Helper()
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("late")}, "EROFS")
	a.Fails(m.Put("late"), "EROFS")
	a.Fails(m.Put("f"), "EROFS")
	exit, said := a.Run("/", "", "echo late >"+m.At("late"))
	require.NotZero(t, exit, said)
	require.Contains(t, said, "Read-only file system")
}
