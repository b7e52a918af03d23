package client

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// The kernel says whether a mount is dead, not its control socket. The socket is a name in /run, which another
// mount namespace (a container) or another root may not have. The question is a request to the mount itself,
// which fails at once if the connection is gone. It needs no capability and no fusectl: containers do not mount
// fusectl, and user namespaces may not.

// Connection is what the kernel says about the daemon's side of a mount.
type Connection int

// The states of a connection.
const (
	ConnectionUnknown Connection = iota // the kernel could not be asked: the mount is covered, or is not there any more
	ConnectionUp                        // a daemon serves
	ConnectionSilent                    // nobody answered in time: the daemon is stopped, is stuck, or was killed and is still ending
	ConnectionGone                      // no daemon has it: every request fails, now and later
)

// ProbeName is the hidden command that asks a mount whether anybody serves it. It is a process of its own,
// because it hangs if the daemon is stopped.
const ProbeName = "mount-probe"

// probeFD is the descriptor (O_PATH) of the mount's root in that process.
const probeFD = 3

// probeGone is what the probe says when the kernel says that the connection is gone.
const probeGone = "gone"

// Probe is the hidden command itself; what it prints is the answer.
func Probe() error {
	var st unix.Statfs_t
	err := unix.Fstatfs(probeFD, &st)
	if errors.Is(err, unix.ENOTCONN) || errors.Is(err, unix.ECONNABORTED) {
		_, err = os.Stdout.WriteString(probeGone)
	}
	return err
}

// ConnectionOf asks the kernel about the uppermost mount at a place. While a killed daemon is still ending, the
// request waits; then it fails. ctx bounds the wait.
func ConnectionOf(ctx context.Context, m *mountinfo.Info) (Connection, error) {
	held, err := host.HoldMount(m)
	if err != nil {
		return ConnectionUnknown, err
	}
	defer held.Close()
	cmd := exec.Command("/proc/self/exe", ProbeName)
	cmd.ExtraFiles = []*os.File{held.Root}
	cmd.Dir = "/"
	var said bytes.Buffer
	cmd.Stdout = &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	wait, err := host.StartChild(cmd)
	if err != nil {
		return ConnectionUnknown, err
	}
	ended := make(chan error, 1)
	go func() { ended <- wait() }() // ends with the probe; a probe that hangs is left behind
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = cmd.Process.Kill() // it may have ended just now
		return ConnectionSilent, ctx.Err()
	}
	if said.String() == probeGone {
		return ConnectionGone, nil
	}
	return ConnectionUp, err
}

// connectionPatience bounds the question to the kernel if there is no control socket. A daemon that serves
// answers at once. One that does not answer may still live.
const connectionPatience = 2 * time.Second

// errUnseen is the cause if a mount lives, but its daemon cannot be asked.
var errUnseen = errors.New("the daemon cannot be seen from here")

// IsUnseen reports whether the kernel says that a mount lives, although its daemon cannot be asked from here.
func IsUnseen(err error) bool { return errors.Is(err, errUnseen) }
