package daemon

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// When the client of the store ends, every descriptor of this daemon is dead with it, for good. If the store is mounted again at the same
// place, only a daemon that opens everything anew can serve it. So this one leaves a dead mount, as a kill does, and the next one recovers
// that. The directory below is never bare.
//
// The leases do not go on. Their records stay as they are, unreleased: what the ended client had read may still reach the store, and
// whoever takes such a lease over waits for it, or has that client cut off.

// ErrStoreReturned says that the mount is dead because its store was mounted again.
var ErrStoreReturned = errors.New("the client of the store was started again, and the mount is dead until it is recovered")

// storeReturn looks for the moment when the store is there again.
type storeReturn struct {
	*mount
	again chan struct{} // closed then
	look  <-chan bool   // that is under way; nil: none is
}

const (
	// storePause is between two looks while another file system covers the one that this daemon has open. It may not serve yet.
	storePause = time.Second
	// mountsPause is between two looks at the mount table, which others may change all the time.
	mountsPause = 100 * time.Millisecond
)

// opened is a directory that the daemon has open, and the file system that it lies on.
type opened struct {
	path   string
	fd     int
	device api.Device
	kind   string // as the mount table calls it; "": a FUSE that was unmounted before that was looked up
	inside bool   // of the source, and opened through it: what is mounted at its path is another one
}

// run looks until serving ends, at each change of the mount table. A mount that lies over its source goes with the store's mount, and
// what a user has mounted cannot be recovered.
func (s *storeReturn) run(serving context.Context) {
	if s.cfg.Mountpoint == "" || host.ByUser() {
		return
	}
	changes, err := host.WatchMounts()
	if err != nil {
		s.log.Warn("a new client of the store will not be noticed", zap.Error(err))
		return
	}
	defer func() { _ = changes.Close() }() // of descriptors that were read only
	dirs := s.opened()
	for len(dirs) > 0 { // first for what has changed since they were opened
		if s.follow(serving, dirs) {
			close(s.again)
			return
		}
		if changes.Wait(serving) != nil || !rest(serving, mountsPause) {
			return
		}
	}
}

// rest is false if serving ends meanwhile.
func rest(serving context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-serving.Done():
		return false
	case <-t.C:
		return true
	}
}

// opened are the source and the directory of the records, if a program or another machine serves the source. The device that the mount
// table has must be the one that stat tells, or a change of it says nothing (btrfs has one for each subvolume).
func (s *storeReturn) opened() []opened {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil
	}
	if !s.far && !onFUSE(s.fs.SourceFD()) {
		return nil
	}
	var all []opened
	for _, o := range []opened{{path: s.place.Root, fd: s.fs.SourceFD()}, {path: s.place.LockDir, fd: s.locks.FD()}} {
		if path, _, err := host.Resolve(o.path, mounts); err == nil { // the mount table has no links
			o.path = path
		}
		var st unix.Statx_t // by what the kernel remembers: the client may have ended since
		if unix.Statx(o.fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, 0, &st) != nil {
			continue
		}
		o.device = api.Device{Major: st.Dev_major, Minor: st.Dev_minor}
		if len(all) > 0 && host.Within(all[0].path, o.path) {
			o.inside = true
			all = append(all, o)
			continue
		}
		m := mounts.At(o.path)
		switch {
		case m != nil && host.DeviceOf(m) == o.device:
			o.kind = m.FSType
		case host.IsJVSFS(m) || !onFUSE(o.fd): // the mount lies over it, or stat and the table differ
			continue
		} // else it was unmounted since it was opened
		all = append(all, o)
	}
	return all
}

// onFUSE is whether a descriptor is on a FUSE. One that has ended does not say so itself.
func onFUSE(fd int) bool {
	var st unix.Statfs_t
	err := unix.Fstatfs(fd, &st)
	return err == nil && st.Type == unix.FUSE_SUPER_MAGIC || lease.CutOffStore(err)
}

func deviceOf(dev uint64) api.Device {
	return api.Device{Major: unix.Major(dev), Minor: unix.Minor(dev)}
}

// follow looks again and again while another file system is at one of the places.
func (s *storeReturn) follow(serving context.Context, dirs []opened) (returned bool) {
	for {
		mounts, err := host.ReadMounts()
		if err != nil {
			return false
		}
		changed, alike := compare(mounts, dirs)
		if alike && s.returned(dirs) {
			return true
		}
		if !changed || !rest(serving, storePause) {
			return false
		}
	}
}

// compare is whether another file system is at one of the places now, and whether it is of the same kind there: where the store was only
// unmounted, its empty mount point is none. It asks no file system.
func compare(mounts host.MountTable, dirs []opened) (changed, alike bool) {
	alike = true
	for _, o := range dirs {
		if o.inside {
			continue
		}
		m := mounts.At(o.path)
		if m == nil || host.DeviceOf(m) != o.device {
			changed = true
			alike = alike && m != nil && (m.FSType == o.kind || o.kind == "" && strings.HasPrefix(m.FSType, "fuse") && !host.IsJVSFS(m))
		}
	}
	return changed, changed && alike
}

// returned is whether what is open is dead, and its places have directories. A store that does not answer in time is neither. A call to it
// cannot be ended, so there is one look at a time, and it may outlast everything here.
func (s *storeReturn) returned(dirs []opened) bool {
	if s.look == nil {
		look := make(chan bool, 1)
		go func() { look <- dead(dirs) && present(dirs) }()
		s.look = look
	}
	patience := time.NewTimer(storePatience)
	defer patience.Stop()
	select {
	case is := <-s.look:
		s.look = nil
		return is
	case <-patience.C:
		return false
	}
}

// dead is whether the file system of one of the directories has ended for this process. The kernel must not answer from what it remembers.
func dead(dirs []opened) bool {
	for _, o := range dirs {
		var st unix.Statx_t
		err := unix.Statx(o.fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &st)
		if err != nil && lease.CutOffStore(err) {
			return true
		}
	}
	return false
}

func present(dirs []opened) bool {
	for _, o := range dirs {
		if info, err := os.Stat(o.path); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

// endForStore leaves a dead mount and the records as they are. For the next daemon the leases have run out. It returns nil, and does nothing,
// if the mount is away already.
func (d *unmounting) endForStore() error {
	d.umount.Lock()
	defer d.umount.Unlock()
	if mounts, err := host.ReadMounts(); err == nil && !mounts.Has(d.device()) {
		return nil
	}
	d.forNext = true
	d.log.Warn("the client of the store was started again at "+d.place.Root+": this daemon ends, and leaves a dead mount to be recovered", zap.String("mountpoint", d.paths.Mountpoint()))
	d.journal.Change(func(f *journal.File) { *f = f.Expired() })
	d.journal.End()
	for _, w := range d.registry.all() {
		w.latch.shut()
		w.keeper.Part()
	}
	return errors.Join(ErrStoreReturned, d.registry.close(), d.fs.Abort())
}
