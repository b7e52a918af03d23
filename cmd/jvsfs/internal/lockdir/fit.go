package lockdir

import (
	"fmt"
	"slices"

	"github.com/jvsfs/jvsfs/lease"
)

// Fit refuses a lock directory whose file system has no hard links or no locks. A mount with it would serve,
// refuse every writer, and only then say why. A lack that may pass (room, permission to write) does not prevent
// the mount; doctor reports it.
func Fit(d *lease.Dir) error {
	steps := slices.DeleteFunc(slices.Clone(probeSteps), func(s probeStep) bool { return s.with == "" })
	r := probeDir(fmt.Sprintf("/proc/self/fd/%d", d.FD()), steps) // by descriptor: the path may lead elsewhere by now
	if r.failedAt == nil || !r.lacks() {
		return nil
	}
	return d.Unfit(r.failedAt.with, withoutPath(r.err))
}
