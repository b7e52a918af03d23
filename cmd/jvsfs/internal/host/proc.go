package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
)

// privilegeChangers run their command as another user. They are not the shell that a lease is meant for.
var privilegeChangers = map[string]bool{"sudo": true, "doas": true, "su": true, "runuser": true, "pkexec": true}

// AskingProcess is the process that a question is about when none is named: this one, which
// has asked, or what stands above sudo and its kind.
func AskingProcess() (int, error) {
	if s, err := gate.ReadStat(os.Getppid()); err == nil && privilegeChangers[s.Comm] {
		return CallerProcess()
	}
	return os.Getpid(), nil
}

// CallerProcess is the process to which a lease is bound by default: the parent of this command, or the process
// above sudo and the like.
func CallerProcess() (int, error) {
	lowest := 2
	if own, err := unix.Getsid(0); err == nil {
		if sid, err := unix.Getsid(1); err == nil && sid == own {
			lowest = 1 // a container's shell, not the init that adopts orphans
		}
	}
	return shellAbove(os.Getppid(), lowest, gate.ReadStat)
}

func shellAbove(pid, lowest int, stat func(int) (gate.ProcStat, error)) (int, error) {
	for pid >= lowest {
		s, err := stat(pid)
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", pid, err)
		}
		if !privilegeChangers[s.Comm] {
			return pid, nil
		}
		pid = s.PPID
	}
	return 0, api.Usagef("no process to bind the lease to: name one with --pid")
}

// Ancestry returns the processes that this command was started by, the nearest first. Helpers are those that only
// run it as another user (sudo); they end with it.
func Ancestry() (pids []int, helpers map[int]bool) {
	return ancestry(os.Getppid(), gate.ReadStat)
}

func ancestry(pid int, stat func(int) (gate.ProcStat, error)) (pids []int, helpers map[int]bool) {
	helpers = map[int]bool{}
	for pid > 0 && len(pids) < maxAncestry {
		st, err := stat(pid)
		if err != nil {
			break // it has ended, or its parent is of another pid namespace
		}
		pids, helpers[pid] = append(pids, pid), privilegeChangers[st.Comm]
		pid = st.PPID
	}
	return pids, helpers
}

// maxAncestry bounds the walk, because processes start and end meanwhile.
const maxAncestry = 1024

// OpenPidfd opens a descriptor of a process, which pins its identity: while the descriptor says that the
// process lives, its pid means this process.
func OpenPidfd(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, &os.SyscallError{Syscall: "pidfd_open", Err: err}
	}
	return os.NewFile(uintptr(fd), "pidfd"), nil
}

// Duplicate is another descriptor of the same open file.
func Duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// PidfdAlive reports whether the process has not ended (a zombie has).
func PidfdAlive(f *os.File) bool {
	p := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n == 0
	}
}

// PIDOfPidfd is the number of the process in this pid namespace, from /proc/self/fdinfo. It fails if the
// process has ended or is not visible here.
func PIDOfPidfd(f *os.File) (int, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", f.Fd()))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(raw), "\n") {
		value, ok := strings.CutPrefix(line, "Pid:")
		if !ok {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(value))
		if err == nil && pid <= 0 {
			err = fmt.Errorf("the process has ended or runs in a pid namespace that cannot be seen from here")
		}
		return pid, err
	}
	return 0, fmt.Errorf("the descriptor is not one of a process")
}

// OwnerOf is the real user of a process. The owner of /proc/PID can be another one, if the process may not be
// dumped.
func OwnerOf(pid int) (uint32, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if value, ok := strings.CutPrefix(line, "Uid:"); ok {
			f := strings.Fields(value)
			if len(f) < 1 {
				break
			}
			uid, err := strconv.ParseUint(f[0], 10, 32)
			return uint32(uid), err
		}
	}
	return 0, fmt.Errorf("process %d: no user in its status", pid)
}

// CommandLine is the command line of a process, for people. It is the name of the process if that hides its
// arguments.
func CommandLine(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err == nil && len(raw) > 0 {
		return human.Printable(strings.TrimSpace(strings.ReplaceAll(string(raw), "\x00", " ")))
	}
	if s, err := gate.ReadStat(pid); err == nil {
		return "[" + s.Comm + "]"
	}
	return "?"
}

// PIDNamespace is "" when it cannot be seen.
func PIDNamespace(process string) string {
	ns, err := os.Readlink("/proc/" + process + "/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}
