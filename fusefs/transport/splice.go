package transport

import (
	"errors"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Large reads go from the backing file to the kernel's request through a pipe, and not through the
// daemon's memory: one copy of the bytes instead of two. For a small read, pread and write are
// cheaper. go-fuse's own server does the same; its ProtocolServer has no pipe and does not.

// spliceFrom is the size, in bytes, from which a pipe pays for a read.
const spliceFrom = 64 << 10

// pipeSize holds the largest answer, MaxRead at any offset, and a page for its header. A pipe has a
// slot for each page, and a power of two of them. This is the largest size without CAP_SYS_RESOURCE
// (fs.pipe-max-size).
const pipeSize = 1 << 20

// splicer is the pipe of one reader. It belongs to one goroutine.
type splicer struct {
	r, w int // 0: none
	off  bool
}

// errPipe says that the pipe cannot be used any more.
var errPipe = errors.New("the pipe is in an unknown state")

// open makes the pipe once. It returns false if it cannot have a pipe of this size.
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
		s.close() // more than fs.pipe-max-size or the user's share, without CAP_SYS_RESOURCE
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

// send answers a read of size bytes at off from the pipe. If done is false the request must be
// answered otherwise, and the kernel has got nothing yet.
func (s *splicer) send(dev int, unique uint64, fd int, off int64, size int) (done bool, err error) {
	end, ok := endOf(fd)
	if !ok {
		return false, nil
	}
	if size = int(min(int64(size), end-off)); size < spliceFrom || !s.open() {
		return false, nil
	}
	if !s.fill(unique, fd, off, size) {
		s.close() // with its contents
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

// endOf is where a regular file ends. It returns false of anything else.
func endOf(fd int) (end int64, ok bool) {
	var st unix.Stat_t
	ok = unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
	return st.Size, ok
}

// fill writes the answer into the pipe: its header, then the bytes of the file. It returns false if
// not all bytes could be read: the file has just become shorter, or there was an error that a plain
// read will report.
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

// spliceTo moves the whole answer in one call, as /dev/fuse requires. It does not use
// SPLICE_F_MOVE, which would remove the pages from the backing file's cache.
func spliceTo(pipe, dev, size int) (int, error) {
	n, err := unix.Splice(pipe, nil, dev, nil, size, 0)
	return int(n), err
}
