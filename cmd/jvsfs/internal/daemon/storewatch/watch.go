package storewatch

import (
	"context"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// When the client of the store ends, every descriptor of this daemon is dead with it, for good. If the store is mounted again at the same
// place, only a daemon that opens everything anew can serve it. So this one leaves a dead mount, as a kill does, and the next one recovers
// that. The directory below is never bare.
//
// The leases do not go on. Their records stay as they are, unreleased: what the ended client had read may still reach the store, and
// whoever takes such a lease over waits for it, or has that client cut off.

// Dir is a directory that a daemon has open, and the path at which it was opened.
type Dir struct {
	Path string
	FD   int
}

// Watch looks for the moment when the store is there again.
type Watch struct {
	dirs  []Dir
	far   bool // the records are on another machine's file system
	log   *zap.Logger
	again chan struct{} // closed then
	look  <-chan bool   // that is under way; nil: none is
}

// New is for the source of a mount and the directory of its records. far is whether the records are on another machine's file system.
func New(source, records Dir, far bool, log *zap.Logger) *Watch {
	return &Watch{dirs: []Dir{source, records}, far: far, log: log, again: make(chan struct{})}
}

// Again is closed when the store is there again.
func (s *Watch) Again() <-chan struct{} { return s.again }

const (
	// storePause is between two looks while another file system covers the one that this daemon has open. It may not serve yet.
	storePause = time.Second
	// mountsPause is between two looks at the mount table, which others may change all the time.
	mountsPause = 100 * time.Millisecond
)

// lookPatience is how long a look may take before the store counts as one that does not answer.
const lookPatience = 400 * time.Millisecond

// opened is a directory with the file system that it lies on.
type opened struct {
	Dir
	device api.Device
	kind   string // as the mount table calls it; "": a FUSE that was unmounted before that was looked up
	inside bool   // of the source, and opened through it: what is mounted at its path is another one
}

// Run looks until serving ends, at each change of the mount table.
func (s *Watch) Run(serving context.Context) {
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
func (s *Watch) opened() []opened {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil
	}
	if !s.far && !onFUSE(s.dirs[0].FD) {
		return nil
	}
	var all []opened
	for _, d := range s.dirs {
		o := opened{Dir: d}
		if path, _, err := host.Resolve(o.Path, mounts); err == nil { // the mount table has no links
			o.Path = path
		}
		var st unix.Statx_t // by what the kernel remembers: the client may have ended since
		if unix.Statx(o.FD, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, 0, &st) != nil {
			continue
		}
		o.device = api.Device{Major: st.Dev_major, Minor: st.Dev_minor}
		if len(all) > 0 && host.Within(all[0].Path, o.Path) {
			o.inside = true
			all = append(all, o)
			continue
		}
		m := mounts.At(o.Path)
		switch {
		case m != nil && host.DeviceOf(m) == o.device:
			o.kind = m.FSType
		case host.IsJVSFS(m) || !onFUSE(o.FD): // the mount lies over it, or stat and the table differ
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

// follow looks again and again while another file system is at one of the places.
func (s *Watch) follow(serving context.Context, dirs []opened) (returned bool) {
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
		m := mounts.At(o.Path)
		if m == nil || host.DeviceOf(m) != o.device {
			changed = true
			alike = alike && m != nil && (m.FSType == o.kind || o.kind == "" && strings.HasPrefix(m.FSType, "fuse") && !host.IsJVSFS(m))
		}
	}
	return changed, changed && alike
}

// returned is whether what is open is dead, and its places have directories. A store that does not answer in time is neither. A call to it
// cannot be ended, so there is one look at a time, and it may outlast everything here.
func (s *Watch) returned(dirs []opened) bool {
	if s.look == nil {
		look := make(chan bool, 1)
		go func() { look <- dead(dirs) && present(dirs) }()
		s.look = look
	}
	patience := time.NewTimer(lookPatience)
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
		err := unix.Statx(o.FD, "", unix.AT_EMPTY_PATH|unix.AT_STATX_FORCE_SYNC, unix.STATX_BASIC_STATS, &st)
		if err != nil && lease.CutOffStore(err) {
			return true
		}
	}
	return false
}

func present(dirs []opened) bool {
	for _, o := range dirs {
		if info, err := os.Stat(o.Path); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
