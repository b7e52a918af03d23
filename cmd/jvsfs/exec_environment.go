package main

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// heldLease is the lease under which CMD runs.
type heldLease struct {
	worktree string // its directory
	mount    string // its mount point, "" where no mount fences it
	holder   string
	token    lease.Token
	joined   bool // it is that of the holder to which this process belongs
}

// environment is what CMD finds; the names are a promise.
func (l heldLease) environment() map[string]string {
	return map[string]string{
		"JVSFS_WORKTREE": l.worktree, "JVSFS_MOUNT": l.mount, "JVSFS_HOLDER": l.holder,
		"JVSFS_TOKEN": strconv.FormatUint(uint64(l.token), 10),
	}
}

// leaseTold reads what a daemon says of a lease that it keeps. One of another release may
// not say where the worktree is.
func leaseTold(resp api.Response, t client.Target) (heldLease, error) {
	rec := api.RecordOf(resp.Record)
	if rec == nil {
		return heldLease{}, errors.New("the answer has no record that can be read")
	}
	l := heldLease{worktree: t.Path, mount: t.Mount.Mountpoint, holder: rec.HolderID, token: resp.Token}
	var at api.Leased
	if json.Unmarshal(resp.Result, &at) == nil && at.Root != "" {
		l.worktree = host.PathIn(t.Mount, at.Root)
	}
	return l, nil
}
