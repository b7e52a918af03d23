package daemon

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/lease"
)

// appear makes the mount visible, at its own place or in the place of a dead one.
func (d *succession) appear(ctx context.Context) error {
	if d.recovery == nil {
		if err := d.fs.Attach(); err != nil {
			return fmt.Errorf("mount %s: %w", d.paths.Mountpoint(), err)
		}
		return nil
	}
	if d.recovery.Serves {
		if err := d.appearInstead(ctx); err != nil {
			return fmt.Errorf("replace %s, which continues as before: %w", d.paths.Mountpoint(), err)
		}
		return nil
	}
	if err := d.appearBeneath(ctx); err != nil {
		return fmt.Errorf("recover %s: %w", d.paths.Mountpoint(), err)
	}
	return nil
}

// withdraw ends a mount that did not become visible. If it is attached already, beneath a dead mount that could
// not be detached, it is left there as a dead mount: taking it away would leave the directory with no fence.
// The next recovery continues the leases that it has adopted.
func (d *succession) withdraw() error {
	d.journal.End()
	for _, w := range d.registry.all() {
		w.keeper.Part()
	}
	err := d.registry.close()
	if d.fs.Discard(); !d.fs.Attached() {
		return errors.Join(err, d.state.forget())
	}
	return errors.Join(err, d.fs.Abort())
}

// appearBeneath is the recovery itself. If it is killed between any two steps, only dead mounts are left at the
// place, and the next recovery continues from there.
func (d *succession) appearBeneath(ctx context.Context) error {
	r := d.recovery
	for i, upper := range r.Dead[:len(r.Dead)-1] { // what an interrupted recovery has left
		if err := r.TakeAway(upper, d.warnState); err != nil {
			return err
		}
		if err := recovery.AwaitEnd(ctx, r.Dead[i+1]); err != nil {
			return err
		}
	}
	dead := r.Dead[len(r.Dead)-1]
	top, err := host.HoldMount(dead)
	if err != nil {
		return err
	}
	defer top.Close()
	err = d.fs.AttachBeneath(top.FD())
	if errors.Is(err, fusefs.ErrNotBeneath) {
		d.log.Warn("the dead mount stays below the new one", zap.Error(err))
		d.adoptAll(ctx)
		if err := d.fs.AttachOver(top.FD()); err != nil {
			return err
		}
		if err := host.ForgetMount(host.DeviceOf(dead)); err != nil {
			d.warnState(err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	d.adoptAll(ctx)
	return r.TakeAway(dead, d.warnState)
}

func (d *mount) warnState(err error) { d.log.Warn("state of the dead mount", zap.Error(err)) }

// TakeOver makes this daemon the successor of those of r. It restores a dead mount, or replaces a daemon that
// serves.
func (d *Daemon) TakeOver(r *recovery.Recovery) {
	d.succession.recovery = r
	if r.Serves {
		d.succession.replaced = r.State
	} else {
		d.succession.restore(r)
	}
}

// restore reads what the ended daemons knew of leases, before their files are removed.
func (d *succession) restore(r *recovery.Recovery) {
	for _, m := range r.Dead {
		st, err := host.ReadMountState(host.DeviceOf(m))
		if err != nil || !recovery.Heir(st, d.place) {
			continue
		}
		left, err := journal.Read(host.DeviceOf(m))
		if err != nil {
			d.log.Warn("the leases of the dead mount run out", zap.Error(err))
			continue
		}
		if now := d.state.storeMounts(); left.Store != now { // see ErrStoreReturned
			d.log.Warn("the leases of the dead mount do not go on: the store was mounted again since, or that cannot be told (an older release, another mount namespace)", zap.Int("leases", len(left.Held)))
			left = left.Expired()
		}
		d.journal.Restore(left)
	}
}

// restoreRevoked keeps the holders out who had lost a lease by expiry or theft.
func (d *succession) restoreRevoked(all map[lease.WorktreeID][]journal.RevokedHolder) {
	for id, list := range all {
		w, err := d.registry.get(id)
		if err != nil {
			d.log.Error("revoked holders", zap.String("worktree", string(id)), zap.Error(err))
			continue
		}
		for _, r := range list {
			w.guard.Close(lease.Loss{Kind: r.Kind, Token: r.Token, Holder: r.Holder})
		}
	}
}

// adoptAll continues the leases that were held.
func (d *succession) adoptAll(ctx context.Context) {
	left := d.journal.Entries()
	d.restoreRevoked(left.Revoked)
	for id, b := range left.Held {
		w, err := d.registry.get(id)
		if err == nil {
			_, err = w.keeper.Adopt(ctx, b)
		}
		if err != nil {
			d.log.Warn("lease not recovered", zap.String("worktree", string(id)), zap.Uint64("token", uint64(b.Token)), zap.Error(err))
			continue
		}
		d.log.Info("lease recovered", zap.String("worktree", string(id)), zap.Uint64("token", uint64(b.Token)), zap.String("holder", b.Holder.ID()))
	}
}
