package transport

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// cpuPinning is the threads that are kept on one processor, with those on which each may run otherwise.
type cpuPinning struct {
	generation atomic.Uint64 // counts freeAll
	mu         sync.Mutex
	threads    map[int]unix.CPUSet
}

func newCPUPinning() *cpuPinning { return &cpuPinning{threads: map[int]unix.CPUSet{}} }

// keep keeps a thread on a processor. It fails if the thread may not run there.
func (p *cpuPinning) keep(thread, processor int) (generation uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var may, one unix.CPUSet
	if before, ok := p.threads[thread]; ok {
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
	p.threads[thread] = may
	return p.generation.Load(), true
}

// free lets a thread run where it might before.
func (p *cpuPinning) free(thread int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if may, ok := p.threads[thread]; ok {
		delete(p.threads, thread)
		_ = unix.SchedSetaffinity(thread, &may) // fails only if the processors may not be used any more: the kernel has moved it
	}
}

// freeAll is free for all threads. Their readerAffinity finds out by the generation.
func (p *cpuPinning) freeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.threads) == 0 {
		return
	}
	p.generation.Add(1)
	for thread, may := range p.threads {
		_ = unix.SchedSetaffinity(thread, &may) // as in free
	}
	clear(p.threads)
}
