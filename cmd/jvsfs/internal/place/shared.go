package place

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/lease/record"
)

// RefuseLocalRecords refuses a source that several hosts may share if its records are not shared, too: each host would keep records of
// its own, and both would hold the lease at once.
func (p Place) RefuseLocalRecords(mounts host.MountTable) error {
	on := mounts.MayBeShared(p.Root)
	if on == "" || p.InRepository() || mounts.MayBeShared(p.recordsAt(mounts)) != "" {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage,
		Message: fmt.Sprintf("%s is on %s, which other hosts may mount, but its lease records would be in %s, which only this host sees: two hosts could hold the lease at once",
			p.Root, human.Printable(on), p.LockDir),
		Next: fmt.Sprintf("keep the records there, too: --control %s; or say that no other host writes there: --local-only",
			human.Typed(p.sharedRecords(mounts)))}
}

// recordsAt is where the directory of the records lies, behind all links: the mount table knows of none, and one on the store can lead to a
// directory that only this host has.
func (p Place) recordsAt(mounts host.MountTable) string {
	at, _, err := host.Resolve(p.LockDir, mounts)
	if err != nil {
		return p.LockDir // what opens it says why
	}
	return at
}

// sharedRecords is a directory for the records on the file system of the source: beside it, or in it where that is all of the file system.
func (p Place) sharedRecords(mounts host.MountTable) string {
	const name = ".jvsfs-locks"
	if beside := p.Root + name; mounts.At(beside) == mounts.At(p.Root) {
		return beside
	}
	return filepath.Join(p.Root, name)
}

// RefuseNameCache refuses records on a store whose client here remembers that a name does not exist. A holder learns of its successor
// by such a name, and would go on writing beside it.
func (p Place) RefuseNameCache(mounts host.MountTable) error {
	cache := mounts.NameCache(p.recordsAt(mounts))
	if cache == "" {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage,
		Message: fmt.Sprintf("the lease records would be in %s, where the client of the store (%s) remembers for minutes that a name does not exist: a holder would not see its successor for as long",
			p.LockDir, cache),
		Next: "switch it off for the volume: gluster volume set VOLUME performance.nl-cache off; then mount again"}
}

// Store says what it means that several hosts use the file system of the records; nil if that is not known to be so.
func (p Place) Store(mounts host.MountTable, policy record.Policy) *api.StoreStatus {
	engine := host.EngineOf(mounts.At(p.recordsAt(mounts)))
	if engine == "" {
		return nil
	}
	return &api.StoreStatus{Engine: engine, Tier: "C", SilentMS: Silence(policy).Milliseconds()}
}

// Silence is how long a host that says nothing keeps its lease at least.
func Silence(p record.Policy) time.Duration { return p.LeaseDuration + p.MaxClockSkew + p.StealGrace }
