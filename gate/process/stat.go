package process

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Stat holds the fields of /proc/PID/stat that identify a process. Source:
// proc_pid_stat(5).
type Stat struct {
	Comm    string
	State   byte
	PPID    int
	Group   int // process group
	Session int // number of the POSIX session; 0: it was made outside of this pid namespace
	Threads int
	Start   uint64 // clock ticks after boot; with the pid it names a process
	// Processor is the one on which it has run last; of a process, its first thread. -1: it is not told.
	Processor int
}

// ReadStat reads /proc/PID/stat. It fails if the process is gone.
func ReadStat(pid int) (Stat, error) {
	b, err := readProc(pid, "stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(b)
}

// ReadThreadStat reads /proc/PID/stat of a thread alone: the file of its process adds up what all threads have used, which takes
// longer the more there are. It fails if the thread is gone.
func ReadThreadStat(tid int) (Stat, error) {
	b, err := readProc(tid, "task/"+strconv.Itoa(tid)+"/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(b)
}

// parseStat skips the command name by its last parenthesis: the name itself may contain spaces and
// parentheses.
func parseStat(b []byte) (Stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("unexpected /proc/PID/stat: %.40q", b)
	}
	f := strings.Fields(string(b[end+1:]))
	if len(f) < 20 {
		return Stat{}, fmt.Errorf("short /proc/PID/stat: %.40q", b)
	}
	s := Stat{Comm: string(b[open+1 : end]), State: f[0][0], Processor: -1}
	var errs [6]error
	s.PPID, errs[0] = strconv.Atoi(f[1])
	s.Group, errs[1] = strconv.Atoi(f[2])
	s.Session, errs[2] = strconv.Atoi(f[3])
	s.Threads, errs[3] = strconv.Atoi(f[17])
	s.Start, errs[4] = strconv.ParseUint(f[19], 10, 64)
	if len(f) > 36 {
		s.Processor, errs[5] = strconv.Atoi(f[36])
	}
	return s, errors.Join(errs[:]...)
}

// Ended reports whether the process has ended. It may not have been reaped.
func (s Stat) Ended() bool { return s.State == 'X' || s.State == 'Z' && s.Threads <= 1 }
