package daemon

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
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
	return errors.Join(d.journal.begin(api.Device{Major: major, Minor: minor}, who, d.storeDevice()), host.WriteState(host.StatePath(api.Device{Major: major, Minor: minor}), host.MountState{
		Version: host.StateVersion, Mountpoint: d.mountpoint(), Source: d.place.Root, Locks: d.place.LockDir, Mark: d.tree.Mark, Layout: d.place.Layout, Parts: d.place.PartsText(),
		Config: cfg, Runs: d.forRuns, Args: os.Args, Since: d.since, Daemon: who,
	}))
}

// storeDevice is the device of the lease records, where they are on another machine's file system: each time that is mounted it has another
// one. "" elsewhere.
func (d *mount) storeDevice() string {
	var st unix.Stat_t
	if !d.far || unix.Fstat(d.locks.FD(), &st) != nil {
		return ""
	}
	return deviceOf(st.Dev).String()
}

// forgetState removes the state when the mount has ended in peace. Another mount may have the device number by
// now.
func (d *mount) forgetState() error {
	d.journal.end()
	major, minor := d.fs.Device()
	st, err := host.ReadMountState(api.Device{Major: major, Minor: minor})
	if errors.Is(err, os.ErrNotExist) || err == nil && st.Daemon.PID != os.Getpid() {
		return nil
	}
	return errors.Join(err, removeState(api.Device{Major: major, Minor: minor}))
}

func removeState(d api.Device) error { return host.RemoveAll(host.LeasesPath(d), host.StatePath(d)) }
