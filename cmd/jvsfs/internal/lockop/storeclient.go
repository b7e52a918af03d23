package lockop

import (
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/fenceagent"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
)

// StoreClient names this host's client of the store that a descriptor is on, each time anew: an evicted one comes back as another. nil
// where no other host writes.
func StoreClient(fd int) func() string {
	if !lease.SharedStore(fd) {
		return nil
	}
	root, kind := storeOf(fd)
	return func() string {
		if name := fenceagent.ClientOf(fd, kind); name != "" {
			return name
		}
		return clientAt(root, fd, kind) // from a copy of the mount of a directory no way leads up to the root
	}
}

// clientAt is ClientOf for the mount at root, if it still is of the file system that fd is on.
func clientAt(root string, fd int, kind string) string {
	at, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(at) }()
	if mine, _, err := deviceOf(fd); err != nil {
		return ""
	} else if its, _, err := deviceOf(at); err != nil || its != mine {
		return ""
	}
	return fenceagent.ClientOf(at, kind)
}

// storeOf is where the file system that a descriptor is on is mounted, and its type as in the mount table; "" if that is not known.
func storeOf(fd int) (root, kind string) {
	dev, id, err := deviceOf(fd)
	if err != nil {
		return "", ""
	}
	mounts, err := host.ReadMounts()
	if err != nil {
		return "", ""
	}
	if m := storeIn(mounts, dev, id); m != nil {
		return m.Mountpoint, m.FSType
	}
	return "", ""
}

// storeIn prefers a mount of the whole file system, from whose root virtual files can be read. A descriptor below a source that the daemon
// holds is on a copy of the mount that only the daemon has, and the table does not have: its device is the same.
func storeIn(mounts host.MountTable, dev api.Device, id int) (found *mountinfo.Info) {
	for _, m := range mounts {
		if host.DeviceOf(m) != dev && m.ID != id {
			continue
		}
		if found == nil || m.Root == "/" && found.Root != "/" {
			found = m
		}
	}
	return found
}

// deviceOf asks the file system for nothing: its client may be silent.
func deviceOf(fd int) (dev api.Device, mount int, err error) {
	var st unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	return api.Device{Major: st.Dev_major, Minor: st.Dev_minor}, int(st.Mnt_id), err //nolint:gosec // a number of the mount table
}
