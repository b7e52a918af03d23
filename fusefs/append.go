package fusefs

import (
	"sync"

	"golang.org/x/sys/unix"
)

// tail is a handle's descriptor for appends on a store that other kernels write.
//
// There "append" must be said when the file is opened. RWF_APPEND alone makes this kernel ask its own copy of the
// size, which a client of GlusterFS keeps for a second: the first appends after a handover went over what the
// previous holder was acknowledged on another host. A descriptor that was opened with O_APPEND takes the flag to
// the store, which appends where its file ends. The handle's own descriptor does not have the flag (backingFlags).
type tail struct {
	once sync.Once
	fd   int // 0: none
}

// tailOf is the descriptor by which a handle appends. Where the store does not open the file again (it may have no
// name any more, so that other hosts cannot reach it either), it is the handle's own.
func (f *rawFS) tailOf(h *handle) int {
	if !f.durable || h.appendOnly {
		return h.fd
	}
	h.tail.once.Do(func() {
		fd, err := f.openAgain(h.fd, unix.O_WRONLY|unix.O_APPEND|unix.O_DSYNC|unix.O_NOATIME|unix.O_NONBLOCK)
		if err != nil {
			return
		}
		h.tail.fd = fd
		f.handles.fds.Add(1)
	})
	if h.tail.fd == 0 {
		return h.fd
	}
	return h.tail.fd
}

// closeTail ends tailOf, when no write can come any more.
func (t *handleTable) closeTail(h *handle) {
	h.tail.once.Do(func() {}) // none is opened from here on
	if h.tail.fd == 0 {
		return
	}
	_ = unix.Close(h.tail.fd)
	t.fds.Add(-1)
}
