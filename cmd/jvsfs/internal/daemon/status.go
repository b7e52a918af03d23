package daemon

import (
	"encoding/json"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
)

// statusFor is the status, with the recent refusals that the asking user may see.
func (d *Daemon) statusFor(uid uint32) api.MountStatus {
	st := d.status()
	st.Version = api.BuildOf().Version
	st.RecentRefusals, _ = d.trail.Recent(refusals.Query{UID: uid, Limit: shownRefusals}, d.given.paths.PathOf)
	return st
}

func (d *Daemon) status() api.MountStatus {
	major, minor := d.has.fs.Device()
	st := api.MountStatus{
		Mountpoint: d.given.paths.Mountpoint(), Source: d.given.place.Root, Device: api.Device{Major: major, Minor: minor}.String(), State: "serving",
		PID: os.Getpid(), Since: &d.given.since, Shape: d.given.place.Shape, Layout: d.given.place.Layout, Repository: d.given.cfg.Repository, Worktree: d.given.place.ID, Locks: d.given.place.LockDir, Audit: d.given.place.AuditPath(), Local: d.given.place.Local, Store: d.has.store,
		EnforceStatus: d.mode.status(), Lease: d.given.cfg.LeaseDuration.Milliseconds(), Metrics: d.meter.Address(),
	}
	there, _ := d.survey.Look()
	for _, w := range there {
		st.Worktrees = append(st.Worktrees, w.Status)
	}
	for _, r := range d.given.rules.Leases() {
		st.Parts = append(st.Parts, api.PartRule{Rule: r.Name, Guards: r.Guards[0], Except: r.Except})
	}
	st.Rules, st.Windows = d.has.ruleLocks.Book().Locks(), d.has.ruleLocks.Book().Windows()
	if raw, err := json.Marshal(d.has.fs.Stats()); err == nil {
		st.Statistics = raw
	}
	return st
}
