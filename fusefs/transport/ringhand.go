package transport

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Commands of FUSE over io_uring (enum fuse_uring_cmd).
const (
	ringRegister       = 1
	ringCommitAndFetch = 2
)

// ringHand is one thread with one ring and one entry of a processor's queue. It stays until the connection ends:
// an entry cannot be taken back, and a request could come to it at any moment.
type ringHand struct {
	channel  *ringChannel
	queue    *ringQueue
	ring     *uring
	entry    *ringEntry
	call     call
	answered bool
	later    bool // it was added while requests came
	tid      int  // of its thread while that is there; of channel.mu
}

func newRingHand(r *ringChannel, q *ringQueue) (*ringHand, error) {
	ring, err := newURing()
	if err != nil {
		return nil, err
	}
	entry, err := newRingEntry()
	if err != nil {
		return nil, errors.Join(err, ring.close())
	}
	h := &ringHand{channel: r, queue: q, ring: ring, entry: entry}
	h.call = call{out: entry.out, hand: h, shard: r.meter.shard()}
	r.bytes.Add(h.bytes())
	return h, nil
}

func (h *ringHand) bytes() int64 { return int64(len(h.entry.mem) + h.ring.bytes()) }

// close frees what the hand has. Its thread has ended, or never began.
func (h *ringHand) close() {
	h.channel.bytes.Add(-h.bytes())
	if err := errors.Join(h.ring.close(), h.entry.close()); err != nil {
		h.channel.log.Warn("io_uring", zap.Error(err))
	}
}

// run takes requests until the connection ends. The thread ends with the goroutine, because it is never unlocked:
// it is the one that the kernel gives requests to, and it may have been moved to a processor.
func (h *ringHand) run() {
	runtime.LockOSThread()
	defer h.bind()()
	c := &h.call
	c.tid = unix.Gettid()
	h.channel.threads.calls.Store(c.tid, c)
	defer h.channel.threads.calls.Delete(c.tid)
	h.ring.put(h.channel.dev, ringRegister, h.queue.id, &h.entry.iov, 0)
	if h.later {
		h.ring.send()
		h.channel.poke(h.queue)
	}
	for h.next() {
		h.handle()
	}
}

// next sends the last answer and waits for a request. It returns false when the connection has ended.
func (h *ringHand) next() bool {
	h.queue.idle.Add(1)
	res, done, err := int32(0), false, error(nil)
	for !done && err == nil {
		res, done, err = h.ring.await()
	}
	switch e := unix.Errno(-res); {
	case err != nil:
	case e == 0:
		return true
	case e == unix.ENOTCONN || e == unix.ECONNABORTED:
		h.channel.end()
		return false
	default: // the entry is lost, and so is the request that it may have
		err = fmt.Errorf("a request: %w", e)
	}
	h.channel.fail(err)
	return false
}

// handle handles one request. Whatever happens it is answered: the entry is not free before.
func (h *ringHand) handle() {
	c := &h.call
	h.answered = false
	var err error
	c.in, c.data, err = h.entry.request()
	c.at = h.channel.took(h.queue, err == nil && headerOf(c.in).Opcode == opStatFs)
	if err == nil {
		h.channel.do(c)
	} else {
		h.channel.log.Error("io_uring", zap.Error(err))
	}
	if !h.answered {
		h.refuse(unix.EIO)
	}
}

// refuse answers with an errno.
func (h *ringHand) refuse(errno unix.Errno) {
	out := fuse.OutHeader{Length: uint32(outHeaderSize), Status: -int32(errno), Unique: h.entry.commit()}
	_ = h.answer(&h.call, unsafe.Slice((*byte)(unsafe.Pointer(&out)), outHeaderSize)) // it cannot fail
}

// answer is sent by next: one system call answers this request and waits for another.
func (h *ringHand) answer(_ *call, out []byte) error {
	if h.answered {
		return nil
	}
	h.answered = true
	if h.queue.hands.Load() > handsFew {
		h.entry.trim(len(out))
	}
	h.entry.answer(out)
	h.ring.put(h.channel.dev, ringCommitAndFetch, h.queue.id, nil, h.entry.commit())
	return nil
}

// sendFile does nothing: the handler reads into the entry's memory, and no pipe is quicker.
func (h *ringHand) sendFile(*call, uint64, int, int64, int) (bool, error) { return false, nil }

// away keeps thread and entry, because the answer must come from there.
func (h *ringHand) away(c *call) (back func()) {
	h.channel.threads.calls.Delete(c.tid)
	if h.queue.idle.Load() <= 0 {
		h.channel.help(h.queue)
	}
	stop := make(chan struct{})
	if caller := headerOf(c.in); caller.Pid != 0 { // otherwise it is not visible from here
		tid, unique := caller.Pid, caller.Unique
		h.channel.wg.Go(func() { h.channel.watchSignal(tid, stop, unique) })
	}
	return func() {
		close(stop)
		h.channel.threads.calls.Store(c.tid, c)
	}
}

// apart is away, too. The number of those who wait for locks is bounded: each needs an entry.
func (h *ringHand) apart(c *call, do func(*call)) {
	defer h.channel.locks.Add(-1)
	if h.channel.locks.Add(1) > ringLocksMax {
		h.refuse(unix.ENOLCK)
		return
	}
	back := h.away(c)
	do(c)
	back()
}
