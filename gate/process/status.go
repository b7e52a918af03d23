package process

import (
	"fmt"
	"strconv"
	"strings"
)

// Status is the text of /proc/PID/status, or of /proc/PID/fdinfo/FD, which has the same form. Sources: proc_pid_status(5),
// proc_pid_fdinfo(5).
type Status []byte

// ReadStatus reads the status of a process or a thread. It fails if it is gone.
func ReadStatus(tid int) (Status, error) {
	b, err := readProc(tid, "status")
	return b, err
}

// ReadDescriptor reads what the kernel says of a descriptor of a process, which may also be "self" or "thread-self".
func ReadDescriptor(process, fd string) (Status, error) {
	b, err := readSmall("/proc/" + process + "/fdinfo/" + fd)
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
	return s.id(pid, "Uid", ofFileSystem)
}

// OwnerOf is the real user of a process. The owner of /proc/PID can be another one, if the process may not be
// dumped.
func OwnerOf(pid int) (uint32, error) {
	raw, err := readSmall(procFile(pid, "status"))
	if err != nil {
		return 0, err
	}
	return Status(raw).id(pid, "Uid", ofReal)
}

// What the ids of a process stand for, in the order of /proc/PID/status.
const (
	ofReal       = 0
	ofFileSystem = 3
)

// id is one of the four ids in the field Uid or Gid.
func (s Status) id(pid int, field string, of int) (uint32, error) {
	v, _ := s.Field(field)
	f := strings.Fields(v)
	if len(f) != 4 {
		return 0, fmt.Errorf("/proc/%d/status: %s:%s", pid, field, v)
	}
	n, err := strconv.ParseUint(f[of], 10, 32)
	return uint32(n), err
}
