package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newFullable is a mount whose lock directory is on a file system of its own
// with room for some records, and the file that fills it up.
func newFullable(t *testing.T, o mountOptions) (m *mount, filler string) {
	t.Helper()
	requireFuse(t)
	// Made before the mount, so that it is taken away after it.
	small := newBase(t)
	require.NoError(t, unix.Mount("tmpfs", small, "tmpfs", 0, "size=96k,mode=700"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(small, 0)) })
	m = prepareMount(t, o)
	m.LockDir = filepath.Join(small, "control")
	m.mount()
	return m, filepath.Join(small, "filler")
}

// fill takes all the room that is left.
func fill(t *testing.T, filler string) {
	t.Helper()
	f, err := os.Create(filler)
	require.NoError(t, err)
	defer f.Close()
	block := make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
	}
	require.ErrorIs(t, err, unix.ENOSPC)
}

// A full lock directory is told as such. Who holds goes on and gives back,
// because a record is rewritten in its place; nobody new begins, and with room
// again tokens go on growing.
func TestFullLockDirectory(t *testing.T) {
	m, filler := newFullable(t, mountOptions{onFree: "deny", policy: hasty, prepare: withFiles("f")})
	a, b := startActor(t, "a"), startActor(t, "b")
	first := m.acquire(a)
	a.ok(m.put("f"))
	fill(t, filler)
	eventually(t, "the lease is renewed on a full disk", func() bool {
		_, now := m.headClaim("")
		return now.RenewedAt.Sub(first.RenewedAt) > 2*hasty.lease
	})
	a.ok(m.put("f"))
	m.release(a)
	file, released := m.headClaim("")
	require.True(t, released.Released)
	require.Equal(t, first.token(t), released.token(t))

	before := m.digest()
	for _, who := range []*actor{a, b} {
		exit, said := m.tryLock("acquire", who)
		require.Equal(t, exitStore, exit, said)
		require.Contains(t, said, "E_STORE_FAILED")
		require.Contains(t, said, "no space left on device")
		require.Contains(t, said, m.LockDir)
		who.fails(m.put("f"), "EROFS")
	}
	require.Empty(t, before.diff(m.digest()))
	head, still := m.headClaim("")
	require.Equal(t, file, head)
	require.Equal(t, released, still)

	require.NoError(t, os.Remove(filler))
	second := m.acquire(b)
	require.Greater(t, second.token(t), first.token(t))
	b.ok(m.put("f"))
}

// A writer that would take the lease by itself is refused, and may once there
// is room.
func TestFullLockDirectoryOnFree(t *testing.T) {
	m, filler := newFullable(t, mountOptions{policy: hasty, prepare: withFiles("f")})
	a := startActor(t, "a")
	fill(t, filler)
	before := m.digest()
	a.fails(m.put("f"), "EROFS")
	require.Empty(t, before.diff(m.digest()))
	refusals := m.worktreeStatus("source").LastRefusals
	require.NotEmpty(t, refusals)
	require.Contains(t, refusals[len(refusals)-1], "no space left on device")
	require.NoError(t, os.Remove(filler))
	eventuallyNoted(t, "with room the write passes", func() (bool, string) {
		r := a.do(m.put("f"))
		return r.Errno == "", r.Errno
	})
	_, r := m.headClaim("")
	require.False(t, r.Released)
}
