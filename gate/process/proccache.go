package process

import (
	"sync"

	"golang.org/x/sys/unix"
)

// procCache has the processes that hold something, or have just done so: who takes a lock file takes it a hundred times a second.
// Each is opened once and not for each lock. Safe for concurrent use.
type procCache struct {
	mu  sync.Mutex
	all map[ID]*Cached
}

// Cached is one process, told apart by descriptors: they stay its own when its number is another's. It leaves the set when it has
// ended, or when it holds nothing and there are too many.
type Cached struct {
	ID
	set   *procCache
	exits *ExitWatch
	pidfd int
	stat  int   // /proc/PID/stat
	watch int32 // in exits

	uses  int
	over  bool
	wakes map[*Watch]func()
	made  map[any]any
}

// cachedMax bounds the descriptors of processes that hold nothing: two for each.
const cachedMax = 64

// use returns a process, opened if it was not; nil if it has ended or cannot be watched. unuse must follow. When it
// ends, wake is called, until unuse.
func (s *procCache) use(p ID, exits *ExitWatch, by *Watch, wake func()) *Cached {
	if exits == nil || p.PID == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.all[p]
	if w == nil {
		if w = s.open(p, exits); w == nil {
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
func (s *procCache) open(p ID, exits *ExitWatch) *Cached {
	if len(s.all) >= cachedMax {
		s.dropIdle()
	}
	w := &Cached{ID: p, set: s, exits: exits, pidfd: -1, stat: -1, wakes: make(map[*Watch]func()), made: make(map[any]any)}
	var err error
	if w.pidfd, err = unix.PidfdOpen(p.PID, 0); err != nil {
		return nil
	}
	if w.stat, err = unix.Open(procFile(p.PID, "stat"), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
		var st Stat
		if st, err = w.Stat(); err == nil && st.Start != p.Start {
			err = ErrGone
		}
	}
	if err == nil { // read after the descriptors were opened: so they are this very process's
		w.watch, err = exits.watch(w.pidfd, w.ended)
	}
	if err != nil {
		w.close()
		return nil
	}
	if s.all == nil {
		s.all = make(map[ID]*Cached)
	}
	s.all[p] = w
	return w
}

// dropIdle closes all that hold nothing. Under mu.
func (s *procCache) dropIdle() {
	for p, w := range s.all {
		if w.uses == 0 {
			delete(s.all, p)
			w.close()
		}
	}
}

// end closes what nobody uses. Whatever is in use is closed with its last user.
func (s *procCache) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropIdle()
}

// runs reports whether a process is known to run: it costs one system call.
func (s *procCache) runs(p ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.all[p]
	return w != nil && w.runs()
}

func (w *Cached) runs() bool { return pidfdRuns(w.pidfd) }

// Stat is ReadStat of this very process with one system call.
func (w *Cached) Stat() (Stat, error) {
	var b [1024]byte // the name has at most 64 bytes, and the numbers 20 each
	n, err := unix.Pread(w.stat, b[:], 0)
	if err != nil {
		return Stat{}, ErrGone
	}
	return parseStat(b[:n])
}

// Done ends the use of a process that Cached has returned.
func (w *Cached) Done() { w.unuse(nil) }

// unuse ends use.
func (w *Cached) unuse(by *Watch) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	delete(w.wakes, by)
	if w.uses--; w.uses == 0 && w.over {
		w.close()
	}
}

// ended is called when the process has ended.
func (w *Cached) ended() {
	w.set.mu.Lock()
	if w.over = true; w.set.all[w.ID] == w {
		delete(w.set.all, w.ID)
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
func (w *Cached) close() {
	if w.watch != 0 {
		w.exits.forget(w.pidfd, w.watch)
	}
	_ = unix.Close(w.pidfd)
	_ = unix.Close(w.stat) // -1 if it was never opened
}

// Recall is what was made for the same key before, otherwise something new. It is forgotten with the process.
func (w *Cached) Recall(key any, anew func() (any, error)) (any, error) {
	w.set.mu.Lock()
	v, known := w.made[key]
	w.set.mu.Unlock()
	if known {
		return v, nil
	}
	v, err := anew()
	if err != nil {
		return v, err
	}
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if len(w.made) >= cachedMax {
		clear(w.made)
	}
	w.made[key] = v
	return v, nil
}
