package transport

// lastCPU finds the processor on which a thread has run last. The kernel tells that in /proc only. A reader does not wait for
// it: what a caller's task is locked by there is the kernel's business, and the caller may wait for the reader.
type lastCPU struct {
	asked chan uint32
	found chan whereabouts
	of    func(thread uint32) int
}

// whereabouts is where a thread has run.
type whereabouts struct {
	thread    uint32
	processor int
}

// noProcessor is the processor of a thread that was not found, as any below 0.
const noProcessor = -1

func newLastCPU(of func(thread uint32) int) *lastCPU {
	return &lastCPU{asked: make(chan uint32, 1), found: make(chan whereabouts, 1), of: of}
}

// ask begins to look for a thread, if it is not busy. The answer comes in found.
func (s *lastCPU) ask(thread uint32) {
	select {
	case s.asked <- thread:
	default:
	}
}

// end ends run.
func (s *lastCPU) end() { close(s.asked) }

// run looks for threads until end.
func (s *lastCPU) run() {
	for thread := range s.asked {
		select {
		case <-s.found: // nobody wanted it
		default:
		}
		s.found <- whereabouts{thread, s.of(thread)}
	}
}
