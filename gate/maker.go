package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

// Maker is a process that has made something which is its own while it lives. Safe for concurrent use.
type Maker struct {
	process
	name string
	user uint32
	ends *Ends

	mu    sync.Mutex
	pidfd int // -1: closed
	watch int32
	wake  func()
}

// MakerOf finds the process of a caller. When it ends, ends calls wake once; wake must not block, and
// may be called before MakerOf returns. ends may be nil. The error says that the process is not
// visible, or gone, or cannot be watched.
func MakerOf(c Caller, ends *Ends, wake func()) (*Maker, error) {
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
	m := &Maker{process: process{pid, st.Start}, name: st.Comm, user: c.UID, ends: ends, pidfd: fd, wake: wake}
	if ends != nil {
		if m.watch, err = ends.watch(fd, m.ended); err != nil {
			_ = unix.Close(fd)
			return nil, err
		}
	}
	return m, nil
}

func (m *Maker) ended() {
	m.mu.Lock()
	wake := m.wake
	m.mu.Unlock()
	wake()
}

// Wake replaces what is called when the process ends. If it has ended already, wake is called by
// Wake itself, and may be called twice.
func (m *Maker) Wake(wake func()) {
	m.mu.Lock()
	m.wake = wake
	m.mu.Unlock()
	if !m.Lives() {
		wake()
	}
}

// Lives reports whether the process has not ended.
func (m *Maker) Lives() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pidfd < 0 {
		return false
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(m.pidfd), Events: unix.POLLIN}}, 0)
	return n == 0 && err == nil
}

// Is reports whether a caller is the process, or was started by it or by one that was.
func (m *Maker) Is(c Caller) bool {
	pid, err := readTgid(int(c.TID))
	for range ancestorsMax {
		if err != nil || pid <= 1 {
			return false
		}
		st, gone := ReadStat(pid)
		if pid == m.pid {
			return gone == nil && st.Start == m.start
		}
		pid, err = st.PPID, gone
	}
	return false
}

// String names the process for people.
func (m *Maker) String() string { return fmt.Sprintf("%s (process %d)", m.name, m.pid) }

// Holder describes the process as records do.
func (m *Maker) Holder() lease.Holder {
	return lease.Holder{Host: host().name, User: userName(m.user), UID: m.user, PID: m.pid, StartTime: m.start, Purpose: m.name}
}

// Close ends the watch. It may be called again.
func (m *Maker) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pidfd < 0 {
		return
	}
	if m.ends != nil {
		m.ends.forget(m.pidfd, m.watch)
	}
	_ = unix.Close(m.pidfd)
	m.pidfd = -1
}

// Program is the name of the program that a caller runs, by its executable; "" if it is not known.
func Program(c Caller) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(int(c.TID)) + "/exe")
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(path), " (deleted)")
}
