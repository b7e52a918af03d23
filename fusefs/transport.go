package fusefs

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// transport carries requests from /dev/fuse to the file system, and the answers back. go-fuse's own
// server does this with two or more readers that take turns. So each request wakes a sleeping
// thread, and that takes longer than the request. Here one reader stays as long as it keeps up
// (readerPool). go-fuse decodes and encodes.
type transport struct {
	dev   int // of /dev/fuse
	fs    *rawFS
	proto *fuse.ProtocolServer
	log   *zap.Logger
	pool  *readerPool
	poll  *poller
	meter *meter
	slots *slots
	bufs  buffers

	readers sync.Map       // by thread: *reader
	waits   sync.WaitGroup // requests that wait for locks
}

// requestSize is the largest request: a WRITE of maxTransfer, its header and what the kernel may
// add.
const requestSize = maxTransfer + 64<<10

func newTransport(dev int, fs *rawFS, m *meter, log *zap.Logger) *transport {
	t := &transport{
		dev: dev, fs: fs, proto: fuse.NewProtocolServer(fs, mountOptions(log, !fs.locks.off)), log: log,
		poll: newPoller(dev), meter: m, slots: newSlots(),
	}
	t.pool = newReaderPool(t.waiting)
	return t
}

// waiting reports whether there are requests that nobody has read.
func (t *transport) waiting() bool {
	p := []unix.PollFd{{Fd: int32(t.dev), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1
}

// greet answers the kernel's first request. It returns what the kernel says of itself.
func (t *transport) greet() (fuse.InitIn, error) {
	in, out := make([]byte, requestSize), make([]byte, requestSize)
	n, err := retryInt(func() (int, error) { return unix.Read(t.dev, in) })
	if err != nil {
		return fuse.InitIn{}, fmt.Errorf("read the kernel's first request: %w", err)
	}
	var hello fuse.InitIn
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&hello)), unsafe.Sizeof(hello)), in[:n])
	return hello, t.answer(in[:n], out, now(), t.meter.shard())
}

// serve answers requests until the file system is unmounted or the connection is aborted.
func (t *transport) serve() {
	t.pool.run(t.read)
	t.fs.locks.end()
	t.waits.Wait()
	t.bufs.close()
}

// wait is for handlers that wait for something that is not the disk. Until end, another reader
// takes over, and another request may have the slot.
func (t *transport) wait() (end func()) {
	v, ok := t.readers.Load(unix.Gettid())
	if !ok {
		return func() {} // it is away already
	}
	me := v.(*reader)
	k := me.kind
	t.slots.leave(k)
	back := t.away(me)
	return func() {
		back()
		if k != kindOther {
			t.slots.take(k)
		}
	}
}

// away is readerPool.away for a reader. Meanwhile it has no thread and no pipe.
func (t *transport) away(me *reader) (back func()) {
	me.pipe.close()
	t.leaveThread(me)
	return t.pool.away()
}

// ownThread gives a reader its own thread.
func (t *transport) ownThread(me *reader) {
	if me.tid == 0 {
		runtime.LockOSThread()
		me.tid = unix.Gettid()
		t.readers.Store(me.tid, me)
	}
}

// leaveThread ends ownThread.
func (t *transport) leaveThread(me *reader) {
	if me.tid != 0 {
		t.readers.Delete(me.tid)
		me.tid = 0
		runtime.UnlockOSThread()
	}
}

// read is one reader. It keeps its thread: if the same thread reads, handles and answers a request,
// it wakes nobody else.
func (t *transport) read(me *reader) {
	defer t.leaveThread(me)
	defer me.pipe.close()
	buf, err := t.bufs.get()
	for ; err != nil; buf, err = t.bufs.get() { // no memory just now; without a reader nothing frees any
		t.log.Warn("memory for a reader", zap.Error(err))
		time.Sleep(tick)
	}
	defer t.bufs.put(buf)
	in, out := buf.in, buf.out
	shard := t.meter.shard()
	for t.pool.next(me) {
		t.ownThread(me)
		polled := me.alone && t.poll.wait()
		n, err := unix.Read(t.dev, in)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN || err == unix.ENOENT: // ENOENT: its caller has gone
			t.pool.missed(me)
			continue
		case err == unix.ENOMEM || err == unix.EFAULT: // the buffer could not be had just now
			t.log.Warn("read from /dev/fuse", zap.Error(err))
			t.pool.missed(me)
			time.Sleep(tick)
			continue
		case err != nil:
			if err != unix.ENODEV && err != unix.ECONNABORTED {
				t.log.Error("read from /dev/fuse", zap.Error(err))
			}
			t.pool.over()
			return
		}
		at := t.pool.took(me, waitedFor(in[:n]))
		if !polled && me.alone {
			t.poll.slept(at - me.began)
		}
		if t.interrupted(in[:n]) {
			continue
		}
		if t.lock(in[:n], at, shard) {
			continue
		}
		k := kindOf(in[:n])
		me.kind = k
		if !t.slots.enter(k) && !t.queue(k, me, in[:n]) {
			continue
		}
		if t.splice(me, in[:n]) {
			shard.note(gate.OpRead, 0, now()-at)
		} else {
			end := t.tellAgain(me, in[:n])
			if err := t.answer(in[:n], out, at, shard); err != nil {
				t.log.Warn("answer to the kernel", zap.Error(err))
			}
			end()
		}
		t.slots.leave(k)
	}
}

// queue lets a request wait in line for a slot while another reader reads. It returns false if the
// request was answered: the line was too long, or its caller was killed.
func (t *transport) queue(k kind, me *reader, in []byte) bool {
	h := *headerOf(in)
	q := t.slots.stand(k, &h, len(in))
	if q == nil {
		t.fail(h.Unique, unix.EAGAIN)
		return false
	}
	defer t.slots.stood(len(in))
	back := t.away(me)
	goOn, signalled := t.slots.await(q)
	me.signalled = signalled
	back()
	t.ownThread(me)
	if !goOn {
		t.fail(h.Unique, unix.EINTR)
	}
	return goOn
}

// fail answers a request with an error.
func (t *transport) fail(unique uint64, errno unix.Errno) {
	out := fuse.OutHeader{Length: uint32(outHeaderSize), Status: -int32(errno), Unique: unique}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&out)), outHeaderSize)
	if _, err := retryInt(func() (int, error) { return unix.Write(t.dev, raw) }); err != nil && !nobodyWaits(err) {
		t.log.Warn("answer to the kernel", zap.Error(err))
	}
}

// splice answers a large read. It returns false if the request must be answered otherwise.
func (t *transport) splice(me *reader, in []byte) bool {
	unique, read, ok := largeRead(in)
	if !ok {
		return false
	}
	h := t.fs.handles.get(read.Fh)
	if h == nil {
		return false
	}
	done, err := me.pipe.send(t.dev, unique, h.fd, int64(read.Offset), int(read.Size))
	if err != nil && !nobodyWaits(err) {
		t.log.Warn("splice to the kernel", zap.Error(err))
	}
	if done {
		t.fs.stats.count(gate.OpRead)
	}
	return done
}

// lock answers a request for a lock. It returns false for any other request. A request that has to
// wait does so in its own goroutine.
func (t *transport) lock(in []byte, at time.Duration, shard *meterShard) bool {
	lk, wait, ok := lockOf(in)
	if !ok {
		return false
	}
	st, done := t.fs.lockAtOnce(lk, wait)
	if !done {
		waits := bytes.Clone(in)
		t.waits.Go(func() {
			if err := t.answer(waits, make([]byte, unsafe.Sizeof(fuse.OutHeader{})), at, shard); err != nil {
				t.log.Warn("answer to the kernel", zap.Error(err))
			}
		})
		return true
	}
	op, out := opOfRequest(in), fuse.OutHeader{Status: -int32(st), Unique: lk.Unique}
	out.Length = uint32(unsafe.Sizeof(out))
	answer := unsafe.Slice((*byte)(unsafe.Pointer(&out)), out.Length)
	if _, err := retryInt(func() (int, error) { return unix.Write(t.dev, answer) }); err != nil && !nobodyWaits(err) {
		t.log.Warn("answer to the kernel", zap.Error(err))
	}
	shard.note(op, unix.Errno(st), now()-at)
	return true
}

// nobodyWaits reports that an answer came too late: its caller has gone, or the mount has.
func nobodyWaits(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) }

// answer handles one request that came at a time, and measures it.
func (t *transport) answer(in, out []byte, at time.Duration, shard *meterShard) error {
	op := opOfRequest(in) // read now: the handler may change the request's bytes
	n, err := t.handle(in, out)
	shard.note(op, errnoOfAnswer(out[:n]), now()-at)
	return err
}

// handle handles one request and returns the length of its answer.
func (t *transport) handle(in, out []byte) (int, error) {
	n, st := t.proto.HandleRequest([][]byte{in}, [][]byte{out})
	if st != fuse.OK {
		return 0, fmt.Errorf("a request of %d bytes: %w", len(in), unix.Errno(st))
	}
	if n == 0 {
		return 0, nil
	}
	_, err := retryInt(func() (int, error) { return unix.Write(t.dev, out[:n]) })
	if nobodyWaits(err) {
		return n, nil
	}
	return n, err
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
