package fusefs

import (
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// tail is a handle's descriptor for appends on a store that other kernels write.
//
// There "append" must be said when the file is opened. RWF_APPEND alone makes this kernel ask its own copy of the
// size, which a client of GlusterFS keeps for a second: the first appends after a handover went over what the
// previous holder was acknowledged on another host. A descriptor that was opened with O_APPEND takes the flag to
// the store, which appends where its file ends. The handle's own descriptor does not have the flag (backingFlags).
//
// There are stores whose client appends where it believes that the file ends (CephFS). So it is made to ask the store
// for the size before the first append of a handle. While the handle's leases last nobody else makes the file longer.
type tail struct {
	mu     sync.Mutex
	opened bool
	fd     int // 0: none
	asked  bool
}

// tailOf is the descriptor by which a handle appends, when the store's client knows where the file ends. Where the
// store does not open the file again (it may have no name any more, so that other hosts cannot reach it either), it is
// the handle's own. An error says that the end is not known: an append might go over what others wrote.
func (f *rawFS) tailOf(h *handle) (int, error) {
	if !f.durable {
		return h.fd, nil
	}
	t := &h.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	fd := f.openTail(h)
	if t.asked && h.ofLeases() {
		return fd, nil
	}
	var st unix.Statx_t
	err := retry(func() error {
		return unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_SIZE, &st)
	})
	t.asked = err == nil
	return fd, err
}

// openTail opens the descriptor, once. Under mu.
func (f *rawFS) openTail(h *handle) int {
	t := &h.tail
	if !t.opened && !h.appendOnly {
		if fd, err := f.source.Reopen(h.fd, unix.O_WRONLY|unix.O_APPEND|f.syncFlag()|unix.O_NOATIME|unix.O_NONBLOCK); err == nil {
			t.fd = fd
			f.handles.fds.Add(1)
		}
	}
	t.opened = true
	if t.fd == 0 {
		return h.fd
	}
	return t.fd
}

// ofLeases reports whether only leases admit what the handle writes. It ends with them. Others may write, too, where
// it was opened without one: in mode shared, or while nobody held.
func (h *handle) ofLeases() bool {
	return len(h.claims) > 0 && !h.ofLock && !slices.ContainsFunc(h.claims, func(c claim) bool { return c.epoch.Token() == 0 })
}

// closeTail ends tailOf, when no write can come any more.
func (t *handleTable) closeTail(h *handle) {
	h.tail.mu.Lock()
	defer h.tail.mu.Unlock()
	h.tail.opened = true // none is opened from here on
	if h.tail.fd == 0 {
		return
	}
	_ = unix.Close(h.tail.fd)
	h.tail.fd = 0
	t.fds.Add(-1)
}
