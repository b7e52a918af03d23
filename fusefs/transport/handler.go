package transport

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
)

// Handler answers requests. Its methods are called by many goroutines at once, and may take as long as they like.
type Handler interface {
	// RawFileSystem has a method for each of the kernel's operations. Neither arguments nor room for an answer may be kept.
	fuse.RawFileSystem
	// ReadInto is Read into room for the answer, which go-fuse's form of it would have to allocate.
	ReadInto(in *fuse.ReadIn, room []byte) (int, fuse.Status)
	// FD is the descriptor that a handle is read from. Bytes of a large read go from there to the kernel, past the
	// handler, and it is told of that by Spliced.
	FD(fh uint64) (fd int, ok bool)
	Spliced()
	// LockNow is SetLk, or SetLkw if wait is set, where the answer can be given at once. If done is false nothing has
	// been done, and the other method follows, in a goroutine that may wait.
	LockNow(in *fuse.LkIn, wait bool) (st fuse.Status, done bool)
	// Ended says that no more requests come, while some may still wait for locks: they have to end.
	Ended()
}

// Config is what a transport works with.
type Config struct {
	Dev     int // of /dev/fuse. It stays the caller's, who closes it after Serve
	Handler Handler
	// Options is what the kernel is told of the file system, besides what is the transport's: sizes, and rings.
	Options fuse.MountOptions
	// Waiting is how many requests may wait in the handler, as far as it lets them.
	Waiting int
	// LastCPU is the processor on which a thread has run last, or below 0.
	LastCPU func(thread uint32) int
	// WhenDying reports whether a thread that has got a signal is being killed. It returns false as soon as stop is closed.
	WhenDying func(signal <-chan struct{}, thread uint32, stop <-chan struct{}) bool
	// Signalled reports whether a thread has a signal that interrupts it, or has ended.
	Signalled func(thread uint32) bool
	Meter     *Meter
	Log       *zap.Logger
}
