package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// On a store that other kernels write, a write must have reached the store before it is looked at whether it is late (rule 10 of package
// lease). O_DSYNC says so, and the kernel then syncs after each write. For FUSE it does not always: where the store's client has
// asked for direct I/O (FOPEN_DIRECT_IO), fuse_direct_write_iter syncs nothing, and leaves O_DSYNC to the client, which may not know it.
// So there each write is followed by a call of our own. It costs the same: one FSYNC.

// syncFlag is what a descriptor for writing is opened with.
func (f *rawFS) syncFlag() int {
	if f.durable && !f.syncs && !f.relies {
		return unix.O_DSYNC
	}
	return 0
}

// toStore returns when what was written through a descriptor has reached the store. An error says that it may not have. Where it
// need not (dirty.go) nothing is done.
func (f *rawFS) toStore(fd int) error {
	if !f.syncs || f.relies {
		return nil
	}
	return retry(func() error { return unix.Fdatasync(fd) })
}

// syncsNow reports whether a write has to be synced because its caller said so, by O_DSYNC, O_SYNC or RWF_DSYNC, and nothing else does it:
// the descriptor is not the one that was opened so, or the kernel leaves it to the store's client (above).
func (f *rawFS) syncsNow(in *fuse.WriteIn, h *handle) bool {
	if in.Flags&unix.O_DSYNC == 0 || in.WriteFlags&fuse.WRITE_CACHE != 0 {
		return false
	}
	return f.relies || !f.durable && !h.dsync
}

// onFUSE reports whether a descriptor is on a FUSE file system.
func onFUSE(fd int) bool {
	var st unix.Statfs_t
	return retry(func() error { return unix.Fstatfs(fd, &st) }) == nil && uint32(st.Type) == unix.FUSE_SUPER_MAGIC
}
