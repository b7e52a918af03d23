package daemon

import (
	"errors"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate/process"
)

// worktreeAt finds the worktree that a path below the mount lies in.
func (d *mount) worktreeAt(rel string, uid uint32) (*worktree, error) {
	id, ok := d.fs.WorktreeOf(rel)
	if !ok {
		return nil, d.paths.InNoWorktree(rel)
	}
	if err := d.paths.MustExist(id, uid); err != nil {
		return nil, err
	}
	w, err := d.registry.get(id)
	return w, closing(err)
}

// closing words errClosing for a client.
func closing(err error) error {
	if !errors.Is(err, errClosing) {
		return err
	}
	return &api.Failure{Class: api.ClassNoMount, Message: errClosing.Error(), Next: "if it comes back (jvsfs status shows it), try again"}
}

// subject is the process that a request is about. fd pins it while it lives.
type subject struct {
	id process.Identity
	fd *os.File
}

func (p subject) close() { host.CloseFile(p.fd) }

// subjectOf finds the process a request names: by the descriptor that came with
// it, else by number, else the peer itself.
func (d *mount) subjectOf(s *session, named api.Process) (subject, error) {
	pid := named.PID
	switch {
	case s.pidfd != nil:
		var err error
		if pid, err = process.PIDOfPidfd(s.pidfd); err != nil {
			return subject{}, api.NoProcess(named.PID, err)
		}
	case pid == 0:
		pid = s.peer.PID
	}
	if pid <= 0 {
		return subject{}, api.NoProcess(named.PID, errors.New("it runs in a pid namespace that the daemon cannot see"))
	}
	fd, err := process.OpenPidfd(pid)
	if err != nil {
		return subject{}, api.NoProcess(pid, err)
	}
	id, err := lockop.Identify(d.resolver, pid)
	if err == nil && !process.PidfdAlive(fd) {
		err = errors.New("it has just ended")
	}
	if err == nil && named.Start != 0 && id.Start != named.Start {
		err = errors.New("the number has been given to another process")
	}
	if err != nil {
		host.CloseFile(fd)
		return subject{}, api.NoProcess(pid, err)
	}
	return subject{id: id, fd: fd}, nil
}

// peerIs resolves the calling process. It is false if that may not be the process that connected.
func (d *mount) peerIs(p peer) (process.Identity, bool) {
	if p.PID == 0 {
		return process.Identity{}, false
	}
	id, err := lockop.Identify(d.resolver, p.PID)
	return id, err == nil && p.alive()
}
