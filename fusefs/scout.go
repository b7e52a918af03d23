package fusefs

import (
	"bytes"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

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
		at, err := processorOf(thread)
		if err != nil {
			continue // it has ended, or /proc is not that of its processes: it is not followed
		}
		select {
		case <-s.found: // nobody wanted it
		default:
		}
		s.found <- whereabouts{thread, at}
	}
}

// processorOf is the processor on which a thread has run last: field 39 of proc_pid_stat(5).
func processorOf(thread uint32) (int, error) {
	id := strconv.FormatUint(uint64(thread), 10)
	path := "/proc/" + id + "/task/" + id + "/stat" // without task it would add up what all threads of the process have used
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	var text [1024]byte
	n, err := unix.Read(fd, text[:])
	if err != nil {
		return 0, err
	}
	return processorIn(text[:n])
}

// processorIn reads the field. The name of the thread, in brackets, may hold anything.
func processorIn(stat []byte) (int, error) {
	const after = 39 - 3 // fields between the third, which follows the name, and the processor
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= after {
		return 0, fmt.Errorf("%d fields after the name of a thread, not %d", len(fields), after+1)
	}
	return strconv.Atoi(string(fields[after]))
}
