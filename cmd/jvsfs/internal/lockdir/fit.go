package lockdir

import (
	"fmt"
	"slices"

	"github.com/jvsfs/jvsfs/lease"
)

// Fit refuses a lock directory whose file system has no hard links or no locks:
// over it a mount would serve, refuse every writer, and only then say why. Everything else
// that a directory may lack for the moment (room, permission to write) is no reason not to
// mount; doctor tells of it.
func Fit(d *lease.Dir) error {
	steps := slices.DeleteFunc(slices.Clone(probeSteps), func(s probeStep) bool { return s.with == "" })
	r := probeDir(fmt.Sprintf("/proc/self/fd/%d", d.FD()), steps) // whatever its path leads to by now
	if r.failedAt == nil || !r.lacks() {
		return nil
	}
	return d.Unfit(r.failedAt.with, withoutPath(r.err))
}
