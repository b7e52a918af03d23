package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// recordsDoctor checks the lock directory for those from whom the mount may hide it.
type recordsDoctor struct {
	place      place.Place
	mountpoint string
	source     int // the descriptor of the source
	locks      *lease.Dir
	store      *api.StoreStatus
	policy     record.Policy
	tree       *place.TreeLock
	repaired   func([]finding.Finding) // is told what was found and repaired
	rules      func() []finding.Finding
}

// answer checks the lock directory.
func (d *recordsDoctor) answer(req api.Doctor) (api.Response, error) {
	dir := lockdir.Dir{Path: d.place.LockDir, Name: d.place.LockDir, Store: d.store}
	if mounts, err := host.ReadMounts(); err == nil {
		dir.NameCache = mounts.NameCache(dir.Path)
	}
	if host.Within(d.place.Root, dir.Path) {
		dir.Path = fmt.Sprintf("/proc/self/fd/%d/%s", d.source, host.RelativeTo(d.place.Root, dir.Path))
	}
	fix := lockdir.Repair{Safe: req.Repair, Force: req.Force}
	found := lockdir.Check(context.Background(), dir, d.policy, fix)
	if !d.stillOurs(dir.Path) {
		found = append(found, finding.Fail("locks.replaced", "put it back; if it is lost: jvsfs umount and mount again, and the tokens start again",
			"%s is not the lock directory that the daemon of %s works with: that was removed, renamed or covered since the mount", dir.Name, d.mountpoint))
	}
	d.repaired(found)
	return api.ResultOf(slices.Concat(found, unseenFinding(d.tree, d.place.Root), d.rules()))
}

// stillOurs is whether a path leads to the lock directory that the daemon has open. If that is dead, other findings say so.
func (d *recordsDoctor) stillOurs(path string) bool {
	var at, held unix.Stat_t
	if unix.Fstat(d.locks.FD(), &held) != nil {
		return true
	}
	return unix.Stat(path, &at) == nil && at.Dev == held.Dev && at.Ino == held.Ino
}

// unseenFinding says that another mount might go unnoticed.
func unseenFinding(l *place.TreeLock, root string) []finding.Finding {
	if l.Known {
		return []finding.Finding{finding.OK("tree.locked", "%s and what lies above it is locked against other records", root)}
	}
	return []finding.Finding{finding.Warn("tree.unseen", "make sure that nobody mounts "+root+", or a directory above it, with other records",
		"another mount of %s or of a directory above it may go unnoticed: %s", root, strings.ReplaceAll(l.Why, "\n", "; "))}
}
