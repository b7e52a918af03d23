package daemon

import (
	"errors"
	"os"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// leaveState writes the state that a recovery needs, before the mount is visible.
func (d *mount) leaveState() error {
	major, minor := d.fs.Device()
	who, err := host.ThisProcess()
	if err != nil {
		return err
	}
	cfg, err := d.cfg.Snapshot()
	if err != nil {
		return err
	}
	return errors.Join(d.journal.Begin(api.Device{Major: major, Minor: minor}, who, d.storeMounts()), host.WriteState(host.StatePath(api.Device{Major: major, Minor: minor}), host.MountState{
		Version: host.StateVersion, Mountpoint: d.paths.Mountpoint(), Source: d.place.Root, Locks: d.place.LockDir, Mark: d.tree.Mark, Layout: d.place.Layout, Parts: d.place.PartsText(),
		Config: cfg, Runs: d.forRuns, SourceFS: storewatch.TypeOf(d.fs.SourceFD()), LocksFS: storewatch.TypeOf(d.locks.FD()), Args: os.Args, Since: d.since, Daemon: who,
	}))
}

// storeMounts is storewatch.MountsOf the source and the lease records. What it says first stays: call it before the mount is visible, in the
// mount namespace that it is to be visible in. Not safe for concurrent use.
func (d *mount) storeMounts() string {
	if d.onMounts != nil {
		return *d.onMounts
	}
	source, records := d.opened()
	said := storewatch.MountsOf(d.cfg.Mountpoint == "", source, records)
	d.onMounts = &said
	return said
}

// opened are the source and the directory of the records.
func (d *mount) opened() (source, records storewatch.Dir) {
	return storewatch.Dir{Path: d.place.Root, FD: d.fs.SourceFD()}, storewatch.Dir{Path: d.place.LockDir, FD: d.locks.FD()}
}

// forgetState removes the state when the mount has ended in peace. Another mount may have the device number by
// now.
func (d *mount) forgetState() error {
	d.journal.End()
	major, minor := d.fs.Device()
	st, err := host.ReadMountState(api.Device{Major: major, Minor: minor})
	if errors.Is(err, os.ErrNotExist) || err == nil && st.Daemon.PID != os.Getpid() {
		return nil
	}
	return errors.Join(err, removeState(api.Device{Major: major, Minor: minor}))
}

func removeState(d api.Device) error { return host.RemoveAll(host.LeasesPath(d), host.StatePath(d)) }
