package transport

import (
	"bytes"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// devChannel carries requests by read(2) and write(2) of /dev/fuse. go-fuse's own server does this
// with two or more readers that take turns. So each request wakes a sleeping thread, and that takes
// longer than the request. Here one reader stays as long as it keeps up (readerPool).
type devChannel struct {
	dev     int // of /dev/fuse
	log     *zap.Logger
	meter   *Meter
	threads *threadCalls
	pool    *readerPool
	poll    *poller
	pinning *cpuPinning
	lastCPU *lastCPU
	holder  cpuHolder
	bufs    buffers
	do      func(*call)

	waits sync.WaitGroup // requests that wait for locks
}

func newDevChannel(dev int, threads *threadCalls, cpuOf func(thread uint32) int, m *Meter, log *zap.Logger) *devChannel {
	d := &devChannel{dev: dev, log: log, meter: m, threads: threads, poll: newPoller(dev), lastCPU: newLastCPU(cpuOf), pinning: newCPUPinning()}
	d.pool = newReaderPool(d.waiting)
	d.pool.still = d.pinning.freeAll // a thread that cannot get its processor must not keep it
	return d
}

// waiting reports whether there are requests that nobody has read.
func (d *devChannel) waiting() bool {
	p := []unix.PollFd{{Fd: int32(d.dev), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1
}

func (d *devChannel) serve(do func(*call), ended func()) {
	d.do = do
	d.waits.Go(d.lastCPU.run)
	d.waits.Go(d.holder.run)
	d.pool.run(d.read)
	d.lastCPU.end()
	d.holder.end()
	ended()
	d.waits.Wait()
	d.holder.close()
	d.bufs.close()
}

// read is one reader. It keeps its thread: if the same thread reads, handles and answers a request,
// it wakes nobody else.
func (d *devChannel) read(me *reader) {
	me.channel, me.affinity = d, readerAffinity{pinning: d.pinning, lastCPU: d.lastCPU, holder: &d.holder}
	c := &call{hand: me, shard: d.meter.shard()}
	defer d.threads.leave(c)
	defer me.affinity.letGo()
	defer me.pipe.close()
	buf, err := d.bufs.get()
	for ; err != nil; buf, err = d.bufs.get() { // no memory just now; without a reader nothing frees any
		d.log.Warn("memory for a reader", zap.Error(err))
		time.Sleep(tick)
	}
	defer d.bufs.put(buf)
	c.out = buf.out
	for d.pool.next(me) {
		d.threads.own(c)
		polled := me.alone && !me.affinity.near && d.poll.wait()
		n, err := unix.Read(d.dev, buf.in)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN || err == unix.ENOENT: // ENOENT: its caller has gone
			d.pool.missed(me)
			continue
		case err == unix.ENOMEM || err == unix.EFAULT: // the buffer could not be had just now
			d.log.Warn("read from /dev/fuse", zap.Error(err))
			d.pool.missed(me)
			time.Sleep(tick)
			continue
		case err != nil:
			if err != unix.ENODEV && err != unix.ECONNABORTED {
				d.log.Error("read from /dev/fuse", zap.Error(err))
			}
			d.pool.over()
			return
		}
		c.in = buf.in[:n]
		d.took(me, c, polled)
		d.do(c)
	}
}

// took notes a request that was read.
func (d *devChannel) took(me *reader, c *call, polled bool) {
	waited := waitedFor(c.in)
	c.at = d.pool.took(me, waited && !me.affinity.near) // beside its only caller it has nobody else
	if !polled && me.alone && !me.affinity.near {
		d.poll.slept(c.at - me.began)
	}
	if waited {
		me.affinity.took(callingThread(c.in), c.at, me.alone, c.tid)
	}
}

func (r *reader) answer(_ *call, out []byte) error {
	_, err := retryInt(func() (int, error) { return unix.Write(r.channel.dev, out) })
	return err
}

func (r *reader) sendFile(_ *call, unique uint64, fd int, off int64, size int) (done bool, err error) {
	return r.pipe.send(r.channel.dev, unique, fd, off, size)
}

// away is readerPool.away for a reader. Meanwhile it has no thread and no pipe.
func (r *reader) away(c *call) (back func()) {
	r.pipe.close()
	r.affinity.letGo()
	r.channel.threads.leave(c)
	return r.channel.pool.away()
}

// apart handles a call in a goroutine of its own. The reader's memory is for its next request.
func (r *reader) apart(c *call, do func(*call)) {
	later := &call{in: bytes.Clone(c.in), out: make([]byte, outHeaderSize), at: c.at, hand: r, shard: c.shard}
	r.channel.waits.Go(func() { do(later) })
}
