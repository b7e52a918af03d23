package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// Read is the form of ReadInto that go-fuse calls.
func (f *rawFS) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, st := f.ReadInto(in, buf)
	if st != fuse.OK {
		return nil, st
	}
	return fuse.ReadResultData(buf[:n]), fuse.OK
}

// ReadInto reads from a handle. No lease is needed. Large reads come here only if they cannot be
// spliced.
func (f *rawFS) ReadInto(in *fuse.ReadIn, buf []byte) (int, fuse.Status) {
	f.stats.count(gate.OpRead)
	h := f.handles.get(in.Fh)
	if h == nil {
		return 0, fuse.EBADF
	}
	size := min(int(in.Size), len(buf))
	n, err := retryInt(func() (int, error) { return unix.Pread(h.fd, buf[:size], int64(in.Offset)) })
	if err != nil {
		return 0, status(err)
	}
	return n, fuse.OK
}

// Lseek finds data and holes. The kernel answers the other whences itself.
func (f *rawFS) Lseek(_ <-chan struct{}, in *fuse.LseekIn, out *fuse.LseekOut) fuse.Status {
	f.stats.count(gate.OpLseek)
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	off, err := unix.Seek(h.fd, int64(in.Offset), int(in.Whence))
	out.Offset = uint64(off)
	return status(err)
}
