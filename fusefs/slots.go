package fusefs

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// kind tells requests apart by what they may wait for.
type kind uint8

const (
	// kindOther is looked up, listed, opened for reading, closed: nobody's wait may hold it up.
	kindOther kind = iota
	kindRead
	kindMutation
	kindOpen  // for writing: it asks the gate, but changes nothing on a disk
	kindStore // what the kernel writes back; whoever hands a lease over waits for it
	kinds
)

// threads is how many requests of a kind are carried out at a time. Each may hang in the
// kernel, in a disk that does not answer, and then it has a thread for itself.
var threads = [kinds]int{kindRead: 256, kindMutation: 256, kindOpen: 64, kindStore: 64}

// threadsMax is what all of them can take.
const threadsMax = 256 + 256 + 64 + 64

const (
	// queuedMax requests stand in line behind those, and queuedBytes is the most that they
	// may have to say. More of them are refused (EAGAIN): left in the kernel, they would
	// stand before everybody else's.
	queuedMax   = 4096
	queuedBytes = 512 << 20
)

// Requests that are told apart before they are decoded (linux/fuse.h).
const (
	opForget      = 2
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opRelease     = 18
	opReleaseDir  = 29
	opSetLk       = 32
	opSetLkw      = 33
	opInterrupt   = 36
	opBatchForget = 42
)

// mutations are the requests that change something, or make it durable.
var mutations = func() (is [64]bool) {
	for _, op := range []int{
		4, 6, 8, 9, 10, 11, 12, 13, // SETATTR SYMLINK MKNOD MKDIR UNLINK RMDIR RENAME LINK
		opWrite, 20, 21, 24, 30, // FSYNC SETXATTR REMOVEXATTR FSYNCDIR
		35, 39, 43, 45, 47, 50, 51, // CREATE IOCTL FALLOCATE RENAME2 COPY_FILE_RANGE SYNCFS TMPFILE
	} {
		is[op] = true
	}
	return is
}()

func headerOf(in []byte) *fuse.InHeader {
	if len(in) < int(unsafe.Sizeof(fuse.InHeader{})) {
		return nil
	}
	return (*fuse.InHeader)(unsafe.Pointer(&in[0]))
}

// kindOf is the kind of a request.
func kindOf(in []byte) kind {
	h := headerOf(in)
	switch {
	case h == nil || h.Opcode >= uint32(len(mutations)):
		return kindOther
	case h.Opcode == opRead:
		return kindRead
	case h.Opcode == opWrite && len(in) >= int(unsafe.Sizeof(fuse.WriteIn{})) &&
		(*fuse.WriteIn)(unsafe.Pointer(h)).WriteFlags&fuse.WRITE_CACHE != 0:
		return kindStore
	case mutations[h.Opcode]:
		return kindMutation
	case h.Opcode == opOpen && len(in) >= int(unsafe.Sizeof(fuse.OpenIn{})):
		if flags := (*fuse.OpenIn)(unsafe.Pointer(h)).Flags; writes(flags) || flags&unix.O_TRUNC != 0 {
			return kindOpen
		}
	}
	return kindOther
}

// slots are the threads that the requests of a kind may take at a time, and who stands in
// line for one. Safe for concurrent use.
type slots struct {
	mu    sync.Mutex
	free  [kinds]int
	line  [kinds][]*queued
	bytes int
	count int
}

// queued is a request that stands in line.
type queued struct {
	unique uint64
	pid    uint32        // of its caller
	turn   chan bool     // true: go on; false: it was called off
	signal chan struct{} // closed when its caller has got a signal
	told   bool          // it is closed
}

func newSlots() *slots { return &slots{free: threads} }

// enter takes a slot, if one is free and nobody stands in line before.
func (s *slots) enter(k kind) bool {
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

// stand puts a request in line; nil is a line that is too long. It may be its turn at once.
func (s *slots) stand(k kind, h *fuse.InHeader, bytes int) *queued {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count >= queuedMax || s.bytes+bytes > queuedBytes {
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

// stood is the end of stand: the request goes on, or is answered.
func (s *slots) stood(bytes int) {
	s.mu.Lock()
	s.count, s.bytes = s.count-1, s.bytes-bytes
	s.mu.Unlock()
}

// leave gives a slot to whoever is next in line.
func (s *slots) leave(k kind) {
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

// take takes a slot whether one is free or not: who has locks must not stand in line
// behind those who wait for them.
func (s *slots) take(k kind) {
	s.mu.Lock()
	s.free[k]--
	s.mu.Unlock()
}

// callOff takes a request out of the line. It is false where it does not stand there.
func (s *slots) callOff(unique uint64) bool {
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

// await waits for the turn. A caller that is killed is called off. signalled is whether it got
// a signal meanwhile: the kernel does not tell of another.
func (s *slots) await(q *queued) (goOn, signalled bool) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // until the turn has come
		defer close(ended)
		if gate.WhenDying(q.signal, q.pid, stop) {
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

// signal notes that the caller of a request has got a signal, if it stands in line.
func (s *slots) signal(unique uint64) bool {
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
