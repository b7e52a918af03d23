package transport

import (
	"encoding/binary"
	"errors"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// uring is an io_uring with room for one command of FUSE (linux/io_uring.h). It belongs to one thread. It is made
// without IORING_SETUP_DEFER_TASKRUN: the kernel's part of a request runs in the thread's next return from the
// kernel, whatever it does there, and when it ends. Deferred, it would only run in this ring's own system call.
// If the process is killed while another of its threads waits for that request in the kernel, nobody makes
// that call any more, and the process could not end.
type uring struct {
	fd             int
	rings, entries []byte // mapped
	sqTail         *uint32
	sqMask, cqMask uint32
	cqHead, cqTail *uint32
	sqes           []uringSQE
	cqes           []uringCQE
	unsent         uint32
}

// struct io_sqring_offsets and io_cqring_offsets: the same places for submissions and completions.
type uringOffsets struct {
	head, tail, mask, entries, a, b, c, d uint32
	user                                  uint64
}

// struct io_uring_params
type uringParams struct {
	sqEntries, cqEntries, flags, cpu, idle, features, wq uint32
	_                                                    [3]uint32
	sq, cq                                               uringOffsets
}

// uringSQE is struct io_uring_sqe with IORING_SETUP_SQE128.
type uringSQE struct {
	opcode, flags uint8
	_             uint16
	fd            int32
	command, _    uint32
	addr          uint64
	len           uint32
	_             [20]byte
	data          [80]byte // struct fuse_uring_cmd_req
}

// uringCQE is struct io_uring_cqe.
type uringCQE struct {
	user  uint64
	res   int32
	flags uint32
}

const (
	setupSubmitAll = 1 << 7
	setupSQE128    = 1 << 10
	setupNoSQArray = 1 << 16 // Linux 6.6

	offsetSQEs     = 0x10000000
	enterGetEvents = 1
	opURingCmd     = 46

	uringEntries = 1

	// ringPinned is the memory of the kernel that a ring takes: a page of indices and completions, and one of submissions.
	ringPinned = 2 * 4096
)

// newURing makes a ring. The kernel may not have io_uring, or not allow it (kernel.io_uring_disabled, seccomp).
func newURing() (*uring, error) {
	p := uringParams{flags: setupSubmitAll | setupSQE128 | setupNoSQArray}
	fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, uringEntries, uintptr(unsafe.Pointer(&p)), 0)
	if e != 0 {
		return nil, os.NewSyscallError("io_uring_setup", e)
	}
	r := &uring{fd: int(fd)}
	size := int(p.cq.b) + int(p.cqEntries)*int(unsafe.Sizeof(uringCQE{})) // cq.b is cqes, which come last
	var err error
	if r.rings, err = r.mmap(0, size); err == nil {
		r.entries, err = r.mmap(offsetSQEs, int(p.sqEntries)*int(unsafe.Sizeof(uringSQE{})))
	}
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("mmap", err), r.close())
	}
	at := func(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[offset])) }
	r.sqTail, r.sqMask = at(p.sq.tail), *at(p.sq.mask)
	r.cqHead, r.cqTail, r.cqMask = at(p.cq.head), at(p.cq.tail), *at(p.cq.mask)
	r.sqes = unsafe.Slice((*uringSQE)(unsafe.Pointer(&r.entries[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*uringCQE)(unsafe.Pointer(&r.rings[p.cq.b])), p.cqEntries)
	return r, nil
}

func (r *uring) mmap(offset int64, size int) ([]byte, error) {
	return unix.Mmap(r.fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
}

// close frees the ring. Its thread must have no command in it.
func (r *uring) close() error {
	var errs []error
	for _, m := range [][]byte{r.rings, r.entries} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	return errors.Join(append(errs, unix.Close(r.fd))...)
}

// bytes is the memory of the kernel that the ring has.
func (r *uring) bytes() int { return len(r.rings) + len(r.entries) }

// put enters a command of FUSE. await sends it.
func (r *uring) put(dev int, command uint32, queue int, iov *[2]unix.Iovec, commit uint64) {
	tail := *r.sqTail
	s := &r.sqes[tail&r.sqMask]
	*s = uringSQE{opcode: opURingCmd, fd: int32(dev), command: command}
	if iov != nil {
		s.addr, s.len = uint64(uintptr(unsafe.Pointer(iov))), uint32(len(iov))
	}
	binary.NativeEndian.PutUint64(s.data[8:], commit)
	binary.NativeEndian.PutUint16(s.data[16:], uint16(queue))
	atomic.StoreUint32(r.sqTail, tail+1)
	r.unsent++
}

// send sends what was put, and does not wait.
func (r *uring) send() {
	if sent, _, e := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.unsent), 0, 0, 0, 0); e == 0 {
		r.unsent -= uint32(sent)
	} // otherwise await says why
}

// await sends what was put and waits for a completion, through the Go scheduler: it may take for ever. done is
// false if nothing has come yet: a signal, or the kernel had no memory just now.
func (r *uring) await() (res int32, done bool, err error) {
	if head := *r.cqHead; atomic.LoadUint32(r.cqTail) != head {
		res = r.cqes[head&r.cqMask].res
		atomic.StoreUint32(r.cqHead, head+1)
		return res, true, nil
	}
	sent, _, e := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(r.unsent), 1, enterGetEvents, 0, 0)
	switch e {
	case 0:
		r.unsent -= uint32(sent)
	case unix.EINTR:
	case unix.EAGAIN, unix.EBUSY:
		time.Sleep(tick)
	default:
		return 0, false, os.NewSyscallError("io_uring_enter", e)
	}
	return 0, false, nil
}
