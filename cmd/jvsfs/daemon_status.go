package main

import (
	"encoding/json"
	"os"
)

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
