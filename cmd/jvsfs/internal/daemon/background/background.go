package background

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/logging"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// readyEnv tells a process that it is the daemon of a `jvsfs mount` that waits
// for it: the descriptor to report on. The descriptor is passed at 3.
const (
	readyEnv = "JVSFS_READY_FD"
	ReadyFD  = 3
)

// readiness is what the daemon reports: one JSON value, then the end.
type readiness struct {
	OK    bool         `json:"ok"`
	Code  api.ExitCode `json:"code,omitempty"`
	Error *api.Failure `json:"error,omitempty"`
}

// Is reports whether this process is the daemon. It removes the mark, so that the processes that it
// starts do not inherit it.
func Is() bool {
	is := os.Getenv(readyEnv) == fmt.Sprint(ReadyFD)
	_ = os.Unsetenv(readyEnv) // fails only for a name that is none
	return is
}

// Start runs this command line again in a session of its own and returns when its mount serves. Its
// failure becomes ours. Its output goes to logFile until it has a log. When ctx is canceled before, the daemon is
// told to end, and the error says so (context.Canceled); if it does not end within stopPatience, the error names it.
func Start(ctx context.Context, args []string, logFile *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer host.CloseFile(r)
	cmd := inBackground(args, w, logFile)
	err = cmd.Start()
	host.CloseFile(w)
	if err != nil {
		return err
	}
	calledOff := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Now()) }) // a pipe has deadlines
	defer calledOff()
	return awaitReadiness(ctx, cmd, r, logFile.Name())
}

// inBackground is this program as a daemon that reports to ready. It outlives who starts it, so it inherits nothing of theirs.
func inBackground(args []string, ready, logFile *os.File) *exec.Cmd {
	fenceagent.KeepDescriptors()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", readyEnv, ReadyFD))
	cmd.ExtraFiles = []*os.File{ready}
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// StartSuccessor starts the daemon that recovers what this one leaves dead. It waits for the end of this process, and this process does not
// wait for it: what it has to say is in the log. n counts the ones that were started for this return.
func StartSuccessor(cfg mountcfg.Config, dead api.Device, n int) error {
	nobody, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer host.CloseFile(nobody)
	log, err := logging.Open(cfg)
	if err != nil { // it fails by that, too, and tries again
		log = nobody
	} else {
		defer host.CloseFile(log)
	}
	cmd := inBackground(append(RecoverArgs(dead), fmt.Sprintf("--successor=%d", n)), nobody, log)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// RecoverArgs is the command line of a daemon that recovers the dead mount of a device as it was.
func RecoverArgs(dead api.Device) []string {
	return []string{"mount", "--recover", "--state", dead.String()}
}

// stopPatience bounds the wait for a daemon that is told to end before its mount serves.
const stopPatience = 5 * time.Second

// callOff ends a daemon that has not said yet that its mount serves.
func callOff(ctx context.Context, cmd *exec.Cmd) error {
	for _, s := range []os.Signal{unix.SIGTERM, unix.SIGCONT} {
		_ = cmd.Process.Signal(s) // it may have ended
	}
	ended := make(chan struct{})
	go func() { // ends with the daemon, or with this process
		defer close(ended)
		_ = cmd.Wait() // whatever it says
	}()
	select {
	case <-ended:
		return ctx.Err()
	case <-time.After(stopPatience):
		return &api.Failure{Code: api.ExitInterrupted, Message: fmt.Sprintf("interrupted, but the daemon (process %d) has not ended yet", cmd.Process.Pid),
			Next: "jvsfs status shows whether it mounts; it waits for a disk or another process", Err: ctx.Err()}
	}
}

func awaitReadiness(ctx context.Context, cmd *exec.Cmd, r *os.File, logName string) error {
	raw, err := io.ReadAll(io.LimitReader(r, api.MaxRequest))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return callOff(ctx, cmd)
	}
	if err != nil {
		return err
	}
	var ready readiness
	if json.Unmarshal(raw, &ready) != nil {
		return &api.Failure{
			Message: fmt.Sprintf("the daemon ended before the mount was there (%v)", cmd.Wait()),
			File:    logName, Next: "see the end of the file",
		}
	}
	if ready.OK {
		return cmd.Process.Release()
	}
	ended := cmd.Wait()
	f := ready.Error
	if f == nil {
		f = &api.Failure{Message: fmt.Sprintf("the daemon failed: %v", ended)}
	}
	f.Code = ready.Code
	return f
}

// ReportReady writes the readiness to w and closes it.
func ReportReady(w io.WriteCloser, err error) error {
	r := readiness{OK: err == nil}
	if f := api.AsFailure(err); f != nil {
		r.Code, r.Error = f.Exit(), f
	}
	raw, err := json.Marshal(r)
	if err == nil {
		_, err = w.Write(raw)
	}
	return errors.Join(err, w.Close())
}

// Detach makes the process independent of where it was started: no directory is
// kept busy, and modes are what callers of the mount ask for.
func Detach() error {
	syscall.Umask(0)
	if err := dropGroups(); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer host.CloseFile(null)
	return syscall.Dup3(int(null.Fd()), 0, 0)
}

// dropGroups leaves root's daemon with group 0 alone. A group of the user who mounted must not permit what the
// daemon does for a caller, nor own the result.
func dropGroups() error {
	if os.Geteuid() != 0 {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return os.NewSyscallError("setgroups", err)
	}
	return os.NewSyscallError("setresgid", syscall.Setresgid(0, 0, 0))
}

// DieBySignal makes a panic end by SIGABRT. The exit status of a panic is that of a wrong command line, and a
// unit does not start again after that. No core is dumped, also not to a pipe (core(5)): everybody on the mount
// would wait for it, and it would contain what they write.
func DieBySignal() error {
	debug.SetTraceback("crash")
	return os.NewSyscallError("setrlimit", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}))
}
