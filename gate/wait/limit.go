package wait

import (
	"sync/atomic"
	"time"
)

// Max is how many callers may wait at a time. Each may have locks of the kernel that every worktree needs.
const Max = 1024

// Limit counts those who wait, and bounds them. The zero value is ready. Safe for concurrent use.
type Limit struct {
	waiting atomic.Int64
	onWait  func() (end func())
}

// OnWait sets a hook. A caller's goroutine calls it when it begins to wait, and calls the returned function when the
// wait ends. OnWait must be called before the first wait.
func (l *Limit) OnWait(hook func() (end func())) { l.onWait = hook }

// Waiting returns how many wait.
func (l *Limit) Waiting() int64 { return l.waiting.Load() }

// Begin counts a caller that begins to wait. It returns false if too many wait; otherwise end
// must follow. killed is called when the caller is being killed: at most once, and not after end. Then
// nobody needs the outcome.
func (l *Limit) Begin(c Caller, killed func()) (end func(), ok bool) {
	if l.waiting.Add(1) > Max {
		l.waiting.Add(-1)
		return nil, false
	}
	over := func() {}
	if l.onWait != nil {
		over = l.onWait()
	}
	unwatch := c.watch(killed)
	return func() { unwatch(); over(); l.waiting.Add(-1) }, true
}

// Outcome says why a wait has ended.
type Outcome uint8

// The outcomes.
const (
	Done    Outcome = iota // what was waited for has happened
	Elapsed                // the caller's patience is over
	Killed                 // the caller is being killed
	Full                   // it did not begin: too many wait
)

// Until lets a caller wait for events, one after the other. Each is asked for when the one before has happened. or
// takes the place of all that have not happened yet; it may be nil.
func (l *Limit) Until(c Caller, patience time.Duration, or <-chan struct{}, events ...Event) Outcome {
	killed := make(chan struct{})
	end, ok := l.Begin(c, func() { close(killed) })
	if !ok {
		return Full
	}
	defer end()
	t := time.NewTimer(patience)
	defer t.Stop()
	for _, event := range events {
		select {
		case <-event():
		case <-or:
			return Done
		case <-killed:
			return Killed
		case <-t.C:
			return Elapsed
		}
	}
	return Done
}

// Poll lets a caller wait for what tells nobody: it looks after a millisecond, and then less often.
func (l *Limit) Poll(c Caller, patience time.Duration, look func() bool) Outcome {
	killed := make(chan struct{})
	end, ok := l.Begin(c, func() { close(killed) })
	if !ok {
		return Full
	}
	defer end()
	began, pause := time.Now(), NewBackoff(time.Millisecond, 8*time.Millisecond)
	for time.Since(began) < patience {
		select {
		case <-pause.Over():
		case <-killed:
			return Killed
		}
		if look() {
			return Done
		}
	}
	return Elapsed
}
