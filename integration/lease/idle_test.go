package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

func awaitReleased(m *harness.Mount, t *testing.T) harness.Record {
	t.Helper()
	var r harness.Record
	harness.Eventually(t, "the lease is given back", func() bool {
		_, r = m.HeadClaim("")
		return r.Released
	})
	return r
}

// An automatic lease is given back when nobody has written for a lease, not
// before; that is no loss, and the session may write again.
func TestAnIdleAutomaticLeaseIsGivenBack(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	began := time.Now() // before the write: what the machine takes longer only adds to it
	a.OK(m.Put("f"))
	_, first := m.HeadClaim("")
	awaitReleased(m, t)
	require.GreaterOrEqual(t, time.Since(began), harness.Hasty.Lease)
	require.Zero(t, m.WorktreeStatus("source").Revoked)
	a.OK(m.Put("f"))
	_, second := m.HeadClaim("")
	require.Equal(t, first.TokenNumber(t)+1, second.TokenNumber(t))
	b.Fails(m.Put("f"), "EROFS")
	awaitReleased(m, t)
	b.OK(m.Put("f"))
}

// Not while a file is open for writing, nor while somebody goes on writing;
// reading keeps nothing.
func TestAnOpenFileKeepsAnIdleAutomaticLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f", "read")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY | unix.O_APPEND})
	a.OK(harness.Command{Op: "open", Handle: "read", Path: m.At("read"), Flags: unix.O_RDONLY})
	_, first := m.HeadClaim("")
	awaitRenewals(m, t, first, 3)
	b.Fails(m.Put("f"), "EROFS")
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("still")})
	require.EqualValues(t, 1, m.WorktreeStatus("source").WriteHandles)
	a.OK(harness.Command{Op: "close", Handle: "f"})
	awaitReleased(m, t)
	b.OK(m.Put("f"))
	a.OK(harness.Command{Op: "close", Handle: "read"})
}

// awaitRenewals waits until the lease has lived for so many lengths.
func awaitRenewals(m *harness.Mount, t *testing.T, first harness.Record, lengths int) {
	t.Helper()
	harness.Eventually(t, "the lease is renewed", func() bool {
		_, now := m.HeadClaim("")
		require.Equal(t, first.TokenNumber(t), now.TokenNumber(t))
		require.False(t, now.Released)
		return now.RenewedAt.Sub(first.RenewedAt) > time.Duration(lengths)*m.Opts.Policy.Lease
	})
}

// A session that writes, and then acquires on purpose, goes on with what it has open: it is
// the same lease. Who belongs to it is then as for any lease on purpose.
func TestAnAutomaticLeaseAcquiredOnPurposeStaysTheSameLease(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f", "mapped")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("by writing")})
	_, first := m.HeadClaim("")
	exit, said := a.Run("/", "setsid", "touch "+m.At("in another session"))
	require.NotZero(t, exit, said)
	on := m.Acquire(a)
	require.Equal(t, first.Token, on.Token)
	require.Equal(t, first.HolderID, on.HolderID)
	a.OK(harness.Command{Op: "write", Handle: "f", Data: []byte("on purpose")})
	a.OK(harness.Command{Op: "fsync", Handle: "f"})
	exit, said = a.Run("/", "setsid", "touch "+m.At("in another session"))
	require.Zero(t, exit, said)
	b.Fails(m.Put("f"), "EROFS")
	x, _ := m.Explain(b.PID(), m.At("f"))
	require.Equal(t, []any{"tree", false}, []any{x.Holder.Scope, m.WorktreeStatus("source").Auto})
	a.OK(harness.Command{Op: "close", Handle: "f"})
	awaitRenewals(m, t, on, 2) // it is not idle
	m.Release(a)
	b.OK(m.Put("f"))
}

// A lease taken on purpose is never idle.
func TestALeaseTakenOnPurposeIsNotGivenBackWhenIdle(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	a.OK(m.Put("f"))
	first := m.Acquire(a) // turns the automatic one into one on purpose
	awaitRenewals(m, t, first, 3)
	b.Fails(m.Put("f"), "EROFS")
	a.OK(m.Put("f"))
}
