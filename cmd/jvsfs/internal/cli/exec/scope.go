package exec

import (
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/child"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/cli/console"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// settleScope makes the scope one that fits the other flags: with --cgroup it is that, and what
// --linger waits for must belong to the holder when CMD has ended.
func (e *Command) settleScope() error {
	wants := gate.ScopeDefault
	switch {
	case e.cgroup:
		wants = gate.ScopeCgroup
	case e.Linger:
		wants = gate.ScopeTree
	}
	if wants == gate.ScopeDefault || e.scope == string(wants) {
		return nil
	}
	if e.scope != "" {
		return api.Usagef("--scope %s does not go with --cgroup or --linger, which make it %s", e.scope, wants)
	}
	e.scope = string(wants)
	return nil
}

// enterCgroup makes the cgroup of --cgroup. The function leaves it.
func (e *Command) enterCgroup() (leave func(), err error) {
	if !e.cgroup {
		return func() {}, nil
	}
	g, err := host.EnterCgroup()
	if err != nil {
		return nil, err
	}
	return func() {
		if err := g.Leave(child.Unkillable); err != nil {
			console.Note(e.IO)("the command's cgroup was not removed: " + err.Error())
		}
	}, nil
}

// bind names the process to which the lease is bound: CMD; with --linger in a cgroup this one,
// which is in there, too, and ends after all that CMD leaves.
func (e *Command) bind(c *child.Child) error {
	if !e.Linger || !e.cgroup {
		c.Bound = child.Holder{Process: c.Named(), FD: c.Pidfd}
		return nil
	}
	s, err := process.ReadStat(os.Getpid())
	if err != nil {
		return err
	}
	fd, err := process.OpenPidfd(os.Getpid()) // to the end of this process
	c.Bound = child.Holder{Process: api.Process{PID: os.Getpid(), Start: s.Start, Explicit: true}, FD: fd}
	return err
}
