package control

import (
	"errors"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Subject is the process that a request is about. FD pins it while it lives.
type Subject struct {
	ID process.Identity
	FD *os.File
}

// Close lets the process go.
func (p Subject) Close() { host.CloseFile(p.FD) }

// Subject finds the process a request names: by the descriptor that came with
// it, else by number, else the peer itself.
func (s *Session) Subject(of *gate.Resolver, named api.Process) (Subject, error) {
	pid := named.PID
	switch {
	case s.Pidfd != nil:
		var err error
		if pid, err = process.PIDOfPidfd(s.Pidfd); err != nil {
			return Subject{}, api.NoProcess(named.PID, err)
		}
	case pid == 0:
		pid = s.Peer.PID
	}
	if pid <= 0 {
		return Subject{}, api.NoProcess(named.PID, errors.New("it runs in a pid namespace that the daemon cannot see"))
	}
	fd, err := process.OpenPidfd(pid)
	if err != nil {
		return Subject{}, api.NoProcess(pid, err)
	}
	id, err := lockop.Identify(of, pid)
	if err == nil && !process.PidfdAlive(fd) {
		err = errors.New("it has just ended")
	}
	if err == nil && named.Start != 0 && id.Start != named.Start {
		err = errors.New("the number has been given to another process")
	}
	if err != nil {
		host.CloseFile(fd)
		return Subject{}, api.NoProcess(pid, err)
	}
	return Subject{ID: id, FD: fd}, nil
}

// Identify resolves the calling process. It is false if that may not be the process that connected.
func (p Peer) Identify(of *gate.Resolver) (process.Identity, bool) {
	if p.PID == 0 {
		return process.Identity{}, false
	}
	id, err := lockop.Identify(of, p.PID)
	return id, err == nil && p.Alive()
}
