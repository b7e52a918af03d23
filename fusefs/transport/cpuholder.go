package transport

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cpuHolder keeps the processor that a reader leaves busy for a moment, so that the reader's caller does not go there.
//
// A thread that wakes up and finds its processor busy takes the one on which it ran before, if that is idle (Linux 6.18:
// recent_used_cpu in select_idle_sibling). Just that happens when a reader comes to its caller: the reader is what keeps
// the processor busy, and the one that it has left is idle. Once the caller has woken up beside its reader it stays.
type cpuHolder struct {
	bell   atomic.Int32 // an eventfd; 0: run has not begun
	thread atomic.Int32 // of run
	wanted atomic.Bool
	ended  atomic.Bool
}

// holdMost is how long a processor is kept busy at most: longer than a reader needs to go to another one, and to answer there.
const holdMost = 200 * time.Microsecond

// run serves hold until end.
func (s *cpuHolder) run() {
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return // callers will go, and their readers come after them: that takes longer, no more
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var anywhere unix.CPUSet
	thread := unix.Gettid()
	if unix.SchedGetaffinity(thread, &anywhere) == nil {
		s.thread.Store(int32(thread))
	}
	s.bell.Store(int32(bell))
	for text := make([]byte, 8); !s.ended.Load(); {
		if _, err := unix.Read(bell, text); err == nil {
			s.spin()
			_ = unix.SchedSetaffinity(thread, &anywhere) // each hold has rung the bell, so none is forgotten
		}
	}
}

// spin is busy as long as that is wanted.
func (s *cpuHolder) spin() {
	for begun := time.Now(); s.wanted.Load() && time.Since(begun) < holdMost; {
	}
}

// hold begins to keep a processor busy, as soon as this thread leaves it.
func (s *cpuHolder) hold(processor int) {
	thread := int(s.thread.Load())
	if thread == 0 || runtime.GOMAXPROCS(0) == 1 { // with one, Go's runtime would let nobody else run meanwhile
		return
	}
	var one unix.CPUSet
	one.Set(processor)
	if unix.SchedSetaffinity(thread, &one) == nil {
		s.wanted.Store(true)
		s.ring()
	}
}

// drop ends hold.
func (s *cpuHolder) drop() { s.wanted.Store(false) }

// end ends run.
func (s *cpuHolder) end() {
	s.drop()
	s.ended.Store(true)
	s.ring()
}

// close frees what run has used. It has ended, and nobody calls hold any more.
func (s *cpuHolder) close() {
	if bell := s.bell.Swap(0); bell != 0 {
		_ = unix.Close(int(bell))
	}
}

// ring wakes run. If that has not begun it will see that it has to end.
func (s *cpuHolder) ring() {
	if bell := s.bell.Load(); bell != 0 {
		_, _ = unix.Write(int(bell), binary.NativeEndian.AppendUint64(nil, 1)) // fails only if it was rung 2^64-2 times
	}
}

// processorHere is the one on which this thread runs.
func processorHere() int {
	var n uint32
	_, _, _ = unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&n)), 0, 0)
	return int(n)
}
