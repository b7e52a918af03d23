package fusefs

import (
	"errors"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Large reads go from the backing file to the kernel's request through a pipe, and not
// through the daemon's memory: one copy of the bytes instead of two. A small read is
// cheaper as a pread and a write. go-fuse's own server does so; its ProtocolServer,
// which has no pipe, does not.

// spliceFrom is the size, in bytes, from which on a read is worth a pipe.
const spliceFrom = 64 << 10

// pipeSize holds the largest answer, maxRead at any offset, and a page for its header. A
// pipe has a slot for each page, a power of two of them. This is as many as a daemon may
// have that was not given CAP_SYS_RESOURCE (fs.pipe-max-size).
const pipeSize = 1 << 20

const outHeaderSize = int(unsafe.Sizeof(fuse.OutHeader{}))

// splicer is a reader's pipe. It belongs to one goroutine.
type splicer struct {
	r, w int // 0 is none
	off  bool
}

// errPipe says that the pipe cannot be used any more.
var errPipe = errors.New("the pipe is in an unknown state")

// open makes the pipe, once. It is false where a pipe of the size cannot be had.
func (s *splicer) open() bool {
	if s.w != 0 || s.off {
		return !s.off
	}
	var p [2]int
	if unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK) != nil {
		s.off = true
		return false
	}
	s.r, s.w = p[0], p[1]
	if size, err := unix.FcntlInt(uintptr(s.w), unix.F_SETPIPE_SZ, pipeSize); err != nil || size < pipeSize {
		s.close() // above fs.pipe-max-size or the user's share, and no CAP_SYS_RESOURCE
		s.off = true
	}
	return !s.off
}

func (s *splicer) close() {
	if s.w != 0 {
		_ = unix.Close(s.r)
		_ = unix.Close(s.w)
		s.r, s.w = 0, 0
	}
}

// largeRead takes a request apart that the pipe is for.
func largeRead(in []byte) (unique uint64, read *fuse.ReadIn, ok bool) {
	if len(in) < int(unsafe.Sizeof(fuse.ReadIn{})) {
		return 0, nil, false
	}
	read = (*fuse.ReadIn)(unsafe.Pointer(&in[0]))
	return read.Unique, read, read.Opcode == opRead && read.Size >= spliceFrom && read.Size <= maxRead
}

// send answers a read of size bytes at off from the pipe. It is false when the request
// is to be answered in the other way, and nothing was said to the kernel yet.
func (s *splicer) send(dev int, unique uint64, fd int, off int64, size int) (done bool, err error) {
	st, ok := statOf(fd)
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, nil
	}
	if size = int(min(int64(size), st.Size-off)); size < spliceFrom || !s.open() {
		return false, nil
	}
	if !s.fill(unique, fd, off, size) {
		s.close() // with what is in it
		return false, nil
	}
	n, err := retryInt(func() (int, error) { return spliceTo(s.r, dev, outHeaderSize+size) })
	if err == nil && n == outHeaderSize+size {
		return true, nil
	}
	s.close()
	if err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOMEM) {
		return false, errors.Join(errPipe, err)
	}
	return true, err
}

// fill puts the answer into the pipe: its header, then the bytes of the file. It is
// false when they cannot be had in full, because the file has just become shorter, or
// for an error that a plain read reports.
func (s *splicer) fill(unique uint64, fd int, off int64, size int) bool {
	header := fuse.OutHeader{Length: uint32(outHeaderSize + size), Unique: unique}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&header)), outHeaderSize)
	if n, err := retryInt(func() (int, error) { return unix.Write(s.w, raw) }); err != nil || n != outHeaderSize {
		return false
	}
	for size > 0 {
		n, err := retryInt(func() (int, error) {
			n, err := unix.Splice(fd, &off, s.w, nil, size, 0)
			return int(n), err
		})
		if err != nil || n == 0 {
			return false
		}
		size -= n
	}
	return true
}

// spliceTo moves the whole answer in one call, as /dev/fuse wants it. Not with
// SPLICE_F_MOVE, which would take the pages out of the backing file's cache.
func spliceTo(pipe, dev, size int) (int, error) {
	n, err := unix.Splice(pipe, nil, dev, nil, size, 0)
	return int(n), err
}
