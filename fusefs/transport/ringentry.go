package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// ringEntry is the memory of one request: what the kernel copies it to, and its answer from (struct
// fuse_uring_req_header, and the payload). It is not pinned: the kernel copies through the address space.
type ringEntry struct {
	mem     []byte
	headers []byte
	payload []byte // also the rest of an answer
	out     []byte // an answer: its header lies just before the payload
	in      []byte // a request in one piece
	iov     [2]unix.Iovec
	most    int // of the payload that was used
}

// Places in struct fuse_uring_req_header.
const (
	ringOpIn    = 128
	ringOpInMax = 128
	ringCommit  = 264
	ringPayload = 272
	ringHeaders = 288
)

const (
	entryFront = 4096 // the headers, and at its end the header of an answer
	entryFirst = 4096 // of the payload: more than names
	// entryIn holds every request in one piece, except the data of a WRITE: an extended attribute is the largest.
	entryIn   = 128 << 10
	entrySize = entryFront + requestSize + entryIn
	// entryKeep is how much of a payload stays in memory between requests, where many entries have been made.
	entryKeep = 64 << 10
)

func newRingEntry() (*ringEntry, error) {
	mem, err := unix.Mmap(-1, 0, entrySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	// A killed thread's copy to a page that is not there fails by EINTR (__get_user_pages in mm/gup.c, for fuse_copy_fill), and the
	// kernel's io_uring side hands that to the caller (fuse_uring_prepare_send). So what nearly all requests need is there.
	if err := unix.Madvise(mem[:entryFront+entryFirst], unix.MADV_POPULATE_WRITE); err != nil {
		return nil, errors.Join(os.NewSyscallError("madvise", err), unix.Munmap(mem))
	}
	const end = entryFront + requestSize
	e := &ringEntry{mem: mem, headers: mem[:ringHeaders], payload: mem[entryFront:end:end], out: mem[entryFront-outHeaderSize : end : end], in: mem[end:]}
	e.iov[0].Base, e.iov[1].Base = &e.headers[0], &e.payload[0]
	e.iov[0].SetLen(len(e.headers))
	e.iov[1].SetLen(len(e.payload))
	return e, nil
}

func (e *ringEntry) close() error { return unix.Munmap(e.mem) }

// commit is the number to answer the request with.
func (e *ringEntry) commit() uint64 { return binary.NativeEndian.Uint64(e.headers[ringCommit:]) }

var errRingRequest = errors.New("a request of unknown form")

// request puts the request together: the kernel has put its header, the fixed part of its operation and the rest
// into three places. The data of a WRITE stay where they are.
func (e *ringEntry) request() (in, data []byte, err error) {
	h := (*fuse.InHeader)(unsafe.Pointer(&e.headers[0]))
	rest := int(binary.NativeEndian.Uint32(e.headers[ringPayload:]))
	const header = int(unsafe.Sizeof(fuse.InHeader{}))
	fixed := int(h.Length) - header - rest
	if fixed < 0 || fixed > ringOpInMax || rest > len(e.payload) {
		return nil, nil, fmt.Errorf("%w: operation %d, %d bytes, of these %d of payload", errRingRequest, h.Opcode, h.Length, rest)
	}
	e.most = max(e.most, rest)
	n := copy(e.in, e.headers[:header])
	n += copy(e.in[n:], e.headers[ringOpIn:ringOpIn+fixed])
	if h.Opcode == opWrite {
		return e.in[:n], e.payload[:rest], nil
	}
	if n+rest > len(e.in) {
		return nil, nil, fmt.Errorf("%w: operation %d with %d bytes", errRingRequest, h.Opcode, rest)
	}
	n += copy(e.in[n:], e.payload[:rest])
	return e.in[:n], nil, nil
}

// answer puts an answer where the kernel will look for it.
func (e *ringEntry) answer(out []byte) {
	copy(e.headers, out[:outHeaderSize])
	rest := out[outHeaderSize:]
	if len(rest) > 0 && &rest[0] != &e.payload[0] {
		copy(e.payload, rest)
	}
	e.most = max(e.most, len(rest))
	binary.NativeEndian.PutUint32(e.headers[ringPayload:], uint32(len(rest)))
}

// trim frees the memory of the payload that the next answer, of n bytes, does not need.
func (e *ringEntry) trim(n int) {
	keep := (max(n, entryKeep) + 4095) &^ 4095
	if e.most <= keep {
		return
	}
	e.most = keep
	_ = unix.Madvise(e.payload[keep:requestSize], unix.MADV_DONTNEED) // it stays, then
}
