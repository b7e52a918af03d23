package fusefs

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// moored is the threads that are kept on one processor, with those on which each may run otherwise.
type moored struct {
	generation atomic.Uint64 // counts freeAll
	mu         sync.Mutex
	threads    map[int]unix.CPUSet
}

func newMoored() *moored { return &moored{threads: map[int]unix.CPUSet{}} }

// keep keeps a thread on a processor. It fails if the thread may not run there.
func (m *moored) keep(thread, processor int) (generation uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var may, one unix.CPUSet
	if before, ok := m.threads[thread]; ok {
		may = before
	} else if unix.SchedGetaffinity(thread, &may) != nil {
		return 0, false
	}
	if !may.IsSet(processor) {
		return 0, false
	}
	one.Set(processor)
	if unix.SchedSetaffinity(thread, &one) != nil {
		return 0, false
	}
	m.threads[thread] = may
	return m.generation.Load(), true
}

// free lets a thread run where it might before.
func (m *moored) free(thread int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if may, ok := m.threads[thread]; ok {
		delete(m.threads, thread)
		_ = unix.SchedSetaffinity(thread, &may) // fails only if the processors may not be used any more: the kernel has moved it
	}
}

// freeAll is free for all threads. Their followers find out by the generation.
func (m *moored) freeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.threads) == 0 {
		return
	}
	m.generation.Add(1)
	for thread, may := range m.threads {
		_ = unix.SchedSetaffinity(thread, &may) // as in free
	}
	clear(m.threads)
}
