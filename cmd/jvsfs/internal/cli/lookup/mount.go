package lookup

import (
	"errors"

	"github.com/moby/sys/mountinfo"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// ErrDaemonGone is the loss if nobody has recovered the mount in time.
var ErrDaemonGone = errors.New("the daemon of the mount is gone")

// JVSFSAt is the topmost mount at a place if it is of jvsfs, dead or not.
func JVSFSAt(point string) (*mountinfo.Info, error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	if m := mounts.At(point); host.IsJVSFS(m) && m.Mountpoint == point {
		return m, nil
	}
	return nil, ErrDaemonGone
}

// MountAt finds the jvsfs mount whose mount point path is.
func MountAt(path string) (*mountinfo.Info, error) {
	mounts, err := host.ReadMounts()
	if err != nil {
		return nil, err
	}
	abs, m, err := host.Resolve(path, mounts)
	if err != nil {
		return nil, err
	}
	if !host.IsJVSFS(m) || m.Mountpoint != abs {
		f := &api.Failure{Class: api.ClassNoMount, Message: abs + " is not the mount point of a jvsfs mount", Next: "jvsfs status lists them"}
		if host.IsJVSFS(m) {
			f.Next = "jvsfs umount " + m.Mountpoint
		}
		return nil, f
	}
	return m, nil
}
