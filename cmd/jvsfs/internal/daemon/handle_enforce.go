package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// modeSwitch shows and switches how the mount treats writes without the lease.
type modeSwitch struct {
	mode         *enforceMode
	mountpoint   string
	worktree     lease.WorktreeID // in whose name is audited
	guards       func() []*gate.Guard
	predecessors replacedDaemons
	note         func(api.Event)
	audit        func(audit.Record) error
	log          *zap.Logger
	switching    sync.Mutex
}

// replacedDaemons are the daemons that this one has replaced, and that live while files are open through them.
type replacedDaemons interface {
	Live() bool
	Refuse(what string) *api.Failure
}

// answerEnforce shows the mode, or switches it.
func (d *modeSwitch) answerEnforce(ctx context.Context, s *control.Session, req api.Enforce) (api.Response, error) {
	if req.Mode == "" {
		return api.ResultOf(api.EnforceAnswer{Mountpoint: d.mountpoint, EnforceStatus: d.mode.status()})
	}
	to, err := gate.ParseEnforce(req.Mode)
	if err != nil {
		return api.Response{}, api.Usagef("%v", err)
	}
	if to != gate.ReadOnly && readOnlyToKernel(d.mountpoint) {
		return api.Response{}, &api.Failure{
			Class: api.ClassUsage, Message: fmt.Sprintf("%s is mounted ro: the kernel refuses every write there, whatever the mode", d.mountpoint),
			Next: "mount -o remount,bind,rw " + d.mountpoint + ", then switch",
		}
	}
	if !d.switching.TryLock() {
		return api.Response{}, &api.Failure{Class: api.ClassBusy, Message: "the mode is just being switched by somebody else", Next: "try again"}
	}
	defer d.switching.Unlock()
	from := d.mode.Mode()
	if to.StricterThan(from) && d.predecessors.Live() {
		return api.Response{}, d.predecessors.Refuse("the mode is not made stricter")
	}
	note, err := d.switchMode(ctx, s, from, to, time.Duration(req.WaitMS)*time.Millisecond)
	if err != nil {
		return api.Response{}, err
	}
	resp, err := api.ResultOf(api.EnforceAnswer{Mountpoint: d.mountpoint, EnforceStatus: d.mode.status(), Previous: from})
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
		d.note(api.Event{Kind: api.ModeSwitched, Enforce: to, EnforcePrevious: from, By: by})
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
		Next:    fmt.Sprintf("jvsfs status --json counts the writes in flight; jvsfs enforce %s %s waits again", d.mountpoint, to),
	}
}

func (d *modeSwitch) auditSwitch(by control.Peer, from, to gate.Enforce) error {
	err := d.audit(audit.Record{
		Timestamp: time.Now(), EventType: "enforce_switch", Worktree: string(d.worktree),
		Details: map[string]any{
			"mountpoint": d.mountpoint, "from": from, "to": to,
			"by_uid": by.UID, "by_user": by.User(), "by_pid": by.PID,
		},
	})
	if err != nil {
		d.log.Error("audit", zap.Error(err))
	}
	return err
}
