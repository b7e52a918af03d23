package transport

import (
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// What is looked at of a request before it is decoded, in the form that the kernel gives it (linux/fuse.h).

const (
	inHeaderSize  = int(unsafe.Sizeof(fuse.InHeader{}))
	outHeaderSize = int(unsafe.Sizeof(fuse.OutHeader{}))

	// maxTransfer is the largest WRITE, in bytes. The kernel splits larger ones.
	maxTransfer = 1 << 20
	// requestSize is the largest request: a WRITE of maxTransfer, its header and what the kernel may
	// add.
	requestSize = maxTransfer + 64<<10
)

// MaxRead is the largest READ, in bytes, that the kernel is to be told of when it mounts (max_read). Larger ones would
// leave the processor's cache before they are used. A megabyte of read-ahead is several READs side by side.
const MaxRead = 256 << 10

// headerOf is the header of a request, nil if it has none.
func headerOf(in []byte) *fuse.InHeader {
	if len(in) < inHeaderSize {
		return nil
	}
	return (*fuse.InHeader)(unsafe.Pointer(&in[0]))
}

// codeOf is the number of a request's operation, 0 if the table has none.
func codeOf(in []byte) uint32 {
	if h := headerOf(in); h != nil && h.Opcode < operationsMax {
		return h.Opcode
	}
	return 0
}

// callingThread is the thread that calls, 0 if it has no number here.
func callingThread(in []byte) uint32 {
	if len(in) < int(unsafe.Sizeof(fuse.InHeader{})) {
		return 0
	}
	return (*fuse.InHeader)(unsafe.Pointer(&in[0])).Pid
}

// waitedFor reports whether a caller waits for the answer.
func waitedFor(in []byte) bool {
	if len(in) < int(unsafe.Sizeof(fuse.InHeader{})) {
		return true
	}
	code := (*fuse.InHeader)(unsafe.Pointer(&in[0])).Opcode
	return code >= operationsMax || !operations[code].unwaited
}

// errnoOfAnswer is the error in the header of an answer. No answer is none.
func errnoOfAnswer(out []byte) unix.Errno {
	if len(out) < int(unsafe.Sizeof(fuse.OutHeader{})) {
		return 0
	}
	return unix.Errno(-(*fuse.OutHeader)(unsafe.Pointer(&out[0])).Status)
}

// lockOf recognises a request for a lock.
func lockOf(in []byte) (lk *fuse.LkIn, wait, ok bool) {
	if len(in) < int(unsafe.Sizeof(fuse.LkIn{})) {
		return nil, false, false
	}
	lk = (*fuse.LkIn)(unsafe.Pointer(&in[0]))
	return lk, lk.Opcode == opSetLkw, lk.Opcode == opSetLk || lk.Opcode == opSetLkw
}

// largeRead recognises a request for the pipe.
func largeRead(in []byte) (unique uint64, read *fuse.ReadIn, ok bool) {
	if len(in) < int(unsafe.Sizeof(fuse.ReadIn{})) {
		return 0, nil, false
	}
	read = (*fuse.ReadIn)(unsafe.Pointer(&in[0]))
	return read.Unique, read, read.Opcode == opRead && read.Size >= spliceFrom && read.Size <= MaxRead
}

// batchForgetIn is struct fuse_batch_forget_in with its header, and forgetOne one of the inodes that follow it.
type batchForgetIn struct {
	fuse.InHeader
	count, _ uint32
}

type forgetOne struct{ node, lookups uint64 }

const forgetOneSize = int(unsafe.Sizeof(forgetOne{}))

// forgetsOf are the inodes that follow a BATCH_FORGET. They are in the memory of the request.
func forgetsOf(rest []byte) []forgetOne {
	return unsafe.Slice((*forgetOne)(unsafe.Pointer(unsafe.SliceData(rest))), len(rest)/forgetOneSize)
}
