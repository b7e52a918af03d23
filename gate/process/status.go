package process

import (
	"fmt"
	"strconv"
	"strings"
)

// Status is the text of /proc/PID/status. Source: proc_pid_status(5).
type Status []byte

// ReadStatus reads the status of a process or a thread. It fails if it is gone.
func ReadStatus(tid int) (Status, error) {
	b, err := readProc(tid, "status")
	return b, err
}

// Field returns what follows the name of a field and the colon.
func (s Status) Field(name string) (string, bool) {
	for line := range strings.Lines(string(s)) {
		if v, ok := strings.CutPrefix(line, name); ok && strings.HasPrefix(v, ":") {
			return strings.TrimSpace(v[1:]), true
		}
	}
	return "", false
}

// readTgid returns the process of a thread.
func readTgid(tid int) (int, error) {
	s, err := ReadStatus(tid)
	if err != nil {
		return 0, err
	}
	if v, ok := s.Field("Tgid"); ok {
		return strconv.Atoi(v)
	}
	return 0, fmt.Errorf("/proc/%d/status names no Tgid", tid)
}

// UIDOf returns the file system user id of a process.
func UIDOf(pid int) (uint32, error) {
	s, err := ReadStatus(pid)
	if err != nil {
		return 0, err
	}
	if v, ok := s.Field("Uid"); ok {
		if f := strings.Fields(v); len(f) == 4 {
			u, err := strconv.ParseUint(f[3], 10, 32)
			return uint32(u), err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no Uid", pid)
}

// OwnerOf is the real user of a process. The owner of /proc/PID can be another one, if the process may not be
// dumped.
func OwnerOf(pid int) (uint32, error) {
	raw, err := readSmall(procFile(pid, "status"))
	if err != nil {
		return 0, err
	}
	if v, ok := Status(raw).Field("Uid"); ok {
		if f := strings.Fields(v); len(f) >= 1 {
			uid, err := strconv.ParseUint(f[0], 10, 32)
			return uint32(uid), err
		}
	}
	return 0, fmt.Errorf("process %d: no user in its status", pid)
}
