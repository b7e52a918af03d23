package transport

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Transport brings the requests of one mount to their Handler, and the answers back. It decodes the most frequent ones
// itself (decode), and go-fuse the others.
type Transport struct {
	dev      int // of /dev/fuse
	channel  channel
	uring    *ringChannel // the channel, if it is one
	whyDev   string       // it is not, where the mount had to choose
	handler  Handler
	options  fuse.MountOptions // of proto
	proto    *fuse.ProtocolServer
	log      *zap.Logger
	meter    *Meter
	limits   *limits
	threads  threadCalls
	late     lateSignals
	inflight inflight
	forgets  *forgetQueue
	cpuOf    func(thread uint32) int

	signalled func(thread uint32) bool
}

// New is a transport that has not begun: Greet and Serve follow.
func New(c Config) *Transport {
	t := &Transport{
		dev: c.Dev, handler: c.Handler, options: optionsOf(c), log: c.Log,
		meter: c.Meter, limits: newLimits(c.WhenDying), late: newLateSignals(),
		forgets: newForgetQueue(), cpuOf: c.LastCPU, signalled: c.Signalled,
	}
	t.proto = fuse.NewProtocolServer(t.handler, &t.options)
	t.channel = newDevChannel(c.Dev, &t.threads, c.LastCPU, c.Meter, c.Log)
	return t
}

// Greet answers the kernel's first request, which always comes from /dev/fuse, and chooses the way of
// the others. It returns what the kernel says of itself.
func (t *Transport) Greet(way Way, byUser bool) (fuse.InitIn, error) {
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

// Serve answers requests until the file system is unmounted or the connection is aborted. When it returns all have been
// answered, and no goroutine is left.
func (t *Transport) Serve() {
	var forgets sync.WaitGroup
	stop := make(chan struct{})
	forgets.Go(func() { t.forgets.run(t.handler.Forget, stop) })
	t.channel.serve(t.do, t.handler.Ended)
	close(stop)
	forgets.Wait()
	t.late.end()
}

// Wait is for handlers that wait for something that is not the disk. Until end, another hand takes
// over, and another request may have the slot.
func (t *Transport) Wait() (end func()) {
	c := t.threads.mine()
	if c == nil {
		return func() {} // it is away already
	}
	k := c.kind
	t.limits.leave(k)
	back := c.hand.away(c)
	return func() {
		back()
		if k != kindOther {
			t.limits.take(k)
		}
	}
}

// do handles one call.
func (t *Transport) do(c *call) {
	c.kind = kindOther
	if t.interrupted(c) || t.lock(c) {
		return
	}
	k := kindOf(c.in)
	c.kind = k
	if !t.limits.enter(k) && !t.queue(c) {
		return
	}
	if t.sendFile(c) {
		c.shard.note(opRead, 0, now()-c.at)
	} else {
		end := t.tellAgain(c)
		if err := t.answer(c); err != nil {
			t.log.Warn("answer to the kernel", zap.Error(err))
		}
		end()
	}
	t.limits.leave(k)
}

// queue lets a call wait in line for a slot while another hand takes requests. It returns false if
// the call was answered: the line was too long, or its caller was killed.
func (t *Transport) queue(c *call) bool {
	h := *headerOf(c.in)
	size := len(c.in) + len(c.data)
	q := t.limits.stand(c.kind, &h, size)
	if q == nil {
		t.fail(c, h.Unique, unix.EAGAIN)
		return false
	}
	defer t.limits.stood(size)
	back := c.hand.away(c)
	goOn, signalled := t.limits.await(q)
	c.signalled = signalled
	back()
	t.threads.own(c)
	if !goOn {
		t.fail(c, h.Unique, unix.EINTR)
	}
	return goOn
}

// fail answers a call with an errno; 0 is success.
func (t *Transport) fail(c *call, unique uint64, errno unix.Errno) {
	out := fuse.OutHeader{Length: uint32(outHeaderSize), Status: -int32(errno), Unique: unique}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&out)), outHeaderSize)
	if err := c.hand.answer(c, raw); err != nil && !nobodyWaits(err) {
		t.log.Warn("answer to the kernel", zap.Error(err))
	}
}

// sendFile answers a large read. It returns false if the request must be answered otherwise.
func (t *Transport) sendFile(c *call) bool {
	unique, read, ok := largeRead(c.in)
	if !ok {
		return false
	}
	fd, ok := t.handler.FD(read.Fh)
	if !ok {
		return false
	}
	done, err := c.hand.sendFile(c, unique, fd, int64(read.Offset), int(read.Size))
	if err != nil && !nobodyWaits(err) {
		t.log.Warn("splice to the kernel", zap.Error(err))
	}
	if done {
		t.handler.Spliced()
	}
	return done
}

// lock answers a request for a lock. It returns false for any other request. A request that has to
// wait does so apart.
func (t *Transport) lock(c *call) bool {
	lk, wait, ok := lockOf(c.in)
	if !ok {
		return false
	}
	st, done := t.handler.LockNow(lk, wait)
	if !done {
		c.hand.apart(c, func(c *call) {
			if err := t.answer(c); err != nil {
				t.log.Warn("answer to the kernel", zap.Error(err))
			}
		})
		return true
	}
	op := codeOf(c.in)
	t.fail(c, lk.Unique, unix.Errno(st))
	c.shard.note(op, unix.Errno(st), now()-c.at)
	return true
}

// nobodyWaits reports that an answer came too late: its caller has gone, or the mount has.
func nobodyWaits(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) }

// answer handles a call and measures it.
func (t *Transport) answer(c *call) error {
	op := codeOf(c.in) // read now: the handler may change the request's bytes
	n, err := t.handle(c)
	c.shard.note(op, errnoOfAnswer(c.out[:n]), now()-c.at)
	return err
}

// handle handles a call and returns the length of its answer.
func (t *Transport) handle(c *call) (int, error) {
	n, ok := t.decode(c)
	if !ok {
		var err error
		if n, err = t.byGoFuse(c); err != nil {
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
