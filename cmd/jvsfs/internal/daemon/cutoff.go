package daemon

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// cutOff is how the configured agent cuts another host off the store, nil if there is none. One agent runs at a time, whatever worktree
// it is for: cluster tools are not made for more.
func (d *mount) cutOff() (*lease.CutOff, error) {
	if len(d.cfg.Fence) == 0 {
		return nil, nil
	}
	agent := fenceagent.Agent{Command: d.cfg.Fence}
	if err := agent.Check(); err != nil {
		return nil, err
	}
	own, err := d.resolver.HolderFor(os.Getpid(), "", "")
	if err != nil {
		return nil, err
	}
	return &lease.CutOff{Agent: agent.String(), Host: own.Host, BootID: own.BootID, Start: d.registry.start,
		Turn: func(ctx context.Context) (done func(), err error) {
			select {
			case d.agentRuns <- struct{}{}:
				return func() { <-d.agentRuns }, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		},
		Cut: func(ctx context.Context, v lease.Victim) error {
			return agent.Off(ctx, fenceagent.Target{Node: v.Holder.Host, Client: v.Client, Worktree: string(v.Worktree), Token: uint64(v.Token)})
		}}, nil
}

// storeClient names this host's client of the store, each time anew: an evicted one comes back as another.
func (d *mount) storeClient() func() string {
	fd := d.locks.FD()
	if !lease.SharedStore(fd) {
		return nil
	}
	var kind string
	var st unix.Statx_t
	mounts, err := host.ReadMounts()
	if err == nil {
		err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	}
	if err != nil {
		return nil
	}
	if m := mounts.ByID(int(st.Mnt_id)); m != nil {
		kind = m.FSType
	}
	return func() string { return fenceagent.ClientOf(fd, kind) }
}
