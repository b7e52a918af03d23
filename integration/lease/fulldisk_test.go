package lease

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// newFullable is a mount whose lock directory is on a file system of its own
// with room for some records, and the file that fills it up.
func newFullable(t *testing.T, o harness.MountOptions) (m *harness.Mount, filler string) {
	t.Helper()
	// Made before the mount, so that it is taken away after it.
	small := harness.NewBase(t)
	require.NoError(t, unix.Mount("tmpfs", small, "tmpfs", 0, "size=96k,mode=700"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(small, 0)) })
	m = harness.PrepareMount(t, o)
	m.LockDir = filepath.Join(small, "control")
	m.Mount()
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

// A full lock directory is reported as such. A holder continues and can give its lease back, because a record
// is rewritten in place. No new lease begins. With room again, tokens continue to grow.
func TestAHolderGoesOnWithAFullLockDirectoryAndNobodyAcquires(t *testing.T) {
	m, filler := newFullable(t, harness.MountOptions{OnFree: "deny", Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	first := m.Acquire(a)
	a.OK(m.Put("f"))
	fill(t, filler)
	harness.Eventually(t, "the lease is renewed on a full disk", func() bool {
		_, now := m.HeadClaim("")
		return now.RenewedAt.Sub(first.RenewedAt) > 2*harness.Hasty.Lease
	})
	a.OK(m.Put("f"))
	m.Release(a)
	file, released := m.HeadClaim("")
	require.True(t, released.Released)
	require.Equal(t, first.TokenNumber(t), released.TokenNumber(t))

	before := m.Digest()
	for _, who := range []*harness.Actor{a, b} {
		exit, said := m.TryLock("acquire", who)
		require.Equal(t, harness.ExitStore, exit, said)
		require.Contains(t, said, "E_STORE_FAILED")
		require.Contains(t, said, "no space left on device")
		require.Contains(t, said, m.LockDir)
		who.Fails(m.Put("f"), "EROFS")
	}
	require.Empty(t, before.Diff(m.Digest()))
	head, still := m.HeadClaim("")
	require.Equal(t, file, head)
	require.Equal(t, released, still)

	require.NoError(t, os.Remove(filler))
	second := m.Acquire(b)
	require.Greater(t, second.TokenNumber(t), first.TokenNumber(t))
	b.OK(m.Put("f"))
}

// A writer that would take the lease by itself is refused, and may once there
// is room.
func TestAWriterIsRefusedWhileTheLockDirectoryIsFull(t *testing.T) {
	m, filler := newFullable(t, harness.MountOptions{Policy: harness.Hasty, Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	fill(t, filler)
	before := m.Digest()
	a.Fails(m.Put("f"), "EROFS")
	require.Empty(t, before.Diff(m.Digest()))
	refusals := m.WorktreeStatus("source").LastRefusals
	require.NotEmpty(t, refusals)
	require.Contains(t, refusals[len(refusals)-1], "no space left on device")
	require.NoError(t, os.Remove(filler))
	harness.EventuallyNoted(t, "with room the write passes", func() (bool, string) {
		r := a.Do(m.Put("f"))
		return r.Errno == "", r.Errno
	})
	_, r := m.HeadClaim("")
	require.False(t, r.Released)
}
