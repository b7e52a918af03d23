package lockop

import (
	"fmt"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// StoreOf says what it means that several hosts use the records of a mount, or that its leases are in etcd. nil: neither is known.
func StoreOf(p place.Place, mounts host.MountTable, cfg mountcfg.Config) *api.StoreStatus {
	policy := PolicyOf(cfg)
	files := p.Store(mounts, policy)
	if files == nil && cfg.RelyOnFence { // the mount was not refused, so others may write there
		files = &api.StoreStatus{Engine: "a file system of several hosts", Tier: "C", SilentMS: place.Silence(policy).Milliseconds()}
	}
	if files != nil {
		files.RelyOnFence = cfg.RelyOnFence
	}
	at := cfg.Etcd.List()
	if len(at) == 0 {
		return files
	}
	// A host that falls silent keeps its lease for one TTL. etcd checks no write: only an agent can keep a late one from the store.
	out := &api.StoreStatus{Engine: "a file system of this host", Tier: "C", SilentMS: policy.LeaseDuration.Milliseconds(),
		Authority: fmt.Sprintf("etcd %v, prefix %s", at, cfg.Etcd.Prefix)}
	if files != nil {
		out.Engine, out.RelyOnFence = files.Engine, files.RelyOnFence
	}
	if len(cfg.Fence) > 0 {
		out.Tier = "B"
	}
	return out
}
