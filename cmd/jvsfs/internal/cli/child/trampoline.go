package child

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/usage"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// trampolineName is the hidden command that exec starts: the process that is to
// become CMD. It exists before the lease does, so that the lease can be bound to
// its pid and start time, which execve(2) keeps.
const trampolineName = "exec-trampoline"

// trampolineFDs are where the descriptor is looked for on which the trampoline waits for its word, out of the way of what CMD inherits: make's
// jobserver has 3 and 4, socket activation begins at 3, shells keep theirs from 10 on. The second is for a low limit of open files.
var trampolineFDs = []int{100, 10}

// forTrampoline is a copy of the pipe's end that a new process inherits with the number that it has here.
func forTrampoline(r *os.File) (f *os.File, err error) {
	for _, from := range trampolineFDs {
		var fd int
		if fd, err = unix.FcntlInt(r.Fd(), unix.F_DUPFD, from); err == nil {
			return os.NewFile(uintptr(fd), "word"), nil
		}
	}
	return nil, os.NewSyscallError("fcntl", err)
}

// NewTrampoline is the hidden command that becomes CMD.
func NewTrampoline(io console.Streams) *cobra.Command {
	return &cobra.Command{
		Use: trampolineName + " FD CMD...", Hidden: true, DisableFlagParsing: true,
		Args: usage.Args(cobra.MinimumNArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			fd, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			return trampoline(io, fd, args[1:])
		},
	}
}

// GoAhead is the word that the trampoline waits for: there is a lease. It is sent by gob, which keeps every byte of a path: JSON would
// make another path of one that is not UTF-8.
type GoAhead struct {
	Environment map[string]string // for CMD; "" takes a name out
	Directory   string            // to enter anew
	Enter       string            // another one than that of who started it
	Reads       bool              // while writes wait: see copiesByReading
}

// trampoline waits for its word, on fd, and becomes args. The end of the pipe without one means
// that there will be no lease.
func trampoline(io console.Streams, fd int, args []string) error {
	console.IgnoreWhatIsIgnored()
	syscall.CloseOnExec(fd)
	var word GoAhead
	if gob.NewDecoder(os.NewFile(uintptr(fd), "word")).Decode(&word) != nil {
		return api.ExitWith(api.ExitError)
	}
	if err := word.apply(); err != nil {
		fmt.Fprintf(io.Err, "jvsfs: exec %s: %v\n", args[0], err)
		return api.ExitWith(api.ExitNotRun)
	}
	path, err := exec.LookPath(args[0])
	if err == nil {
		err = word.become(path, args)
	}
	return notRun(args[0], err)
}

// notRun is why a command was not started, with the exit codes of a shell.
func notRun(name string, err error) *api.Failure {
	if wrapped, ok := errors.AsType[*exec.Error](err); ok {
		err = wrapped.Err // the rest is for programmers
	}
	f := &api.Failure{Code: api.ExitNotRun, Message: fmt.Sprintf("exec %s: %v", name, err), Next: "ls -l " + human.Typed(name) + " shows what it is", Err: err}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		f.Code, f.Next = api.ExitNotFound, "look at how it is spelled, or give its whole path"
	}
	return f
}

func (g GoAhead) apply() error {
	for name, value := range g.Environment {
		err := os.Unsetenv(name)
		if value != "" {
			err = os.Setenv(name, value)
		}
		if err != nil {
			return err
		}
	}
	if g.Enter != "" {
		return errors.Join(os.Chdir(g.Enter), os.Setenv("PWD", g.Enter))
	}
	if g.Directory == "" {
		return nil
	}
	return reenter(g.Directory)
}

// become is execve(2). CMD still dies with the jvsfs that started it. The death signal belongs to a thread, and
// execve keeps that of the calling thread, which may not be the one that was forked. So it is set here again.
func (g GoAhead) become(path string, args []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if g.Reads {
		if err := copiesByReading(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}
