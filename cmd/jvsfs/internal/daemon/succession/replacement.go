package succession

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/moby/sys/mountinfo"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/client"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease/record"
)

// mount --replace upgrades the program under a mount that serves. The new daemon opens the leases beside the
// old one (lease.Keeper.Join), puts its mount beneath the old one, detaches that, and leads from then on. Files
// that are open through the old mount stay with the old daemon until they are closed. Until the old mount is
// detached, the old daemon can continue as before.

// replacement is the connection to the old daemon. It keeps that daemon in retirement.
type replacement struct {
	conn *client.Client // ends the retirement when it ends before the second step
	last *client.Client // for that step: the socket has no name by then
	left journal.File
}

// askToRetire takes the first step: from now on the old daemon renews nothing.
func askToRetire(ctx context.Context, old *mountinfo.Info, own api.Device) (*replacement, error) {
	c, err := client.Dial(ctx, old)
	if err != nil {
		return nil, err
	}
	r := &replacement{conn: c}
	err = c.Send(api.Retire{Successor: api.Successor{Device: own.String()}}, nil)
	if err == nil {
		var resp api.Response
		if resp, err = c.Result(api.AnswerTimeout, nil); err == nil {
			err = json.Unmarshal(resp.Result, &r.left)
		}
	}
	if err == nil && !r.left.Daemon.SameClock() {
		err = errors.New("the running daemon reads another clock (a time namespace)")
	}
	if err == nil {
		r.last, err = client.Dial(ctx, old)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return r, nil
}

// appearInstead replaces a serving mount by this one.
func (d *Arrival) appearInstead(ctx context.Context, own api.Device) error {
	old := d.recovery.Dead[0]
	top, err := host.HoldMount(old)
	if err != nil {
		return err
	}
	defer top.Close()
	r, err := askToRetire(ctx, old, own)
	if err != nil {
		return err
	}
	defer r.close()
	if err := d.joinAll(ctx, r.left); err != nil {
		return err
	}
	if err := d.Rules.Join(); err != nil {
		return err
	}
	d.Predecessors.succeed(r.left)
	if err := d.FS.AttachBeneath(top.FD()); err != nil {
		return err
	}
	d.Rules.Lead()
	if err := d.recovery.TakeAway(old, d.warnState); err != nil {
		return err
	}
	d.Leases.Resume()
	if err := r.tell(own); err != nil {
		d.Log.Warn("the old daemon was not told", zap.Error(err))
	}
	return nil
}

// joinAll opens every lease here, too, and keeps the holders out who had lost one.
func (d *Arrival) joinAll(ctx context.Context, left journal.File) error {
	for id := range left.Held {
		if _, err := record.ParseWorktreeID(string(id)); err != nil {
			return err
		}
	}
	d.Journal.Restore(journal.File{Revoked: left.Revoked})
	d.Leases.Revoke(lossesOf(left.Revoked))
	return d.Leases.Join(ctx, left.Held)
}

// tell takes the second step. If the old daemon cannot be reached any more, it has ended, and its open files
// with it.
func (r *replacement) tell(by api.Device) error {
	err := r.last.Send(api.Retired{Successor: api.Successor{Device: by.String()}}, nil)
	if err == nil {
		_, err = r.last.Result(api.AnswerTimeout, nil)
	}
	return err
}

func (r *replacement) close() {
	r.last.Close()
	r.conn.Close()
}
