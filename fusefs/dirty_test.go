package fusefs

import (
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// relying is a mount that relies on fence agents, or not.
func relying(t *testing.T, relies bool) *testMount {
	t.Helper()
	return mounted(t, layout.Tree, func(s string) { require.NoError(t, os.WriteFile(s+"/f", []byte("old"), 0o644)) },
		func(o *Options) { o.RelyOnFence = relies })
}

func (m *testMount) writer(t *testing.T) (h *handle) {
	t.Helper()
	m.fs.handles.writers(func(one *handle) { h = one })
	require.NotNil(t, h)
	return h
}

// What was written under a lease is synced at its end, also while its file is open, and when its file is closed.
func TestWrittenFilesAreSyncedAtTheEndOfTheLease(t *testing.T) {
	m := relying(t, true)
	g := m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	h := m.writer(t)
	require.False(t, h.dirty.any.Load())
	_, err = f.WriteString("new")
	require.NoError(t, err)
	require.True(t, h.dirty.any.Load())
	g.Close(lease.Loss{Kind: lease.LossReleased, Token: 1})
	require.False(t, h.dirty.any.Load())

	g = m.hold(t, "tree", 2)
	out, err := sh(t, m.dir, "echo more >f")
	require.NoError(t, err, out)
	g.Close(lease.Loss{Kind: lease.LossReleased, Token: 2})
	require.NoError(t, m.Sync())
	require.Empty(t, m.keeper.late)
}

// A sync that fails is told with the token and the file, for its writer has had its answer; and it is tried again.
func TestAFailedSyncIsToldWithTokenAndFile(t *testing.T) {
	m := relying(t, true)
	g := m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("new")
	require.NoError(t, err)
	h := m.writer(t)
	whileNoSyncWorks(t, h, func() { g.Close(lease.Loss{Kind: lease.LossReleased, Token: 1}) })
	require.True(t, h.dirty.any.Load(), "it is not synced yet")
	require.Equal(t, []lease.LateWrite{{Token: 1, Op: "Fsync", File: "/f", Failed: unix.EINVAL.Error(), Unsynced: true}}, m.keeper.late)
	require.NoError(t, m.Sync())
	require.False(t, h.dirty.any.Load())
}

// whileNoSyncWorks runs f while the descriptor of h is one that cannot be synced.
func whileNoSyncWorks(t *testing.T, h *handle, f func()) {
	t.Helper()
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	kept, err := unix.FcntlInt(uintptr(h.fd), unix.F_DUPFD_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Dup3(pipe[1], h.fd, unix.O_CLOEXEC))
	f()
	require.NoError(t, unix.Dup3(kept, h.fd, unix.O_CLOEXEC))
	for _, fd := range append(pipe[:], kept) {
		require.NoError(t, unix.Close(fd))
	}
}

// A store tells once that it has dropped what was written. If that was to a sync of our own (of a handover that then did not happen), the
// program's fsync is told, too, although there is nothing left that could fail. So is its close.
func TestAnFsyncReportsTheFailureOfAnEarlierSync(t *testing.T) {
	for _, closes := range []bool{false, true} {
		t.Run(map[bool]string{true: "close", false: "fsync"}[closes], func(t *testing.T) {
			m := relying(t, true)
			m.hold(t, "tree", 1)
			f, err := os.OpenFile(m.at("f"), os.O_WRONLY, 0)
			require.NoError(t, err)
			defer f.Close()
			_, err = f.WriteString("new")
			require.NoError(t, err)
			whileNoSyncWorks(t, m.writer(t), func() { require.ErrorIs(t, m.Sync(), unix.EINVAL) })
			require.NoError(t, m.Sync(), "it is tried again")
			if closes {
				require.ErrorIs(t, f.Close(), unix.EINVAL)
				return
			}
			require.ErrorIs(t, f.Sync(), unix.EINVAL)
			require.NoError(t, f.Sync(), "once")
			require.NoError(t, f.Close())
		})
	}
}

// What a program has synced is not synced once more at its close, and a descriptor for appends is synced with it.
func TestAnFsyncCountsAsASync(t *testing.T) {
	m := relying(t, true)
	m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("new")
	require.NoError(t, err)
	h := m.writer(t)
	require.True(t, h.dirty.any.Load())
	require.NoError(t, f.Sync())
	require.False(t, h.dirty.any.Load())

	var synced []int
	appends := &handle{fd: 7, tail: tail{fd: 8}}
	require.Equal(t, fuse.OK, appends.fsync(func(fd int) error { synced = append(synced, fd); return nil }))
	require.Equal(t, []int{7, 8}, synced)
	require.Equal(t, fuse.EIO, appends.fsync(func(int) error { return unix.EIO }))
	require.True(t, appends.dirty.any.Load(), "it is tried again at the close")
}

// Who does not rely on a fence notes nothing.
func TestNoFileIsNotedWithoutRelianceOnAFence(t *testing.T) {
	m := relying(t, false)
	m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.WriteString("new")
	require.NoError(t, err)
	require.False(t, m.writer(t).dirty.any.Load())
}

// What one write says of itself (RWF_DSYNC) is done, however its file was opened. A descriptor that syncs by itself is not synced twice.
func TestAWriteWithRWFDSYNCIsSynced(t *testing.T) {
	asked, stored := &fuse.WriteIn{Flags: unix.O_DSYNC}, &fuse.WriteIn{Flags: unix.O_DSYNC, WriteFlags: fuse.WRITE_CACHE}
	for _, x := range []struct {
		fs   *rawFS
		h    *handle
		in   *fuse.WriteIn
		sync bool
	}{
		{&rawFS{}, &handle{}, asked, true},
		{&rawFS{}, &handle{dsync: true}, asked, false},
		{&rawFS{}, &handle{}, &fuse.WriteIn{}, false},
		{&rawFS{}, &handle{}, stored, false},
		{&rawFS{durable: true}, &handle{}, asked, false}, // each write is synced there
		{&rawFS{durable: true, relies: true}, &handle{dsync: true}, asked, true},
	} {
		require.Equal(t, x.sync, x.fs.syncsNow(x.in, x.h))
	}
}

// A program knows that its fsync has failed. That what it had written may reach the store yet is told to the keeper, once for each open file.
func TestAnFsyncThatFailsIsToldIfTheStoreMayHaveItYet(t *testing.T) {
	m := relying(t, true)
	m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	h := m.writer(t)
	for _, st := range []fuse.Status{fuse.OK, fuse.Status(unix.ENOSPC), fuse.EIO, fuse.Status(unix.ENOTCONN)} {
		require.Equal(t, st, m.fs.tellIfUnsure(h, st))
	}
	require.Equal(t, []lease.LateWrite{{Token: 1, Op: "Fsync", File: "/f", Failed: unix.EIO.Error(), Unsynced: true, Unsure: true}}, m.keeper.late)

	_, err = f.WriteString("new")
	require.NoError(t, err)
	whileNoSyncWorks(t, h, func() { require.ErrorIs(t, f.Sync(), unix.EINVAL) })
	require.Len(t, m.keeper.late, 1, "the store has refused that")
}
