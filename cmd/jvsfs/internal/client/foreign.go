package client

import (
	"fmt"
	"os"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
)

// A user may mount without root. Then the daemon runs as him, and listens in a directory that is his alone.
// Others, root included, neither come through the mount nor ask its daemon: what it answers is his word.

// ofAnotherUser is the answer for a mount of another user.
func ofAnotherUser(m *mountinfo.Info) *api.Failure {
	name := process.UserName(host.MountedBy(m))
	f := &api.Failure{Class: api.ClassDenied, Err: os.ErrPermission,
		Message: fmt.Sprintf("the mount at %s was made by user %s, without root: its daemon runs as that user and serves nobody else", m.Mountpoint, name),
		Next:    fmt.Sprintf("ask %s", name)}
	if !host.ByUser() {
		f.Next = fmt.Sprintf("ask as that user: runuser -u %s -- jvsfs status; umount %s takes the mount away", name, m.Mountpoint)
	}
	return f
}

// isServed makes sure that the process that listens is of the user who has mounted. Where a user's sockets are
// comes from the environment, which somebody else may have set.
func (c *Client) isServed() error {
	if !host.IsOwnMount(c.mount) {
		return nil // only root can listen in root's directory
	}
	owner := host.MountedBy(c.mount)
	cred, err := c.peer()
	if err != nil {
		return fmt.Errorf("who listens at %s: %w", host.SocketOf(c.mount), err)
	}
	if cred.Uid != owner {
		return &api.Failure{Class: api.ClassDenied, File: host.SocketOf(c.mount), Err: os.ErrPermission,
			Message: fmt.Sprintf("user %s listens where the daemon of %s should", process.UserName(cred.Uid), c.mount.Mountpoint),
			Next:    "unset XDG_RUNTIME_DIR, or set it to the directory of your own"}
	}
	return nil
}
