package daemon

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// given is what the daemon was asked to serve, and what follows from that alone. It does not change.
type given struct {
	cfg     mountcfg.Config
	place   place.Place
	out     Outside
	since   time.Time
	rules   *lockfile.Rules // of other programs' lock files; nil for none
	layout  layout.Layout   // which guard stands over what
	paths   *paths.Paths
	reached bool // everybody can come to the source
}

// opened is what the daemon has open. It does not change once the daemon is made.
type opened struct {
	exits       *process.ExitWatch
	ruleLocks   *rulelocks.Locks
	fs          *fusefs.Server
	selfFencing *storewatch.SelfFencing // nil without fence_self
	locks       *lease.Dir
	far         bool             // the records are on another machine's file system, which may hang
	store       *api.StoreStatus // that file system, if it is one for several hosts
	authority   Authorities      // who keeps the leases; nil: the claims in locks
	tree        *place.TreeLock  // on the source
	audit       *auditChain
}

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
