package gate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errGone says that a process does not exist, or no longer.
var errGone = errors.New("no such process")

// ProcStat holds the fields of /proc/PID/stat that identify a process. Source:
// proc_pid_stat(5).
type ProcStat struct {
	Comm    string
	State   byte
	PPID    int
	Group   int // process group
	session int
	Threads int
	Start   uint64 // clock ticks after boot; with the pid it names a process
	// Processor is the one on which it has run last; of a process, its first thread. -1: it is not told.
	Processor int
}

// ReadStat reads /proc/PID/stat. It fails if the process is gone.
func ReadStat(pid int) (ProcStat, error) {
	b, err := readProc(pid, "stat")
	if err != nil {
		return ProcStat{}, err
	}
	return parseStat(b)
}

// ReadThreadStat reads /proc/PID/stat of a thread alone: the file of its process adds up what all threads have used, which takes
// longer the more there are. It fails if the thread is gone.
func ReadThreadStat(tid int) (ProcStat, error) {
	b, err := readProc(tid, "task/"+strconv.Itoa(tid)+"/stat")
	if err != nil {
		return ProcStat{}, err
	}
	return parseStat(b)
}

// parseStat skips the command name by its last parenthesis: the name itself may contain spaces and
// parentheses.
func parseStat(b []byte) (ProcStat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return ProcStat{}, fmt.Errorf("unexpected /proc/PID/stat: %.40q", b)
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return ProcStat{}, fmt.Errorf("short /proc/PID/stat: %.40q", b)
	}
	s := ProcStat{Comm: string(b[open+1 : end]), State: f[0][0], Processor: -1}
	var errs [6]error
	s.PPID, errs[0] = strconv.Atoi(f[1])
	s.Group, errs[1] = strconv.Atoi(f[2])
	s.session, errs[2] = strconv.Atoi(f[3])
	s.Threads, errs[3] = strconv.Atoi(f[17])
	s.Start, errs[4] = strconv.ParseUint(f[19], 10, 64)
	if len(f) > 36 {
		s.Processor, errs[5] = strconv.Atoi(f[36])
	}
	return s, errors.Join(errs[:]...)
}

// readTgid returns the process of a thread.
func readTgid(tid int) (int, error) {
	b, err := readProc(tid, "status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Tgid:"); ok {
			return strconv.Atoi(strings.TrimSpace(v))
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no Tgid", tid)
}

// readUID returns the file system user id of a process.
func readUID(pid int) (uint32, error) {
	b, err := readProc(pid, "status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Uid:"); ok {
			if f := strings.Fields(v); len(f) == 4 {
				u, err := strconv.ParseUint(f[3], 10, 32)
				return uint32(u), err
			}
		}
	}
	return 0, fmt.Errorf("/proc/%d/status names no Uid", pid)
}

// readCgroup returns the path of a process in the unified hierarchy.
func readCgroup(pid int) (string, error) {
	b, err := readProc(pid, "cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(v, "\n"), nil
		}
	}
	return "", errors.New("there is no cgroup version 2 hierarchy")
}

func procFile(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

func readProc(pid int, file string) ([]byte, error) {
	b, err := readSmall(procFile(pid, file))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return nil, fmt.Errorf("process %d: %w", pid, errGone)
	}
	return b, err
}

// readSmall is os.ReadFile with three system calls instead of ten. os.ReadFile also asks whether
// the file can be polled. A writer waits for some of these reads while a lease passes on.
func readSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	b := make([]byte, 0, 4096)
	for {
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n == 0:
			return b, nil
		default:
			if b = b[:len(b)+n]; len(b) == cap(b) {
				b = slices.Grow(b, len(b))
			}
		}
	}
}
