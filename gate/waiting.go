package gate

// MaxWaiting is how many mutations of a mount wait at a time, for the outcome of a
// handover, a lease that is being taken for them, or one that is given back. Each may
// have locks that every worktree needs; more of them are refused.
const MaxWaiting = 1024

// OnWait adds a hook of the file system: a mutation begins to wait, in its own goroutine,
// until the function that it returns is called. Must be called before the first request.
func (s *Enforcement) OnWait(hook func() (end func())) { s.onWait = hook }

// Away is for what the file system itself waits for while it carries a mutation out, and
// that no disk does: nobody else waits for it until end is called. Where too many wait it
// keeps what it has, which bounds how many more can.
func (s *Enforcement) Away() (end func()) {
	if end, ok := s.waits(); ok {
		return end
	}
	return func() {}
}

// waits counts a mutation that is about to wait. It is false where too many do; else end
// must follow.
func (s *Enforcement) waits() (end func(), ok bool) {
	if s.waiting.Add(1) > MaxWaiting {
		s.waiting.Add(-1)
		return nil, false
	}
	over := func() {}
	if s.onWait != nil {
		over = s.onWait()
	}
	return func() { over(); s.waiting.Add(-1) }, true
}
