package transport

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// call is one request of the kernel.
type call struct {
	in  []byte // the request
	out []byte // room for its answer
	at  time.Duration
	// data is what a WRITE writes, if it does not follow in in.
	data []byte

	hand  hand // that has received it
	shard *meterShard
	tid   int // its thread, 0 if it has no thread of its own
	kind  kind
	// signalled says that its caller got a signal while it waited in line.
	signalled bool

	plain plain      // for decode
	names *nameCache // nil until it is needed: thousands of calls may wait for locks
}

// channel brings requests from the kernel, and takes the answers back. Notifications do not depend on it: the
// kernel takes them from /dev/fuse only (notify.go).
type channel interface {
	// serve receives requests until the connection ends, and has each handled by do. Then it calls ended, and
	// returns when the last request has been handled.
	serve(do func(*call), ended func())
}

// hand is who has received a call. It takes the next one when do returns.
type hand interface {
	// answer sends an answer: a header (fuse_out_header), and what follows it.
	answer(c *call, out []byte) error
	// sendFile answers a large read with bytes of a file. If done is false the call must be answered otherwise,
	// and the kernel has got nothing yet.
	sendFile(c *call, unique uint64, fd int, off int64, size int) (done bool, err error)
	// away lets a call wait, in its own goroutine, for something that is not the disk, until back is called.
	// Another hand takes over meanwhile.
	away(c *call) (back func())
	// apart has do handle a call that may wait for long, and that another hand need not take over for.
	apart(c *call, do func(*call))
}

// threadCalls finds the call that a thread handles.
type threadCalls struct{ calls sync.Map } // *call by thread

// own gives a call its own thread.
func (t *threadCalls) own(c *call) {
	if c.tid == 0 {
		runtime.LockOSThread()
		c.tid = unix.Gettid()
		t.calls.Store(c.tid, c)
	}
}

// leave ends own.
func (t *threadCalls) leave(c *call) {
	if c.tid != 0 {
		t.calls.Delete(c.tid)
		c.tid = 0
		runtime.UnlockOSThread()
	}
}

// mine is the call that this thread handles; nil if it has none of its own.
func (t *threadCalls) mine() *call {
	if c, ok := t.calls.Load(unix.Gettid()); ok {
		return c.(*call)
	}
	return nil
}
