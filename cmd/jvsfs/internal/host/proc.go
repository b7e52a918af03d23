package host

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate/process"
)

// privilegeChangers run their command as another user. They are not the shell that a lease is meant for.
var privilegeChangers = map[string]bool{"sudo": true, "doas": true, "su": true, "runuser": true, "pkexec": true}

// AskingProcess is the process that a question is about when none is named: this one, which
// has asked, or what stands above sudo and its kind.
func AskingProcess() (int, error) {
	if s, err := process.ReadStat(os.Getppid()); err == nil && privilegeChangers[s.Comm] {
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
	return shellAbove(os.Getppid(), lowest, process.ReadStat)
}

func shellAbove(pid, lowest int, stat func(int) (process.Stat, error)) (int, error) {
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
	return ancestry(os.Getppid(), process.ReadStat)
}

func ancestry(pid int, stat func(int) (process.Stat, error)) (pids []int, helpers map[int]bool) {
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

// Duplicate is another descriptor of the same open file.
func Duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// CommandLine is the command line of a process, for people. It is the name of the process if that hides its
// arguments.
func CommandLine(pid int) string {
	if args, err := process.Arguments(pid); err == nil && args != nil {
		return human.Printable(strings.TrimSpace(strings.Join(args, " ")))
	}
	if s, err := process.ReadStat(pid); err == nil {
		return "[" + s.Comm + "]"
	}
	return "?"
}
