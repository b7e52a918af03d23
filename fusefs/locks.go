package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/jvsfs/jvsfs/gate"
)

// File locks stay in the kernel: the mount does not ask for them, so flock(2) and
// fcntl(2) locks work as on a local file system, interruptible, between all
// processes that come through the mount.

// GetLk is never asked.
func (f *rawFS) GetLk(<-chan struct{}, *fuse.LkIn, *fuse.LkOut) fuse.Status {
	f.stats.count(gate.OpGetLk)
	return fuse.ENOSYS
}

// SetLk is never asked.
func (f *rawFS) SetLk(<-chan struct{}, *fuse.LkIn) fuse.Status {
	f.stats.count(gate.OpSetLk)
	return fuse.ENOSYS
}

// SetLkw is never asked.
func (f *rawFS) SetLkw(<-chan struct{}, *fuse.LkIn) fuse.Status {
	f.stats.count(gate.OpSetLkw)
	return fuse.ENOSYS
}
