package transport

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// kind says what a request may wait for.
type kind uint8

const (
	// kindOther: lookup, listing, open for reading, close. No wait of others may delay it.
	kindOther kind = iota
	kindRead
	kindMutation
	kindOpen  // open for writing: it asks the gate, but changes nothing on the disk
	kindStore // write-back by the kernel; a handover of the lease waits for it
	kinds
)

// threads is how many requests of a kind run at a time. Each may hang in the kernel because a disk
// does not answer, and then it needs its own thread.
var threads = [kinds]int{kindRead: 256, kindMutation: 256, kindOpen: 64, kindStore: 64}

// threadsMax is their sum.
const threadsMax = 256 + 256 + 64 + 64

const (
	// queuedMax is how many further requests wait in line, with queuedBytes at most. More are
	// refused (EAGAIN): in the kernel's queue they would block everybody else's.
	queuedMax   = 4096
	queuedBytes = 512 << 20
)

// kindOf returns the kind of a request: that of its operation, but of some it says more.
func kindOf(in []byte) kind {
	h := headerOf(in)
	switch {
	case h == nil || h.Opcode >= uint32(len(operations)):
		return kindOther
	case h.Opcode == opWrite && len(in) >= int(unsafe.Sizeof(fuse.WriteIn{})) &&
		(*fuse.WriteIn)(unsafe.Pointer(h)).WriteFlags&fuse.WRITE_CACHE != 0:
		return kindStore
	case h.Opcode == opOpen && len(in) >= int(unsafe.Sizeof(fuse.OpenIn{})):
		if flags := (*fuse.OpenIn)(unsafe.Pointer(h)).Flags; flags&unix.O_ACCMODE != unix.O_RDONLY || flags&unix.O_TRUNC != 0 {
			return kindOpen
		}
	}
	return operations[h.Opcode].kind
}

// limits are the threads for the requests of each kind, and the line that waits for them. Safe for
// concurrent use.
type limits struct {
	mu    sync.Mutex
	free  [kinds]int
	line  [kinds][]*queued
	bytes int
	count int
	most  int // in line

	whenDying func(signal <-chan struct{}, thread uint32, stop <-chan struct{}) bool
}

// queued is a request that waits in line.
type queued struct {
	unique uint64
	pid    uint32        // of its caller
	turn   chan bool     // true: go on; false: called off
	signal chan struct{} // closed when its caller has got a signal
	told   bool          // it is closed
}

func newLimits(whenDying func(<-chan struct{}, uint32, <-chan struct{}) bool) *limits {
	return &limits{free: threads, most: queuedMax, whenDying: whenDying}
}

// enter takes a slot if one is free and nobody is in line.
func (s *limits) enter(k kind) bool {
	if k == kindOther {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free[k] <= 0 {
		return false
	}
	s.free[k]--
	return true
}

// stand puts a request in line, or returns nil if the line is too long. Its turn may come at once.
func (s *limits) stand(k kind, h *fuse.InHeader, bytes int) *queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= s.most || s.bytes+bytes > queuedBytes {
		return nil
	}
	q := &queued{unique: h.Unique, pid: h.Pid, turn: make(chan bool, 1), signal: make(chan struct{})}
	if s.free[k] > 0 {
		s.free[k]--
		q.turn <- true
		s.count, s.bytes = s.count+1, s.bytes+bytes
		return q
	}
	s.count, s.bytes = s.count+1, s.bytes+bytes
	s.line[k] = append(s.line[k], q)
	return q
}

// stood ends stand: the request goes on, or is answered.
func (s *limits) stood(bytes int) {
	s.mu.Lock()
	s.count, s.bytes = s.count-1, s.bytes-bytes
	s.mu.Unlock()
}

// leave gives a slot to the next in line.
func (s *limits) leave(k kind) {
	if k == kindOther {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free[k] >= 0 && len(s.line[k]) > 0 {
		s.line[k][0].turn <- true
		s.line[k] = slices.Delete(s.line[k], 0, 1)
		return
	}
	s.free[k]++
}

// take takes a slot even if none is free: a request that has locks must not wait in line behind
// requests that wait for these locks.
func (s *limits) take(k kind) {
	s.mu.Lock()
	s.free[k]--
	s.mu.Unlock()
}

// callOff removes a request from the line. It returns false if it is not there.
func (s *limits) callOff(unique uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.line {
		i := slices.IndexFunc(s.line[k], func(q *queued) bool { return q.unique == unique })
		if i >= 0 {
			s.line[k][i].turn <- false
			s.line[k] = slices.Delete(s.line[k], i, i+1)
			return true
		}
	}
	return false
}

// await waits for the turn. If the caller is being killed the request is called off. signalled says
// whether the caller got a signal meanwhile: the kernel does not tell of another one.
func (s *limits) await(q *queued) (goOn, signalled bool) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // until the turn has come
		defer close(ended)
		if s.whenDying(q.signal, q.pid, stop) {
			s.callOff(q.unique)
		}
	}()
	goOn = <-q.turn
	close(stop)
	<-ended
	select {
	case <-q.signal:
		return goOn, true
	default:
		return goOn, false
	}
}

// signal notes that the caller of a request in line has got a signal.
func (s *limits) signal(unique uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.line {
		i := slices.IndexFunc(s.line[k], func(q *queued) bool { return q.unique == unique })
		if i >= 0 {
			if q := s.line[k][i]; !q.told {
				q.told = true
				close(q.signal)
			}
			return true
		}
	}
	return false
}
