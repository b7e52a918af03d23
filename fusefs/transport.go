package fusefs

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// transport handles the requests that a channel brings. It decodes the most frequent ones itself (quick), and go-fuse
// the others.
type transport struct {
	dev     int // of /dev/fuse
	channel channel
	uring   *ringChannel // the channel, if it is one
	whyDev  string       // it is not, where the mount had to choose
	fs      *rawFS
	quickFS quickFS // fs
	proto   *fuse.ProtocolServer
	log     *zap.Logger
	meter   *meter
	slots   *slots
	threads threadCalls
	late    lateSignals
	flights flights
	forgets *forgetting
}

// requestSize is the largest request: a WRITE of maxTransfer, its header and what the kernel may
// add.
const requestSize = maxTransfer + 64<<10

func newTransport(dev int, fs *rawFS, m *meter, log *zap.Logger) *transport {
	t := &transport{
		dev: dev, fs: fs, quickFS: fs, proto: fuse.NewProtocolServer(fs, mountOptions(log, !fs.locks.off, 0)), log: log,
		meter: m, slots: newSlots(), late: newLateSignals(),
		forgets: newForgetting(),
	}
	t.channel = newDevChannel(dev, &t.threads, m, log)
	return t
}

// greet answers the kernel's first request, which always comes from /dev/fuse, and chooses the way of
// the others. It returns what the kernel says of itself.
func (t *transport) greet(way Way, byUser bool) (fuse.InitIn, error) {
	in, out := make([]byte, requestSize), make([]byte, requestSize)
	n, err := retryInt(func() (int, error) { return unix.Read(t.dev, in) })
	if err != nil {
		return fuse.InitIn{}, fmt.Errorf("read the kernel's first request: %w", err)
	}
	var hello fuse.InitIn
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&hello)), unsafe.Sizeof(hello)), in[:n])
	if err := t.choose(way, byUser, &hello); err != nil {
		return hello, err
	}
	first := &call{in: in[:n], out: out, at: now(), hand: &reader{channel: &devChannel{dev: t.dev}}, shard: t.meter.shard()}
	return hello, t.answer(first)
}

// serve answers requests until the file system is unmounted or the connection is aborted.
func (t *transport) serve() {
	var forgets sync.WaitGroup
	stop := make(chan struct{})
	forgets.Go(func() { t.forgets.run(t.fs.Forget, stop) })
	t.channel.serve(t.do, t.fs.locks.end)
	close(stop)
	forgets.Wait()
	t.late.end()
}

// wait is for handlers that wait for something that is not the disk. Until end, another hand takes
// over, and another request may have the slot.
func (t *transport) wait() (end func()) {
	c := t.threads.mine()
	if c == nil {
		return func() {} // it is away already
	}
	k := c.kind
	t.slots.leave(k)
	back := c.hand.away(c)
	return func() {
		back()
		if k != kindOther {
			t.slots.take(k)
		}
	}
}

// do handles one call.
func (t *transport) do(c *call) {
	c.kind = kindOther
	if t.interrupted(c) || t.lock(c) {
		return
	}
	k := kindOf(c.in)
	c.kind = k
	if !t.slots.enter(k) && !t.queue(c) {
		return
	}
	if t.sendFile(c) {
		c.shard.note(gate.OpRead, 0, now()-c.at)
	} else {
		end := t.tellAgain(c)
		if err := t.answer(c); err != nil {
			t.log.Warn("answer to the kernel", zap.Error(err))
		}
		end()
	}
	t.slots.leave(k)
}

// queue lets a call wait in line for a slot while another hand takes requests. It returns false if
// the call was answered: the line was too long, or its caller was killed.
func (t *transport) queue(c *call) bool {
	h := *headerOf(c.in)
	size := len(c.in) + len(c.data)
	q := t.slots.stand(c.kind, &h, size)
	if q == nil {
		t.fail(c, h.Unique, unix.EAGAIN)
		return false
	}
	defer t.slots.stood(size)
	back := c.hand.away(c)
	goOn, signalled := t.slots.await(q)
	c.signalled = signalled
	back()
	t.threads.own(c)
	if !goOn {
		t.fail(c, h.Unique, unix.EINTR)
	}
	return goOn
}

// fail answers a call with an errno; 0 is success.
func (t *transport) fail(c *call, unique uint64, errno unix.Errno) {
	out := fuse.OutHeader{Length: uint32(outHeaderSize), Status: -int32(errno), Unique: unique}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&out)), outHeaderSize)
	if err := c.hand.answer(c, raw); err != nil && !nobodyWaits(err) {
		t.log.Warn("answer to the kernel", zap.Error(err))
	}
}

// sendFile answers a large read. It returns false if the request must be answered otherwise.
func (t *transport) sendFile(c *call) bool {
	unique, read, ok := largeRead(c.in)
	if !ok {
		return false
	}
	h := t.fs.handles.get(read.Fh)
	if h == nil {
		return false
	}
	done, err := c.hand.sendFile(c, unique, h.fd, int64(read.Offset), int(read.Size))
	if err != nil && !nobodyWaits(err) {
		t.log.Warn("splice to the kernel", zap.Error(err))
	}
	if done {
		t.fs.stats.count(gate.OpRead)
	}
	return done
}

// lock answers a request for a lock. It returns false for any other request. A request that has to
// wait does so apart.
func (t *transport) lock(c *call) bool {
	lk, wait, ok := lockOf(c.in)
	if !ok {
		return false
	}
	st, done := t.fs.lockAtOnce(lk, wait)
	if !done {
		c.hand.apart(c, func(c *call) {
			if err := t.answer(c); err != nil {
				t.log.Warn("answer to the kernel", zap.Error(err))
			}
		})
		return true
	}
	op := opOfRequest(c.in)
	t.fail(c, lk.Unique, unix.Errno(st))
	c.shard.note(op, unix.Errno(st), now()-c.at)
	return true
}

// nobodyWaits reports that an answer came too late: its caller has gone, or the mount has.
func nobodyWaits(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) }

// answer handles a call and measures it.
func (t *transport) answer(c *call) error {
	op := opOfRequest(c.in) // read now: the handler may change the request's bytes
	n, err := t.handle(c)
	c.shard.note(op, errnoOfAnswer(c.out[:n]), now()-c.at)
	return err
}

// handle handles a call and returns the length of its answer.
func (t *transport) handle(c *call) (int, error) {
	n, ok := t.quick(c)
	if !ok {
		var err error
		if n, err = t.slowly(c); err != nil {
			return 0, err
		}
	}
	if n == 0 {
		return 0, nil
	}
	err := c.hand.answer(c, c.out[:n])
	if nobodyWaits(err) {
		return n, nil
	}
	return n, err
}

// slowly has go-fuse handle a call.
func (t *transport) slowly(c *call) (int, error) {
	in := [][]byte{c.in, c.data}
	if c.data == nil {
		in = in[:1]
	}
	n, st := t.proto.HandleRequest(in, [][]byte{c.out})
	if st != fuse.OK {
		return 0, fmt.Errorf("a request of %d bytes: %w", len(c.in)+len(c.data), unix.Errno(st))
	}
	return n, nil
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
	switch (*fuse.InHeader)(unsafe.Pointer(&in[0])).Opcode {
	case opForget, opRelease, opReleaseDir, opBatchForget:
		return false
	}
	return true
}
