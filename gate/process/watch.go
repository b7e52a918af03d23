package process

import (
	"sync"

	"golang.org/x/sys/unix"
)

// Watch tells at once whether a process has ended: while it runs, one system call answers. The zero
// value watches nothing, and what it does not watch does not run. Safe for concurrent use.
type Watch struct {
	exits *ExitWatch

	mu     sync.Mutex
	shared *Cached // that others may use, too; nil: none, or closed
	own    bool    // pidfd is open
	pidfd  int
	watch  int32 // in exits
}

// Watch begins to watch a process. When it ends, exits calls wake once; wake must not block. exits
// may be nil. A process that has ended already, or cannot be watched, is not watched, and wake is not called.
func (r *Resolver) Watch(p ID, exits *ExitWatch, wake func()) *Watch {
	w := &Watch{exits: exits}
	if w.shared = r.cache.use(p, exits, w, wake); w.shared != nil {
		return w
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return w
	}
	if st, err := ReadStat(p.PID); err != nil || st.Start != p.Start { // read after the pidfd was opened: so it is about this very process
		_ = unix.Close(fd)
		return w
	}
	w.own, w.pidfd = true, fd
	if exits != nil {
		w.watch, _ = exits.watch(fd, wake) // otherwise its end is seen by who looks
	}
	return w
}

// Runs reports whether the process is known to run.
func (w *Watch) Runs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shared != nil {
		return w.shared.runs()
	}
	return w.own && pidfdRuns(w.pidfd)
}

// pidfdRuns reports whether the process of a descriptor has not ended.
func pidfdRuns(fd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
	return n == 0 && err == nil
}

// Close ends the watch.
func (w *Watch) Close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shared != nil {
		w.shared.unuse(w)
		w.shared = nil
	}
	if !w.own {
		return
	}
	if w.exits != nil {
		w.exits.forget(w.pidfd, w.watch)
	}
	_ = unix.Close(w.pidfd)
	w.own = false
}
