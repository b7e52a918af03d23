package transport

import (
	"sync"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// interrupted notes that a caller has got a signal while its request waits in line. If the caller
// is being killed the request need not wait. Another signal must not break off a call on a file:
// other file systems do not let it, either. If the request is being carried out already, its handler is
// told, by go-fuse if that has decoded it.
func (t *Transport) interrupted(c *call) bool {
	h := headerOf(c.in)
	if h == nil || h.Opcode != opInterrupt || len(c.in) < int(unsafe.Sizeof(fuse.InterruptIn{})) {
		return false
	}
	unique := (*fuse.InterruptIn)(unsafe.Pointer(h)).Unique
	if t.uring == nil {
		return t.limits.signal(unique) || t.inflight.signal(unique)
	}
	t.tell(unique)
	return true
}

// tell tells of a signal for a request of a ring.
func (t *Transport) tell(unique uint64) {
	if told := func() bool { return t.limits.signal(unique) || t.knows(unique) }; !told() {
		t.late.try(told)
	}
}

// lateSignals are signals for requests that nobody knows yet. From /dev/fuse the kernel sends such a
// signal again when it is answered with EAGAIN, but it does not find a request of a ring for that
// (fuse_dev_do_write). Of a request that has been answered nobody will ever know.
type lateSignals struct {
	stop chan struct{}
	wg   *sync.WaitGroup
}

// lateMax is longer than a thread needs to begin with a request that it has got.
const lateMax = 10 * time.Second

func newLateSignals() lateSignals { return lateSignals{make(chan struct{}), new(sync.WaitGroup)} }

// try tells of a signal until it is known.
func (l lateSignals) try(tell func() bool) {
	l.wg.Go(func() {
		for pause, end := time.Millisecond, time.Now().Add(lateMax); time.Now().Before(end); pause = min(2*pause, 64*time.Millisecond) {
			select {
			case <-time.After(pause):
			case <-l.stop:
				return
			}
			if tell() {
				return
			}
		}
	})
}

// end ends all. There are no requests any more.
func (l lateSignals) end() {
	close(l.stop)
	l.wg.Wait()
}

// tellAgain repeats a signal that came while the request waited in line, as soon as the request is
// carried out. Then its handler can see whether the caller is being killed. The kernel tells of one
// signal for each request (FR_INTERRUPTED). end must follow the answer.
func (t *Transport) tellAgain(c *call) (end func()) {
	if !c.signalled {
		return func() {}
	}
	c.signalled = false
	unique := headerOf(c.in).Unique
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // until end
		defer close(ended)
		for !t.knows(unique) {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// knows tells of a signal for a request that is carried out. It returns false if there is no such request yet.
func (t *Transport) knows(unique uint64) bool {
	return t.inflight.signal(unique) || t.tellGoFuse(unique)
}
