package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// answerEnforce shows the mode, or switches it.
func (d *modeSwitch) answerEnforce(ctx context.Context, s *control.Session, req api.Enforce) (api.Response, error) {
	if req.Mode == "" {
		return api.ResultOf(api.EnforceAnswer{Mountpoint: d.paths.Mountpoint(), EnforceStatus: d.mode.status()})
	}
	to, err := gate.ParseEnforce(req.Mode)
	if err != nil {
		return api.Response{}, api.Usagef("%v", err)
	}
	if to != gate.ReadOnly && readOnlyToKernel(d.paths.Mountpoint()) {
		return api.Response{}, &api.Failure{
			Class: api.ClassUsage, Message: fmt.Sprintf("%s is mounted ro: the kernel refuses every write there, whatever the mode", d.paths.Mountpoint()),
			Next: "mount -o remount,bind,rw " + d.paths.Mountpoint() + ", then switch",
		}
	}
	if !d.switching.TryLock() {
		return api.Response{}, &api.Failure{Class: api.ClassBusy, Message: "the mode is just being switched by somebody else", Next: "try again"}
	}
	defer d.switching.Unlock()
	from := d.mode.Mode()
	if to.StricterThan(from) && d.succession.heldByPredecessor() {
		return api.Response{}, d.succession.predecessorStays("the mode is not made stricter")
	}
	note, err := d.switchMode(ctx, s, from, to, time.Duration(req.WaitMS)*time.Millisecond)
	if err != nil {
		return api.Response{}, err
	}
	resp, err := api.ResultOf(api.EnforceAnswer{Mountpoint: d.paths.Mountpoint(), EnforceStatus: d.mode.status(), Previous: from})
	resp.Note = note
	return resp, err
}

// readOnlyToKernel reports whether the mount itself is read-only.
func readOnlyToKernel(point string) bool {
	mounts, err := host.ReadMounts()
	if err != nil {
		return false
	}
	m := mounts.At(point)
	return host.IsJVSFS(m) && slices.Contains(strings.Split(m.Options, ","), "ro")
}

// switchMode switches, waits, logs and audits. The note is for the caller. A switch that lets more through does
// not happen if it cannot be audited. A stricter one does not wait for the audit.
func (d *modeSwitch) switchMode(ctx context.Context, s *control.Session, from, to gate.Enforce, wait time.Duration) (note string, err error) {
	by := s.Peer.String()
	if from.StricterThan(to) {
		if err := d.auditSwitch(s.Peer, from, to); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = d.mode.Switch(ctx, to, d.guards)
	if err != nil && !errors.Is(err, gate.ErrUndrained) {
		return "", err
	}
	if from != to {
		d.mode.switched(time.Now(), by)
		d.events.Note(api.Event{Kind: api.ModeSwitched, Enforce: to, EnforcePrevious: from, By: by})
		d.log.Warn("enforce switched", zap.String("from", string(from)), zap.String("to", string(to)), zap.String("by", by), zap.Error(err))
	}
	if to.StricterThan(from) {
		if err := d.auditSwitch(s.Peer, from, to); err != nil {
			note = "the switch could not be audited: " + err.Error()
		}
	}
	if err != nil {
		return "", d.undrained(to, wait, err)
	}
	return note, nil
}

func (d *modeSwitch) undrained(to gate.Enforce, wait time.Duration, err error) *api.Failure {
	return &api.Failure{
		Class: api.ClassBusy, Err: err,
		Message: fmt.Sprintf("the mode is %s now, but writes that were admitted before have not ended within %s", to, wait),
		Next:    fmt.Sprintf("jvsfs status --json counts the writes in flight; jvsfs enforce %s %s waits again", d.paths.Mountpoint(), to),
	}
}

// guards lists the guards of all worktrees seen so far.
func (d *mount) guards() []*gate.Guard {
	var all []*gate.Guard
	for _, w := range d.registry.all() {
		all = append(all, w.guard)
	}
	return all
}

func (d *modeSwitch) auditSwitch(by control.Peer, from, to gate.Enforce) error {
	err := d.audit.append(audit.Record{
		Timestamp: time.Now(), EventType: "enforce_switch", Worktree: string(d.place.ID),
		Details: map[string]any{
			"mountpoint": d.paths.Mountpoint(), "from": from, "to": to,
			"by_uid": by.UID, "by_user": by.User(), "by_pid": by.PID,
		},
	})
	if err != nil {
		d.log.Error("audit", zap.Error(err))
	}
	return err
}
