package gate

// MaxWaiting is how many mutations of a mount wait at a time, for the outcome of a
// handover, a lease that is being taken for them, or one that is given back. Each may
// have locks that every worktree needs; more of them are refused.
const MaxWaiting = 1024

// OnWait adds a hook of the file system: a mutation begins to wait, in its own goroutine,
// until the function that it returns is called. Must be called before the first request.
func (s *Enforcement) OnWait(hook func() (end func())) { s.onWait = hook }

// Waiting is how many mutations wait.
func (s *Enforcement) Waiting() int64 { return s.waiting.Load() }

// Away is for what the file system itself waits for while it carries a mutation out, and
// that no disk does: nobody else waits for it until end is called. Where too many wait it
// keeps what it has, which bounds how many more can.
func (s *Enforcement) Away() (end func()) {
	if end, ok := s.waits(Request{}, nil); ok {
		return end
	}
	return func() {}
}

// waits counts a mutation that is about to wait. It is false where too many do; else end
// must follow. off is called, once at most and not after end, when the caller is being
// killed: then nobody needs the outcome.
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

// watch calls off when the caller is being killed, until the function that it returns has
// returned.
func (r Request) watch(off func()) (end func()) {
	if r.Signal == nil {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // until end
		defer close(ended)
		if WhenDying(r.Signal, r.Caller.TID, stop) {
			off()
		}
	}()
	return func() { close(stop); <-ended }
}

// Killed reports whether the caller waits for nothing but the end of its call. Any other
// signal must not break off a call on a file, as it does not elsewhere.
func (r Request) Killed() bool { return r.Signal != nil && isClosed(r.Signal) && Dying(r.Caller.TID) }
