package daemon

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// open opens the source and the lock directory, before anything is mounted over them.
func (d *Daemon) open() error {
	if err := d.openSource(); err != nil {
		return err
	}
	if err := d.openRecords(); err != nil {
		return err
	}
	if err := shareBorder(d.has.fs, d.has.locks); err != nil {
		return err
	}
	d.wire()
	if err := d.openMeter(); err != nil {
		return err
	}
	return d.has.fs.Seal(d.given.place.LockDir)
}

// openSource opens the source for serving, and what the file system asks.
func (d *Daemon) openSource() (err error) {
	d.given.reached = paths.ReachedByAll(d.given.place.Root)
	if d.has.exits, err = process.NewExitWatch(); err != nil {
		return err
	}
	d.resolver.Hear(d.has.exits)
	if err = d.openRuleLocks(); err != nil {
		return err
	}
	if d.given.layout, err = layoutOf(d.given.place); err != nil {
		return err
	}
	if err = d.openFileSystem(); err != nil {
		return err
	}
	d.given.paths.Over(d.has.fs)
	if d.given.cfg.FenceSelf {
		d.has.selfFencing, err = storewatch.OpenSelfFencing(d.has.fs.SourceFD(), d.given.place.Root, d.log)
	}
	return err
}

// openRecords opens the lease records and the audit chain, and locks the tree.
func (d *Daemon) openRecords() (err error) {
	p, fs := d.given.place, d.has.fs
	if err = d.openLocks(); err != nil {
		return err
	}
	if err = d.openAuthority(); err != nil {
		return err
	}
	if d.has.tree, err = place.LockTree(p, fs.SourceFD(), d.has.locks.FD()); err != nil {
		p.ForgetEmpty()
		return err
	}
	if err = d.has.tree.LockRules(p, d.given.out.Replaced); err != nil {
		return err
	}
	if err = p.Own(context.Background(), d.has.locks, lockop.PolicyOf(d.given.cfg)); api.AsFailure(err) != nil && api.AsFailure(err).Class != "" {
		return err
	} else if err != nil {
		d.log.Warn("the records do not say for which directory they are", zap.Error(err))
	}
	if !d.has.tree.Known {
		d.log.Warn("another mount of the same directory, or of one above, may go unnoticed", zap.String("why", d.has.tree.Why))
	}
	d.warnExposed()
	d.has.audit.chain, err = place.OpenAudit(p, fs.SourceFD(), d.has.locks)
	return err
}

// openLocks opens the lock directory, if it is fit for this mount.
func (d *Daemon) openLocks() (err error) {
	if d.given.place.Shape == api.ShapeRepository && d.given.place.InRepository() {
		d.has.locks, err = lease.OpenDirAt(d.has.fs.SourceFD(), ".jvs/locks", d.given.place.LockDir)
	} else {
		d.has.locks, err = d.given.place.OpenLockDir()
	}
	if err == nil {
		err = lockdir.Fit(d.has.locks)
	}
	if err != nil {
		return err
	}
	return d.mayRely()
}

// mayRely refuses to rely on fence agents where no other host takes leases, and so none has an agent run.
func (d *Daemon) mayRely() error {
	if !d.given.cfg.RelyOnFence || lease.SharedStore(d.has.fs.SourceFD()) && lease.SharedStore(d.has.locks.FD()) {
		return nil
	}
	return &api.Failure{Class: api.ClassUsage, Message: fmt.Sprintf("rely_on_fence is for a store of several hosts that has the lease records, too: %s or %s is not on one",
		d.given.place.Root, d.given.place.LockDir), Next: "leave rely_on_fence out"}
}

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

// close frees what is open, which may be a part.
func (d *opened) close(resolver *gate.Resolver) (err error) {
	if d.authority != nil {
		err = d.authority.Close()
	}
	resolver.Close()
	if d.exits != nil {
		err = errors.Join(err, d.exits.Close())
	}
	if d.fs != nil {
		err = errors.Join(err, d.fs.Close())
	}
	d.tree.Close()
	if d.audit.chain != nil {
		err = errors.Join(err, d.audit.chain.Close())
	}
	if d.locks != nil {
		err = errors.Join(err, d.locks.Close())
	}
	if d.ruleLocks != nil {
		err = errors.Join(err, d.ruleLocks.Tenures().Close())
	}
	return err
}
