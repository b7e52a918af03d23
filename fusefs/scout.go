package fusefs

import "github.com/jvsfs/jvsfs/gate"

// scout finds the processor on which a thread has run last. The kernel tells that in /proc only. A reader does not wait for
// it: what a caller's task is locked by there is the kernel's business, and the caller may wait for the reader.
type scout struct {
	asked chan uint32
	found chan whereabouts
}

// whereabouts is where a thread has run.
type whereabouts struct {
	thread    uint32
	processor int
}

// noProcessor is the processor of a thread that was not found.
const noProcessor = -1

func newScout() *scout {
	return &scout{asked: make(chan uint32, 1), found: make(chan whereabouts, 1)}
}

// ask begins to look for a thread, if the scout is not busy. The answer comes in found.
func (s *scout) ask(thread uint32) {
	select {
	case s.asked <- thread:
	default:
	}
}

// end ends run.
func (s *scout) end() { close(s.asked) }

// run looks for threads until end.
func (s *scout) run() {
	for thread := range s.asked {
		select {
		case <-s.found: // nobody wanted it
		default:
		}
		s.found <- whereabouts{thread, processorOf(thread)}
	}
}

// processorOf is the processor on which a thread has run last. It is noProcessor if the thread has ended, or has no number here.
func processorOf(thread uint32) int {
	stat, err := gate.ReadThreadStat(int(thread))
	if err != nil {
		return noProcessor
	}
	return stat.Processor
}
