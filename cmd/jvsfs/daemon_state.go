package main

import (
	"errors"
	"os"
)

// leaveState notes what it takes to bring this mount back, before it is visible.
func (d *daemon) leaveState() error {
	major, minor := d.fs.Device()
	who, err := thisProcess()
	if err != nil {
		return err
	}
	cfg, err := d.cfg.Snapshot()
	if err != nil {
		return err
	}
	return errors.Join(d.journal.begin(device{major, minor}, who), writeState(statePath(device{major, minor}), mountState{
		Version: stateVersion, Mountpoint: d.mountpoint(), Source: d.place.Root, Locks: d.place.LockDir, Mark: d.tree.mark,
		Config: cfg, Args: os.Args, Since: d.since, Daemon: who,
	}))
}

// forgetState removes it, when the mount has ended in peace. The number of the device may be
// another mount's by now.
func (d *daemon) forgetState() error {
	d.journal.end()
	major, minor := d.fs.Device()
	st, err := readMountState(device{major, minor})
	if errors.Is(err, os.ErrNotExist) || err == nil && st.Daemon.PID != os.Getpid() {
		return nil
	}
	return errors.Join(err, removeState(device{major, minor}))
}

func removeState(d device) error { return removeAll(leasesPath(d), statePath(d)) }
