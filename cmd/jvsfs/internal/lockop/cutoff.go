package lockop

import (
	"context"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// CutOffBy is how an agent cuts another host off the store that the records are on. own is any holder of this host. Without a command
// nobody is cut off.
func CutOffBy(command []string, own lease.Holder, records *lease.Dir) (*lease.CutOff, error) {
	c := &lease.CutOff{Host: own.Host, BootID: own.BootID}
	if len(command) == 0 {
		return c, nil
	}
	agent := fenceagent.Agent{Command: command, Run: host.RunChild}
	if err := agent.Check(); err != nil {
		return nil, err
	}
	c.Agent = agent.String()
	fd := records.FD()
	_, kind := storeOf(fd)
	if !fenceagent.FreesGates(kind) {
		c.Clients = new(lease.CutClients)
	}
	c.Cut = func(ctx context.Context, v lease.Victim) error {
		return agent.Off(ctx, fenceagent.Target{Node: v.Holder.Host, Client: v.Client, Worktree: string(v.Worktree), Token: uint64(v.Token),
			Gate: fenceagent.LockedFile(fd, kind, record.GateFile(v.Worktree))})
	}
	return c, nil
}

// Terms are how a lease is kept, and taken over, without a mount.
type Terms struct {
	Policy record.Policy
	Fence  []string // the fence agent of the configuration, and its arguments; nil: none
	// NoFence is why Fence may not be run. Then no other host's unreleased lease is taken over.
	NoFence error
}

// cutOff is how these terms have another host cut off the store. own is any holder of this host.
func (t Terms) cutOff(own lease.Holder, records *lease.Dir) *lease.CutOff {
	if t.NoFence == nil {
		c, err := CutOffBy(t.Fence, own, records)
		if err == nil {
			return c
		}
		t.NoFence = err
	}
	return &lease.CutOff{Host: own.Host, BootID: own.BootID, Cannot: t.NoFence}
}
