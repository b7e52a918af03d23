package lockop

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// CutOffBy is how an agent cuts another host off the store that the records are on. own is any holder of this host. Without a command
// nobody is cut off.
func CutOffBy(command []string, own lease.Holder, records *lease.Dir) (*lease.CutOff, error) {
	c := &lease.CutOff{Host: own.Host, BootID: own.BootID}
	if len(command) == 0 {
		return c, nil
	}
	agent := fenceagent.Agent{Command: command}
	if err := agent.Check(); err != nil {
		return nil, err
	}
	c.Agent = agent.String()
	fd, kind := records.FD(), storeKind(records.FD())
	c.Cut = func(ctx context.Context, v lease.Victim) error {
		return agent.Off(ctx, fenceagent.Target{Node: v.Holder.Host, Client: v.Client, Worktree: string(v.Worktree), Token: uint64(v.Token),
			Gate: fenceagent.LockedFile(fd, kind, lease.GateFile(v.Worktree))})
	}
	return c, nil
}

// StoreClient names this host's client of the store that a descriptor is on, each time anew: an evicted one comes back as another. nil
// where no other host writes.
func StoreClient(fd int) func() string {
	if !lease.SharedStore(fd) {
		return nil
	}
	kind := storeKind(fd)
	return func() string { return fenceagent.ClientOf(fd, kind) }
}

// storeKind is the type of the file system that a descriptor is on, as in the mount table; "" if that is not known.
func storeKind(fd int) string {
	var st unix.Statx_t
	mounts, err := host.ReadMounts()
	if err == nil {
		err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	}
	if err != nil {
		return ""
	}
	if m := mounts.ByID(int(st.Mnt_id)); m != nil {
		return m.FSType
	}
	return ""
}

// Terms are how a lease is kept, and taken over, without a mount.
type Terms struct {
	Policy lease.Policy
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
