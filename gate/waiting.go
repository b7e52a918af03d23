package gate

import "github.com/jvsfs/jvsfs/gate/process"

// MaxWaiting is how many mutations of a mount may wait at a time: for the outcome of a handover,
// for a lease that is taken for them, or for one that is given back. Each may have locks that every
// worktree needs. Further ones are refused.
const MaxWaiting = 1024

// OnWait adds a hook of the file system. A mutation calls it in its own goroutine when it begins to
// wait, and calls the returned function when the wait ends. OnWait must be called before the first
// request.
func (s *Enforcement) OnWait(hook func() (end func())) { s.onWait = hook }

// Waiting returns how many mutations wait.
func (s *Enforcement) Waiting() int64 { return s.waiting.Load() }

// Away counts a wait of the file system itself, while it carries out a mutation, for something that
// is not the disk. Until end nobody else waits for it. off is called when the caller of r is being
// killed: at most once, and not after end. If too many wait already, the mutation keeps its reader,
// and so the number of waiting mutations is bounded.
func (s *Enforcement) Away(r Request, off func()) (end func()) {
	if end, ok := s.waits(r, off); ok {
		return end
	}
	return func() {}
}

// waits counts a mutation that begins to wait. It returns false if too many wait; otherwise end
// must follow. off is called when the caller is being killed: at most once, and not after end. Then
// nobody needs the outcome.
func (s *Enforcement) waits(r Request, off func()) (end func(), ok bool) {
	if s.waiting.Add(1) > MaxWaiting {
		s.waiting.Add(-1)
		return nil, false
	}
	over := func() {}
	if s.onWait != nil {
		over = s.onWait()
	}
	unwatch := r.watch(off)
	return func() { unwatch(); over(); s.waiting.Add(-1) }, true
}

// watch calls off when the caller is being killed. The returned function stops that and waits until
// it has stopped.
func (r Request) watch(off func()) (end func()) {
	if r.Signal == nil {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // until end
		defer close(ended)
		if process.WhenDying(r.Signal, r.Caller.TID, stop) {
			off()
		}
	}()
	return func() { close(stop); <-ended }
}

// Killed reports whether the caller is being killed, so that it only waits for its call to end.
// Another signal must not break off a call on a file: other file systems do not let it, either.
func (r Request) Killed() bool {
	return r.Signal != nil && isClosed(r.Signal) && process.Dying(r.Caller.TID)
}
