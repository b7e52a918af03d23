package succession

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/fusefs"
	"github.com/jvsfs/jvsfs/lease"
)

// Arrival makes the mount visible, at its own place or in the place of one that is dead or is replaced.
type Arrival struct {
	Mountpoint   string
	Place        place.Place
	Journal      *journal.Journal
	Predecessors *Predecessors
	Log          *zap.Logger

	FS interface {
		Attach() error
		AttachBeneath(top int) error
		AttachOver(top int) error
		Attached() bool
		Discard()
		Abort() error
	}
	Leases interface {
		Join(ctx context.Context, held map[lease.WorktreeID]lease.Saved) error // opens them beside the daemon that is to be replaced
		Adopt(ctx context.Context, held map[lease.WorktreeID]lease.Saved)      // continues those of a dead one
		Revoke(lost map[lease.WorktreeID][]lease.Loss)                         // keeps those out who had lost one
		Resume()                                                               // leads again
		Part()                                                                 // leaves the records as they are
		Close() error
	}
	Rules interface { // of other programs' locks
		Join() error
		Lead()
	}
	State interface {
		Forget() error
		StoreMounts() string // what a client of a store has mounted, "" for a disk of this host
	}

	recovery *recovery.Recovery // nil: there is no mount to recover or to replace
}

// Follow makes this daemon the successor of those of r. It restores a dead mount, or replaces a daemon that serves.
func (d *Arrival) Follow(r *recovery.Recovery) {
	d.recovery = r
	switch {
	case !r.Serves:
		d.restore(r)
	case r.State != nil:
		d.Predecessors.replaced = &r.State.Daemon
	}
}

// Appear makes the mount visible, as the device that it has, and lets others recover what is left of it.
func (d *Arrival) Appear(ctx context.Context, own api.Device) error {
	defer d.recovery.Unlock()
	if d.recovery == nil {
		if err := d.FS.Attach(); err != nil {
			return fmt.Errorf("mount %s: %w", d.Mountpoint, err)
		}
		return nil
	}
	if d.recovery.Serves {
		if err := d.appearInstead(ctx, own); err != nil {
			return fmt.Errorf("replace %s, which continues as before: %w", d.Mountpoint, err)
		}
		return nil
	}
	if err := d.appearBeneath(ctx); err != nil {
		return fmt.Errorf("recover %s: %w", d.Mountpoint, err)
	}
	return nil
}

// Withdraw ends a mount that did not become visible. If it is attached already, beneath a dead mount that could
// not be detached, it is left there as a dead mount: taking it away would leave the directory with no fence.
// The next recovery continues the leases that it has adopted.
func (d *Arrival) Withdraw() error {
	d.Journal.End()
	d.Leases.Part()
	err := d.Leases.Close()
	if d.FS.Discard(); !d.FS.Attached() {
		return errors.Join(err, d.State.Forget())
	}
	return errors.Join(err, d.FS.Abort())
}

// appearBeneath is the recovery itself. If it is killed between any two steps, only dead mounts are left at the
// place, and the next recovery continues from there.
func (d *Arrival) appearBeneath(ctx context.Context) error {
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
	err = d.FS.AttachBeneath(top.FD())
	if errors.Is(err, fusefs.ErrNotBeneath) {
		d.Log.Warn("the dead mount stays below the new one", zap.Error(err))
		d.adoptAll(ctx)
		if err := d.FS.AttachOver(top.FD()); err != nil {
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

func (d *Arrival) warnState(err error) { d.Log.Warn("state of the dead mount", zap.Error(err)) }

// restore reads what the ended daemons knew of leases, before their files are removed.
func (d *Arrival) restore(r *recovery.Recovery) {
	for _, m := range r.Dead {
		st, err := host.ReadMountState(host.DeviceOf(m))
		if err != nil || !recovery.Heir(st, d.Place) {
			continue
		}
		left, err := journal.Read(host.DeviceOf(m))
		if err != nil {
			d.Log.Warn("the leases of the dead mount run out", zap.Error(err))
			continue
		}
		if now := d.State.StoreMounts(); left.Store != now { // see daemon.ErrStoreReturned
			d.Log.Warn("the leases of the dead mount do not go on: the store was mounted again since, or that cannot be told (an older release, another mount namespace)", zap.Int("leases", len(left.Held)))
			left = left.Expired()
		}
		d.Journal.Restore(left)
	}
}

// lossesOf is who is kept out of the leases: those who had lost one by expiry or theft.
func lossesOf(revoked map[lease.WorktreeID][]journal.RevokedHolder) map[lease.WorktreeID][]lease.Loss {
	lost := make(map[lease.WorktreeID][]lease.Loss, len(revoked))
	for id, list := range revoked {
		for _, r := range list {
			lost[id] = append(lost[id], lease.Loss{Kind: r.Kind, Token: r.Token, Holder: r.Holder})
		}
	}
	return lost
}

// adoptAll continues the leases that were held.
func (d *Arrival) adoptAll(ctx context.Context) {
	left := d.Journal.Entries()
	d.Leases.Revoke(lossesOf(left.Revoked))
	d.Leases.Adopt(ctx, left.Held)
}
