package paths

import (
	"errors"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// deepest bounds the directories that notPermitted looks at. Each look has a thread of its own, and anybody may ask.
const deepest = 64

// NotPermitted names what keeps a process from writing to path, whoever holds the lease: a directory on the way, the file, or the
// nearest directory where there is no file yet. It is "" if nothing does, for root, for a path that is deeper than deepest, and
// for a user who asks about somebody else's process: what that may see is not told to others.
func (d *Paths) NotPermitted(path string, who process.Identity, asks uint32) string {
	k, err := process.CredentialsOfProcess(who.PID)
	if err != nil || k.UID == 0 || asks != 0 && asks != k.UID || strings.Count(path, "/") > deepest {
		return ""
	}
	return deniedBelow(k, d.tree.SourceFD(), path)
}

// deniedBelow walks by descriptors: who exchanges a directory for a link meanwhile must not be told of what root sees elsewhere.
func deniedBelow(k process.Credentials, source int, path string) string {
	dir, at := source, "."
	defer func() { closeUnless(dir, source) }()
	for rest := path; rest != "" && rest != "."; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if !may(k, dir, "", unix.X_OK) {
			return at
		}
		next, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			break
		} else if err != nil {
			return ""
		}
		closeUnless(dir, source)
		dir, at = next, filepath.Join(at, name)
		switch typeOf(dir) {
		case unix.S_IFDIR:
		case unix.S_IFLNK: // it is replaced, or leads to another path
			return ""
		default:
			return unlessMay(k, dir, at, unix.W_OK)
		}
	}
	return unlessMay(k, dir, at, unix.W_OK|unix.X_OK)
}

func closeUnless(fd, stays int) {
	if fd != stays {
		_ = unix.Close(fd) // only looked at
	}
}

func typeOf(fd int) uint32 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}

func unlessMay(k process.Credentials, fd int, path string, mode uint32) string {
	if may(k, fd, "", mode) {
		return ""
	}
	return path
}
