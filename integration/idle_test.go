package integration

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func (m *mount) awaitReleased(t *testing.T) record {
	t.Helper()
	var r record
	eventually(t, "the lease is given back", func() bool {
		_, r = m.headClaim("")
		return r.Released
	})
	return r
}

// An automatic lease is given back when nobody has written for a lease, not
// before; that is no loss, and the session may write again.
func TestIdleLeaseIsGivenBack(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	a.ok(m.put("f"))
	_, first := m.headClaim("")
	written := time.Now()
	m.awaitReleased(t)
	require.GreaterOrEqual(t, time.Since(written), hasty.lease*9/10)
	require.Zero(t, m.worktreeStatus("source").Revoked)
	a.ok(m.put("f"))
	_, second := m.headClaim("")
	require.Equal(t, first.token(t)+1, second.token(t))
	b.fails(m.put("f"), "EROFS")
	m.awaitReleased(t)
	b.ok(m.put("f"))
}

// Not while a file is open for writing, nor while somebody goes on writing;
// reading keeps nothing.
func TestIdleLeaseWithAnOpenFile(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f", "read")})
	a, b := startActor(t, "a"), startActor(t, "b")
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY | unix.O_APPEND})
	a.ok(command{Op: "open", Handle: "read", Path: m.At("read"), Flags: unix.O_RDONLY})
	_, first := m.headClaim("")
	m.awaitRenewals(t, first, 3)
	b.fails(m.put("f"), "EROFS")
	a.ok(command{Op: "write", Handle: "f", Data: []byte("still")})
	require.EqualValues(t, 1, m.worktreeStatus("source").WriteHandles)
	a.ok(command{Op: "close", Handle: "f"})
	m.awaitReleased(t)
	b.ok(m.put("f"))
	a.ok(command{Op: "close", Handle: "read"})
}

// awaitRenewals waits until the lease has lived for so many lengths.
func (m *mount) awaitRenewals(t *testing.T, first record, lengths int) {
	t.Helper()
	eventually(t, "the lease is renewed", func() bool {
		_, now := m.headClaim("")
		require.Equal(t, first.token(t), now.token(t))
		require.False(t, now.Released)
		return now.RenewedAt.Sub(first.RenewedAt) > time.Duration(lengths)*m.opts.policy.lease
	})
}

// A lease taken on purpose is never idle.
func TestLeaseOnPurposeIsNeverIdle(t *testing.T) {
	m := newMount(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	a.ok(m.put("f"))
	first := m.acquire(a) // turns the automatic one into one on purpose
	m.awaitRenewals(t, first, 3)
	b.fails(m.put("f"), "EROFS")
	a.ok(m.put("f"))
}
