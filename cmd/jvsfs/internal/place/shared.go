package place

import (
	"fmt"
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease"
)

// RefuseLocalRecords refuses a source that several hosts share if its records are not shared, too: each host would keep records of
// its own, and both would hold the lease at once.
func (p Place) RefuseLocalRecords(mounts host.MountTable) error {
	engine := host.EngineOf(mounts.At(p.Root))
	if engine == "" || p.InRepository() || host.EngineOf(mounts.At(p.LockDir)) != "" {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage,
		Message: fmt.Sprintf("%s is on %s, which other hosts may mount, but its lease records would be in %s, which only this host sees: two hosts could hold the lease at once", p.Root, engine, p.LockDir),
		Next: fmt.Sprintf("keep the records there, too: --control %s; or say that no other host writes there: --local-only",
			human.Typed(filepath.Join(filepath.Dir(p.Root), filepath.Base(p.Root)+".jvsfs-locks")))}
}

// Store says what it means that several hosts use the file system of the records; nil if that is not known to be so.
func (p Place) Store(mounts host.MountTable, policy lease.Policy) *api.StoreStatus {
	engine := host.EngineOf(mounts.At(p.LockDir))
	if engine == "" {
		return nil
	}
	silent := policy.LeaseDuration + policy.MaxClockSkew + policy.StealGrace
	return &api.StoreStatus{Engine: engine, Tier: "C", SilentMS: silent.Milliseconds()}
}
