package exec

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// HeldLease is the lease under which CMD runs.
type HeldLease struct {
	Worktree string // its directory
	Mount    string // its mount point, "" where no mount fences it
	holder   string
	Token    lease.Token
	Joined   bool // it is that of the holder to which this process belongs
}

// Environment is what CMD finds; the names are a promise.
func (l HeldLease) Environment() map[string]string {
	return map[string]string{
		"JVSFS_WORKTREE": l.Worktree, "JVSFS_MOUNT": l.Mount, "JVSFS_HOLDER": l.holder,
		"JVSFS_TOKEN": strconv.FormatUint(uint64(l.Token), 10),
	}
}

// leaseTold reads what a daemon says of a lease that it keeps. One of another release may
// not say where the worktree is.
func leaseTold(resp api.Response, t client.Target) (HeldLease, error) {
	rec := api.RecordOf(resp.Record)
	if rec == nil {
		return HeldLease{}, errors.New("the answer has no record that can be read")
	}
	l := HeldLease{Worktree: t.Path, Mount: t.Mount.Mountpoint, holder: rec.HolderID, Token: resp.Token}
	var at api.Leased
	if json.Unmarshal(resp.Result, &at) == nil && at.Root != "" {
		l.Worktree = host.PathIn(t.Mount, at.Root)
	}
	return l, nil
}
