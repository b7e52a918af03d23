package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// ProbeName is the hidden command that asks a mount whether anybody serves it. It is a process of its own,
// because it hangs if the daemon is stopped.
const ProbeName = "mount-probe"

// probeFD is the descriptor (O_PATH) of the mount's root in that process.
const probeFD = 3

// The exit codes of the probe.
const (
	probeServed api.ExitCode = 0
	probeDone   api.ExitCode = 3 // the kernel says that the connection is gone
)

// Probe is the hidden command itself; its exit code is the answer.
func Probe() error {
	var st unix.Statfs_t
	err := unix.Fstatfs(probeFD, &st)
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {
		return api.ExitWith(probeDone)
	}
	return err
}

// probeDead proves that a mount is dead if nothing is known of its daemon: a request must fail because there is
// no connection. While a killed daemon is still ending, the request waits; then it fails.
func probeDead(ctx context.Context, m *mountinfo.Info) error {
	held, err := host.HoldMount(m)
	if err != nil {
		return err
	}
	defer held.Close()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", ProbeName)
	cmd.ExtraFiles = []*os.File{held.Root}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Run()
	if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == int(probeDone) {
		return nil
	}
	return &api.Failure{Class: api.ClassNoMount, Err: err,
		Message: fmt.Sprintf("the mount at %s has no control socket, but somebody serves it or keeps it: it is not dead (%v)", m.Mountpoint, err),
		Next:    "end its daemon, then recover"}
}
