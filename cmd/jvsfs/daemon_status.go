package main

import (
	"encoding/json"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/gate"
)

// mountStatus is one mount in `status --json`; the names are a promise.
type mountStatus struct {
	Mountpoint string     `json:"mountpoint"`
	Source     string     `json:"source,omitempty"`
	Device     string     `json:"device"`
	State      string     `json:"state"` // serving, dead, silent or forbidden
	Detail     string     `json:"detail,omitempty"`
	Next       string     `json:"next,omitempty"` // the way out of a mount that does not serve
	PID        int        `json:"pid,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
	Shape      shape      `json:"shape,omitempty"`
	Locks      string     `json:"locks,omitempty"`
	Audit      string     `json:"audit,omitempty"`
	Local      bool       `json:"local,omitempty"` // the fence holds on this machine only
	enforceStatus
	Lease          int64           `json:"lease_duration_ms,omitempty"`
	Metrics        string          `json:"metrics,omitempty"` // where they are served
	Worktrees      []gate.Status   `json:"worktrees,omitempty"`
	Statistics     json.RawMessage `json:"statistics,omitempty"`
	RecentRefusals []refusalView   `json:"recent_refusals,omitempty"`
	Version        string          `json:"version,omitempty"` // of the daemon's binary
}

func (d *daemon) status() mountStatus {
	major, minor := d.fs.Device()
	st := mountStatus{
		Mountpoint: d.mountpoint(), Source: d.place.Root, Device: device{major, minor}.String(), State: "serving",
		PID: os.Getpid(), Since: &d.since, Shape: d.place.Shape, Locks: d.place.LockDir, Audit: d.place.auditPath(), Local: d.place.Local,
		enforceStatus: d.mode.status(), Lease: d.cfg.LeaseDuration.Milliseconds(), Metrics: d.metrics.address(),
	}
	there, _ := d.survey()
	for _, w := range there {
		st.Worktrees = append(st.Worktrees, w.status)
	}
	if raw, err := json.Marshal(d.stats()); err == nil {
		st.Statistics = raw
	}
	return st
}
