package process

import (
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Creator is a process that has made something which is its own while it lives. Safe for concurrent use.
type Creator struct {
	ID
	Name string // of the program, as the kernel has it
	UID  uint32 // of the call that made it

	exits *ExitWatch

	mu    sync.Mutex
	pidfd int // -1: closed
	watch int32
	wake  func()
}

// CreatorOf finds the process of a caller. When it ends, exits calls wake once; wake must not block, and
// may be called before CreatorOf returns. exits may be nil. The error says that the process is not
// visible, or gone, or cannot be watched.
func CreatorOf(c Caller, exits *ExitWatch, wake func()) (*Creator, error) {
	pid, err := readTgid(int(c.TID))
	if err != nil {
		return nil, err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	st, err := ReadStat(pid) // read after the pidfd was opened: so it is about this very process
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	m := &Creator{ID: ID{pid, st.Start}, Name: st.Comm, UID: c.UID, exits: exits, pidfd: fd, wake: wake}
	if exits != nil {
		if m.watch, err = exits.watch(fd, m.ended); err != nil {
			_ = unix.Close(fd)
			return nil, err
		}
	}
	return m, nil
}

func (m *Creator) ended() {
	m.mu.Lock()
	wake := m.wake
	m.mu.Unlock()
	wake()
}

// Wake replaces what is called when the process ends. If it has ended already, wake is called by
// Wake itself, and may be called twice.
func (m *Creator) Wake(wake func()) {
	m.mu.Lock()
	m.wake = wake
	m.mu.Unlock()
	if !m.Lives() {
		wake()
	}
}

// Lives reports whether the process has not ended.
func (m *Creator) Lives() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pidfd < 0 {
		return false
	}
	return pidfdRuns(m.pidfd)
}

// Is reports whether a caller is the process, or was started by it or by one that was.
func (m *Creator) Is(c Caller) bool {
	pid, err := readTgid(int(c.TID))
	for range ancestorsMax {
		if err != nil || pid <= 1 {
			return false
		}
		st, gone := ReadStat(pid)
		if pid == m.PID {
			return gone == nil && st.Start == m.Start
		}
		pid, err = st.PPID, gone
	}
	return false
}

// String names the process for people.
func (m *Creator) String() string { return fmt.Sprintf("%s (process %d)", m.Name, m.PID) }

// Close ends the watch. It may be called again.
func (m *Creator) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pidfd < 0 {
		return
	}
	if m.exits != nil {
		m.exits.forget(m.pidfd, m.watch)
	}
	_ = unix.Close(m.pidfd)
	m.pidfd = -1
}
