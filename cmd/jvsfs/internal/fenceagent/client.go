package fenceagent

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mostUp bounds how far up the root of a mount is looked for.
const mostUp = 64

// ClientOf is what the store calls its client here, "" if that is not known. fd is any file of the store, and kind its file system
// type as in /proc/self/mountinfo.
func ClientOf(fd int, kind string) string {
	switch kind {
	case "ceph", "fuse.ceph-fuse":
		return cephClient(fd)
	case "fuse.juicefs":
		return inRoot(fd, ".config", juiceSession)
	case "fuse.glusterfs":
		return inRoot(fd, ".meta/process_uuid", strings.TrimSpace)
	case "fuse", "fuse.mfs", "fuse.moosefs": // MooseFS sets no subtype
		return inRoot(fd, ".masterinfo", mooseSession)
	}
	return ""
}

// cephClient is the global id of the client: client4711 or 4711, from an extended attribute that both of Ceph's clients have.
func cephClient(fd int) string {
	b := make([]byte, 64)
	n, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), "ceph.client_id", b)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(strings.TrimSpace(strings.TrimRight(string(b[:n]), "\x00")), "client")
}

// juiceSession is the session in the virtual file .config.
func juiceSession(text string) string {
	var c struct {
		Meta struct{ Sid uint64 }
	}
	if json.Unmarshal([]byte(text), &c) != nil || c.Meta.Sid == 0 {
		return ""
	}
	return strconv.FormatUint(c.Meta.Sid, 10)
}

// FreesGates reports whether the agent of a file system also frees the lock on the gate of the lease that it runs for (LockedFile).
func FreesGates(kind string) bool { return kind == "fuse.juicefs" }

// LockedFile is the inode of a file that the victim has locked, below fd, where an agent has to name it: JuiceFS does not note the
// shared locks of a session (pkg/meta/redis_lock.go of 1.2: Flock adds to locked$sid for F_WRLCK alone), so nothing else leads to them. 0
// elsewhere: a client of CephFS that is frozen keeps others from asking.
func LockedFile(fd int, kind, name string) uint64 {
	var st unix.Stat_t
	if !FreesGates(kind) || unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return st.Ino
}

// mooseSession is the session in the virtual file .masterinfo: the master's address and port, the session, the version.
func mooseSession(text string) string {
	if len(text) != 14 {
		return ""
	}
	session := binary.BigEndian.Uint32([]byte(text[6:10]))
	if session == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(session), 10)
}

// rootInode is that of the root of a mount of JuiceFS, of GlusterFS and of MooseFS. Below a bind mount the root may be out of reach, and a file of
// a virtual file's name would be anybody's.
const rootInode = 1

// inRoot reads a virtual file in the root of fd's file system.
func inRoot(fd int, name string, parse func(string) string) string {
	at, err := unix.Openat(fd, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(at) }()
	var st unix.Stat_t
	if unix.Fstat(at, &st) != nil {
		return ""
	}
	dev := st.Dev
	for range mostUp {
		if st.Ino == rootInode {
			text, err := readAt(at, name)
			if err != nil {
				return ""
			}
			return parse(text)
		}
		up, err := unix.Openat(at, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return ""
		}
		_ = unix.Close(at)
		if at = up; unix.Fstat(at, &st) != nil || st.Dev != dev {
			return ""
		}
	}
	return ""
}

func readAt(dirfd int, name string) (string, error) {
	fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close() //nolint:errcheck // only read from
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(text), err
}
