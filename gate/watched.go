package gate

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
)

// watchedSet has the processes that hold something, or have just done so: who takes a lock file takes it a hundred times a second.
// Each is opened once and not for each lock. Safe for concurrent use.
type watchedSet struct {
	mu  sync.Mutex
	all map[process]*watched
}

// watched is one process, told apart by descriptors: they stay its own when its number is another's. It leaves the set when it has
// ended, or when it holds nothing and there are too many.
type watched struct {
	process
	set   *watchedSet
	ends  *Ends
	pidfd int
	stat  int   // /proc/PID/stat
	watch int32 // in ends

	uses  int
	over  bool
	wakes map[*life]func()
	made  map[madeFor]lease.Holder
}

// madeFor is what the holder of a lock file depends on.
type madeFor struct {
	id Identity
	as lockfile.Holder
}

// watchedMax bounds the descriptors of processes that hold nothing: two for each.
const watchedMax = 64

// use returns a process, opened if it was not; nil if it has ended or cannot be watched. unuse must follow. When it
// ends, wake is called, until unuse.
func (s *watchedSet) use(p process, ends *Ends, by *life, wake func()) *watched {
	if ends == nil || p.pid == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.all[p]
	if w == nil {
		if w = s.open(p, ends); w == nil {
			return nil
		}
	}
	w.uses++
	if by != nil {
		w.wakes[by] = wake
	}
	return w
}

// open adds a process. Under mu.
func (s *watchedSet) open(p process, ends *Ends) *watched {
	if len(s.all) >= watchedMax {
		s.dropIdle()
	}
	w := &watched{process: p, set: s, ends: ends, pidfd: -1, stat: -1, wakes: make(map[*life]func()), made: make(map[madeFor]lease.Holder)}
	var err error
	if w.pidfd, err = unix.PidfdOpen(p.pid, 0); err != nil {
		return nil
	}
	if w.stat, err = unix.Open(procFile(p.pid, "stat"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		var st ProcStat
		if st, err = w.readStat(); err == nil && st.Start != p.start {
			err = errGone
		}
	}
	if err == nil { // read after the descriptors were opened: so they are this very process's
		w.watch, err = ends.watch(w.pidfd, w.ended)
	}
	if err != nil {
		w.close()
		return nil
	}
	if s.all == nil {
		s.all = make(map[process]*watched)
	}
	s.all[p] = w
	return w
}

// dropIdle closes all that hold nothing. Under mu.
func (s *watchedSet) dropIdle() {
	for p, w := range s.all {
		if w.uses == 0 {
			delete(s.all, p)
			w.close()
		}
	}
}

// end closes what nobody uses. Whatever is in use is closed with its last user.
func (s *watchedSet) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdle()
}

// runs reports whether a process is known to run: it costs one system call.
func (s *watchedSet) runs(p process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.all[p]
	return w != nil && w.runs()
}

func (w *watched) runs() bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(w.pidfd), Events: unix.POLLIN}}, 0)
	return n == 0 && err == nil
}

// readStat is ReadStat of this very process with one system call.
func (w *watched) readStat() (ProcStat, error) {
	var b [1024]byte // the name has at most 64 bytes, and the numbers 20 each
	n, err := unix.Pread(w.stat, b[:], 0)
	if err != nil {
		return ProcStat{}, errGone
	}
	return parseStat(b[:n])
}

// unuse ends use.
func (w *watched) unuse(by *life) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	delete(w.wakes, by)
	if w.uses--; w.uses == 0 && w.over {
		w.close()
	}
}

// ended is called when the process has ended.
func (w *watched) ended() {
	w.set.mu.Lock()
	if w.over = true; w.set.all[w.process] == w {
		delete(w.set.all, w.process)
		if w.uses == 0 {
			w.close()
		}
	}
	var wakes []func()
	for _, wake := range w.wakes {
		wakes = append(wakes, wake)
	}
	w.set.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// close frees the descriptors. Under mu.
func (w *watched) close() {
	if w.watch != 0 {
		w.ends.forget(w.pidfd, w.watch)
	}
	_ = unix.Close(w.pidfd)
	_ = unix.Close(w.stat) // -1 if it was never opened
}

// holder is the holder that was made for the same before, otherwise a new one.
func (w *watched) holder(id Identity, as lockfile.Holder, anew func() (lease.Holder, error)) (lease.Holder, error) {
	if as == lockfile.Parent { // that may have ended since
		return anew()
	}
	id.tid = 0
	key := madeFor{id, as}
	w.set.mu.Lock()
	h, known := w.made[key]
	w.set.mu.Unlock()
	if known {
		return h, nil
	}
	h, err := anew()
	if err != nil {
		return h, err
	}
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if len(w.made) >= watchedMax {
		clear(w.made)
	}
	w.made[key] = h
	return h, nil
}
