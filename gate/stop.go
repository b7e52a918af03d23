package gate

import "time"

// freezePatience is how long mutations wait for a lease that is being handed over. It counts from
// the beginning of the freeze. It is bounded because the freeze may last for long, and a waiting
// mutation may have locks that every worktree needs.
const freezePatience = 5 * time.Second

// stop is why an epoch lets nothing in: it has ended, or it is frozen.
type stop struct {
	ended bool

	// Of a freeze.
	decided chan struct{} // closed when the epoch is thawed or ends
	lapsed  chan struct{} // closed when nothing waits for that any longer
	timer   *time.Timer   // closes lapsed
}

func newStop(patience time.Duration) *stop {
	s := &stop{decided: make(chan struct{}), lapsed: make(chan struct{})}
	s.timer = time.AfterFunc(patience, func() { close(s.lapsed) })
	return s
}

// decide ends a freeze.
func (s *stop) decide() {
	s.timer.Stop()
	close(s.decided)
}

// await waits for the end of a freeze. It gives up when the freeze has lapsed, too many wait, or
// the caller is being killed. It reports whether the freeze has ended.
func (s *stop) await(of *Enforcement, r Request) bool {
	off := make(chan struct{})
	if end, ok := of.waits(r, func() { close(off) }); ok {
		select {
		case <-s.decided:
		case <-s.lapsed:
		case <-off:
		}
		end()
	}
	return isClosed(s.decided) // also if both have happened
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
