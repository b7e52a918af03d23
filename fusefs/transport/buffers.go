package transport

import (
	"sync"

	"golang.org/x/sys/unix"
)

// buffers are the memory of readers for requests and answers. They are pages of the kernel and not
// Go's heap: a buffer only takes memory for what requests have touched, and that is freed when its
// reader ends. So thousands of small requests may wait.
type buffers struct {
	mu    sync.Mutex
	spare [][]byte
}

// readerBuffer is room for a request and for its answer.
type readerBuffer struct{ in, out, both []byte }

func (b *buffers) get() (readerBuffer, error) {
	b.mu.Lock()
	n := len(b.spare)
	var both []byte
	if n > 0 {
		both, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	b.mu.Unlock()
	if both == nil {
		var err error
		both, err = unix.Mmap(-1, 0, 2*requestSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
		if err != nil {
			return readerBuffer{}, err
		}
	}
	return readerBuffer{both[:requestSize:requestSize], both[requestSize:], both}, nil
}

func (b *buffers) put(p readerBuffer) {
	if unix.Madvise(p.both, unix.MADV_DONTNEED) != nil {
		_ = unix.Munmap(p.both)
		return
	}
	b.mu.Lock()
	b.spare = append(b.spare, p.both)
	b.mu.Unlock()
}

// close frees the spare buffers. No reader may be left.
func (b *buffers) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, both := range b.spare {
		_ = unix.Munmap(both)
	}
	b.spare = nil
}
