package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
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
		Config: cfg, Runs: d.forRuns, SourceFS: fsType(d.fs.SourceFD()), LocksFS: fsType(d.locks.FD()), Args: os.Args, Since: d.since, Daemon: who,
	}))
}

// storeMounts says which mounts the source and the lease records are on, where those are on another machine's file system or on that of a
// program: their devices, and the numbers of the mounts. A store that is mounted again has another number; the device alone would not do, for
// a mount that has gone leaves it to the next one. "" elsewhere. What it says first stays: call it before the mount is visible, in the mount
// namespace that it is to be visible in. Not safe for concurrent use.
func (d *mount) storeMounts() string {
	if d.onMounts != nil {
		return *d.onMounts
	}
	var all []string
	for _, o := range []opened{{path: d.place.Root, fd: d.fs.SourceFD()}, {path: d.place.LockDir, fd: d.locks.FD()}} {
		if is := d.storeMount(o); is != "" {
			all = append(all, is)
		}
	}
	said := strings.Join(all, " ")
	d.onMounts = &said
	return said
}

func (d *mount) storeMount(o opened) string {
	var st unix.Stat_t
	if !lease.SharedStore(o.fd) && !onFUSE(o.fd) || unix.Fstat(o.fd, &st) != nil {
		return ""
	}
	name := deviceOf(st.Dev).String()
	if d.cfg.Mountpoint == "" { // a dead mount may lie over it
		return name
	}
	var at unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, o.path, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID_UNIQUE, &at)
	if err == nil && at.Mask&unix.STATX_MNT_ID_UNIQUE != 0 { // Linux 6.8
		name += fmt.Sprintf("/%d", at.Mnt_id)
	}
	return name
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
