package gate

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

// life tells at once whether the holder of an epoch has ended. While its process runs, one system
// call answers. Safe for concurrent use.
type life struct {
	res *Resolver

	mu     sync.Mutex
	shared *watched // that others may use, too; nil: none, or closed
	pidfd  int      // its own, -1: none, or closed
	watch  int32    // in Ends
}

// watchLife begins to watch the process that a holder is bound to. When it ends, ends calls wake
// once. ends may be nil.
func watchLife(h lease.Holder, res *Resolver, ends *Ends, wake func()) *life {
	l := &life{res: res, pidfd: -1}
	if h.PID == 0 || h.BootID != host().bootID || h.PIDNamespace != host().pidNS {
		return l
	}
	if l.shared = res.watched.use(process{h.PID, h.StartTime}, ends, l, wake); l.shared != nil {
		return l
	}
	fd, err := unix.PidfdOpen(h.PID, 0)
	if err != nil {
		return l
	}
	if st, err := ReadStat(h.PID); err != nil || st.Start != h.StartTime { // read after the pidfd was opened: so it is about this very process
		_ = unix.Close(fd)
		return l
	}
	l.pidfd = fd
	if ends != nil {
		l.watch, _ = ends.watch(fd, wake) // otherwise its end is seen by who looks
	}
	return l
}

// ended reports whether nobody is left in the holder.
func (l *life) ended(h lease.Holder) bool {
	if l == nil || l.runs() {
		return false
	}
	return l.res.Liveness(h) == lease.Gone
}

func (l *life) runs() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared != nil {
		return l.shared.runs()
	}
	if l.pidfd < 0 {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(l.pidfd), Events: unix.POLLIN}}, 0)
	return n == 0 && err == nil
}

// close ends the watch.
func (l *life) close(ends *Ends) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared != nil {
		l.shared.unuse(l)
		l.shared = nil
	}
	if l.pidfd < 0 {
		return
	}
	if ends != nil {
		ends.forget(l.pidfd, l.watch)
	}
	_ = unix.Close(l.pidfd)
	l.pidfd = -1
}
