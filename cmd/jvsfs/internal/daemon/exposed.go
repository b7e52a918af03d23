package daemon

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/lease"
)

// warnExposed warns of users other than the owner who can forge a repository's records.
func (d *Daemon) warnExposed() {
	if !d.given.place.InRepository() {
		return
	}
	found, err := lease.Exposures(fmt.Sprintf("/proc/self/fd/%d", d.has.locks.FD()), lockdir.OwnerOfRepository(fmt.Sprintf("/proc/self/fd/%d/../..", d.has.locks.FD())))
	if err != nil {
		d.log.Warn("who can change the lock directory is not known", zap.Error(err))
	}
	for _, e := range found {
		d.log.Warn("the lease records are not safe", zap.String("why", e.String()))
	}
}
