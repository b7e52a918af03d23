package daemon

import (
	"errors"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// recoveryState is what a recovery of the mount needs: its state file, and the journal of its leases.
type recoveryState struct {
	cfg        mountcfg.Config
	place      place.Place
	mountpoint string
	mark       int64 // of the lock on the source
	since      time.Time
	journal    *journal.Journal
	locks      *lease.Dir
	fs         interface {
		SourceFD() int
		Device() (major, minor uint32)
	}

	onMounts *string // see StoreMounts
}

func (r *recoveryState) device() api.Device {
	major, minor := r.fs.Device()
	return api.Device{Major: major, Minor: minor}
}

// leave writes the state, before the mount is visible.
func (r *recoveryState) leave(forRuns bool) error {
	who, err := host.ThisProcess()
	if err != nil {
		return err
	}
	cfg, err := r.cfg.Snapshot()
	if err != nil {
		return err
	}
	return errors.Join(r.journal.Begin(r.device(), who, r.StoreMounts()), host.WriteState(host.StatePath(r.device()), host.MountState{
		Version: host.StateVersion, Mountpoint: r.mountpoint, Source: r.place.Root, Locks: r.place.LockDir, Mark: r.mark, Layout: r.place.Layout, Parts: r.place.PartsText(),
		Config: cfg, Runs: forRuns, SourceFS: storewatch.TypeOf(r.fs.SourceFD()), LocksFS: storewatch.TypeOf(r.locks.FD()), Args: os.Args, Since: r.since, Daemon: who,
	}))
}

// detached reports whether the mount is nowhere any more.
func (r *recoveryState) detached() bool {
	mounts, err := host.ReadMounts()
	return err == nil && !mounts.Has(r.device())
}

// resume writes the journal again, which has ended for a daemon that did not come up.
func (r *recoveryState) resume() error {
	who, err := host.ThisProcess()
	if err != nil {
		return err
	}
	return r.journal.Begin(r.device(), who, r.StoreMounts())
}

// StoreMounts is storewatch.MountsOf the source and the lease records. What it says first stays: call it before the mount is visible, in the
// mount namespace that it is to be visible in. Not safe for concurrent use.
func (r *recoveryState) StoreMounts() string {
	if r.onMounts != nil {
		return *r.onMounts
	}
	source, records := r.dirs()
	said := storewatch.MountsOf(r.cfg.Mountpoint == "", source, records)
	r.onMounts = &said
	return said
}

// dirs are the source and the directory of the records.
func (r *recoveryState) dirs() (source, records storewatch.Dir) {
	return storewatch.Dir{Path: r.place.Root, FD: r.fs.SourceFD()}, storewatch.Dir{Path: r.place.LockDir, FD: r.locks.FD()}
}

// Forget removes the state when the mount has ended in peace. Another mount may have the device number by now.
func (r *recoveryState) Forget() error {
	r.journal.End()
	st, err := host.ReadMountState(r.device())
	if errors.Is(err, os.ErrNotExist) || err == nil && st.Daemon.PID != os.Getpid() {
		return nil
	}
	return errors.Join(err, host.RemoveAll(host.LeasesPath(r.device()), host.StatePath(r.device())))
}
