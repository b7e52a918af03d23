package daemon

import (
	"encoding/json"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

func (d *Daemon) status() api.MountStatus {
	major, minor := d.fs.Device()
	st := api.MountStatus{
		Mountpoint: d.paths.Mountpoint(), Source: d.place.Root, Device: api.Device{Major: major, Minor: minor}.String(), State: "serving",
		PID: os.Getpid(), Since: &d.since, Shape: d.place.Shape, Layout: d.place.Layout, Repository: d.cfg.Repository, Worktree: d.place.ID, Locks: d.place.LockDir, Audit: d.place.AuditPath(), Local: d.place.Local, Store: d.store,
		EnforceStatus: d.mode.status(), Lease: d.cfg.LeaseDuration.Milliseconds(), Metrics: d.meter.Address(),
	}
	there, _ := d.survey.look()
	for _, w := range there {
		st.Worktrees = append(st.Worktrees, w.status)
	}
	for _, r := range d.rules.Leases() {
		st.Parts = append(st.Parts, api.PartRule{Rule: r.Name, Guards: r.Guards[0], Except: r.Except})
	}
	st.Rules, st.Windows = d.ruleLocks.Book().Locks(), d.ruleLocks.Book().Windows()
	if raw, err := json.Marshal(d.stats()); err == nil {
		st.Statistics = raw
	}
	return st
}
