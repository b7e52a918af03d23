package doctor

import (
	"errors"
	"path/filepath"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/lease"
)

// checkTrees looks for directories with two sets of records (early releases, without a lock on the directory,
// allowed that), and for records that do not name their directory.
func checkTrees() []finding.Finding {
	return append(overlapFindings(place.LivingStates()), unboundFindings()...)
}

func overlapFindings(all []*host.MountState) []finding.Finding {
	var out []finding.Finding
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.Mark != 0 && b.Mark != 0 || !twice(a, b) {
				continue // both have looked for each other's locks, so one was renamed since
			}
			out = append(out, finding.Fail("tree.twice", "jvsfs umount one of them, and mount it with the records of the other; then jvsfs mount --replace the other",
				"the mounts at %s (of %s, records in %s) and at %s (of %s, records in %s) serve one tree with two sets of records",
				a.Mountpoint, a.Source, a.Locks, b.Mountpoint, b.Source, b.Locks))
		}
	}
	return out
}

// twice reports whether two mounts serve one tree with two sets of records, by their paths.
func twice(a, b *host.MountState) bool {
	kin, related := place.KinOf(a.Source, b.Source)
	if !related || a.Locks != b.Locks || kin == place.KinSame {
		return related && a.Locks != b.Locks
	}
	if kin == place.KinAbove {
		a, b = b, a
	}
	dir, _ := filepath.Split(host.RelativeTo(a.Source, b.Source))
	return host.RelativeTo(a.Source, b.Source) != "main" && dir != "worktrees/" // a repository and one of its worktrees
}

// unboundFindings reports records of early releases, which found them only by the path.
func unboundFindings() []finding.Finding {
	dirs, _ := filepath.Glob(place.DefaultControlRoot + "/*") // the pattern is well-formed
	var out []finding.Finding
	for _, dir := range dirs {
		claims, _ := filepath.Glob(filepath.Join(host.EscapeGlob(dir), "*.claim.*"))
		if len(claims) > 0 && len(place.BoundIn(host.EscapeGlob(dir))) == 0 {
			out = append(out, finding.Warn("tree.unbound", "mount the directory once at the path where it was, or name them: --control "+dir,
				"%s is of an earlier release and does not say for which directory it is; mounting that at its old path takes the records over", dir))
		}
	}
	return out
}

// checkTree looks at the records of one directory.
func checkTree(p place.Place, fix lockdir.Repair) []finding.Finding {
	if p.Foreign == nil {
		return nil
	}
	f := p.NotOurs()
	if !fix.Safe || !fix.Force {
		return []finding.Finding{finding.Fail("tree.other", f.Next, "%s", f.Message)}
	}
	dir, err := lease.OpenDir(p.LockDir)
	if err == nil {
		err = errors.Join(p.BindRecords(dir.FD(), true), dir.Close())
	}
	if err != nil {
		return []finding.Finding{finding.Fail("repair.failed", "run doctor as root", "%v", err)}
	}
	return []finding.Finding{finding.OK("repair.done", "%s: the records belong to %s as well now, and its tokens continue", p.LockDir, p.Root)}
}
