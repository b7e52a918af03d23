package client

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Whether a mount is dead its kernel says, and not its control socket: that is a name in /run,
// which another mount namespace (a container) need not have, nor another root. The kernel is
// asked by a request of the mount itself, which fails at once where the connection is gone. So
// it takes neither fusectl, which containers do not mount and user namespaces may not, nor any
// capability.

// Connection is what the kernel says of the daemon's side of a mount.
type Connection int

// The states of a connection.
const (
	ConnectionUnknown Connection = iota // it could not be asked about: the mount is covered, or has gone
	ConnectionUp                        // somebody serves
	ConnectionSilent                    // nobody has answered in time: stopped, stuck, or killed and not at its end yet
	ConnectionGone                      // nobody has it: every request fails, now and later
)

// ProbeName is the hidden command that asks a mount whether anybody serves it. It is a
// process of its own: one that asks a stopped daemon may hang for ever.
const ProbeName = "mount-probe"

// probeFD is the descriptor (O_PATH) of the mount's root in that process.
const probeFD = 3

// probeGone is the exit code of the probe when the kernel says that the connection is gone.
const probeGone = 3

// Probe is the hidden command itself; its exit code is the answer.
func Probe() error {
	var st unix.Statfs_t
	err := unix.Fstatfs(probeFD, &st)
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {
		return api.ExitWith(probeGone)
	}
	return err
}

// ConnectionOf asks the kernel about the uppermost mount at its place. While a killed daemon is
// still ending the request waits, and fails when it has. ctx bounds the wait.
func ConnectionOf(ctx context.Context, m *mountinfo.Info) (Connection, error) {
	held, err := host.HoldMount(m)
	if err != nil {
		return ConnectionUnknown, err
	}
	defer held.Close()
	cmd := exec.Command("/proc/self/exe", ProbeName)
	cmd.ExtraFiles = []*os.File{held.Root}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return ConnectionUnknown, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // until the probe ends; one that hangs is left behind
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = cmd.Process.Kill() // it may have ended just now
		return ConnectionSilent, ctx.Err()
	}
	if cmd.ProcessState.ExitCode() == probeGone {
		return ConnectionGone, nil
	}
	return ConnectionUp, err
}

// connectionPatience bounds how long the kernel is asked where there is no control socket: a
// daemon that serves answers in no time, and one that does not lives all the same.
const connectionPatience = 2 * time.Second

// errUnseen is the cause of not being able to ask a daemon whose mount lives.
var errUnseen = errors.New("the daemon cannot be seen from here")

// IsUnseen tells whether a mount lives, by what its kernel says, although its daemon cannot be
// asked from here.
func IsUnseen(err error) bool { return errors.Is(err, errUnseen) }
