package doctor

import (
	"context"
	"slices"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Check looks at the machine, at every mount, and at the records of paths. control is
// the lock directory of those, "" for the usual one. at is told what Check looks at next.
func Check(ctx context.Context, paths []string, control string, policy record.Policy, fix lockdir.Repair, at func(string)) ([]finding.Finding, error) {
	at("the machine")
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	wanted, err := mountsOf(paths, mounts)
	if err != nil {
		return nil, err
	}
	all := append(checkMachine(policy), checkMounts(ctx, mounts, wanted, fix, at)...)
	at("the directories that are served")
	all = append(all, checkTrees()...)
	var locks []lockdir.Dir
	for _, path := range paths {
		p, found, err := placeOf(path, control, mounts)
		if err != nil {
			return nil, err
		}
		if found {
			at(p.Root)
			all = append(all, checkTree(p, fix)...)
			locks = append(locks, lockdir.Dir{Path: p.LockDir, Name: p.LockDir, Store: p.Store(mounts, policy), NameCache: mounts.NameCache(p.LockDir)})
		}
	}
	at("the lease records")
	return append(all, lockdir.CheckAll(ctx, locks, policy, fix)...), nil
}

// mountsOf are the mounts to look at: all, or those that paths lie on, that serve them from elsewhere, or that
// lie below them.
func mountsOf(paths []string, mounts host.MountTable) ([]*mountinfo.Info, error) {
	if len(paths) == 0 {
		return mounts.JVSFS(), nil
	}
	var out []*mountinfo.Info
	for _, path := range paths {
		abs, on, err := host.Resolve(path, mounts)
		if err != nil {
			return nil, err
		}
		for _, m := range mounts.JVSFS() {
			if (m == on || host.Within(m.Source, abs) || host.Within(abs, m.Mountpoint)) && !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out, nil
}

// checkMachine checks the things that all mounts share.
func checkMachine(policy record.Policy) []finding.Finding {
	all := checkKernel()
	all = append(all, limitFindings(gatherLimits())...)
	all = append(all, checkClock(policy.MaxClockSkew)...)
	return append(all, configFindings(configDir)...)
}

// placeOf classifies a path that is not mounted. checkMounts looks at mounts.
func placeOf(path, control string, mounts host.MountTable) (p place.Place, found bool, err error) {
	abs, m, err := host.Resolve(path, mounts)
	if err != nil || host.IsJVSFS(m) {
		return p, false, err
	}
	if p, err = place.SourceAt(abs, control, layout.Auto); err != nil {
		p, err = place.WorktreeOf(abs, control)
	}
	return p, err == nil, err
}
