package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// Inode flags forbid changes to everybody, whatever the mode says. The kernel does not see them
// through a FUSE mount and lets the request pass. The backing call is refused, but no lease may be
// taken for such a request. Source: ioctl_iflags(2), may_delete and may_setattr in Linux.

const (
	flagImmutable = unix.STATX_ATTR_IMMUTABLE
	flagsFixed    = unix.STATX_ATTR_IMMUTABLE | unix.STATX_ATTR_APPEND
	flagVerity    = unix.STATX_ATTR_VERITY
)

// unflagged reports whether an inode has none of some flags. It is true if it cannot look: then the
// backing call will say what is wrong.
func unflagged(dirfd int, name string, flags uint64) bool {
	at := unix.AT_SYMLINK_NOFOLLOW | unix.AT_STATX_DONT_SYNC
	if name == "" {
		at |= unix.AT_EMPTY_PATH
	}
	var stx unix.Statx_t
	return unix.Statx(dirfd, name, at, 0, &stx) != nil || stx.Attributes&flags == 0
}

// mayChange judges a change of an inode's content or attributes.
func mayChange(op gate.Op, n *node) func() bool {
	switch op {
	case gate.OpIoctl: // which takes the flags away; the kernel has checked who may
		return nil
	case gate.OpTmpfile:
		return func() bool { return unflagged(n.fd, "", flagImmutable) }
	}
	return func() bool { return unflagged(n.fd, "", flagsFixed) }
}

// mayOpen judges an open for writing. An append-only file may be opened for appending.
func mayOpen(n *node, flags uint32) func() bool {
	return func() bool {
		if flags&unix.O_APPEND != 0 && flags&unix.O_TRUNC == 0 {
			return unflagged(n.fd, "", flagImmutable|flagVerity)
		}
		return unflagged(n.fd, "", flagsFixed|flagVerity)
	}
}

// maySetAttr judges a SETATTR that names an attribute. An append-only file may get new times.
func maySetAttr(in *fuse.SetAttrIn, n *node) func() bool {
	return func() bool {
		const others = fuse.FATTR_MODE | fuse.FATTR_UID | fuse.FATTR_GID | fuse.FATTR_SIZE
		now := in.Valid&(fuse.FATTR_ATIME|fuse.FATTR_ATIME_NOW) != fuse.FATTR_ATIME &&
			in.Valid&(fuse.FATTR_MTIME|fuse.FATTR_MTIME_NOW) != fuse.FATTR_MTIME
		switch {
		case in.Valid&others == 0 && now:
			return unflagged(n.fd, "", flagImmutable)
		case in.Valid&fuse.FATTR_SIZE != 0:
			return unflagged(n.fd, "", flagsFixed|flagVerity)
		}
		return unflagged(n.fd, "", flagsFixed)
	}
}

// mayEntry judges a change of the entry name in dir.
func mayEntry(op gate.Op, dir *node, name string) func() bool {
	if op == gate.OpUnlink || op == gate.OpRmdir {
		return func() bool { return mayTakeAway(dir, name) }
	}
	return func() bool { return unflagged(dir.fd, "", flagImmutable) }
}

func mayTakeAway(dir *node, name string) bool {
	return unflagged(dir.fd, "", flagsFixed) && unflagged(dir.fd, name, flagsFixed)
}

func mayRename(from *node, oldName string, to *node, newName string) func() bool {
	return func() bool {
		var st unix.Stat_t
		if unix.Fstatat(to.fd, newName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && !mayTakeAway(to, newName) {
			return false
		}
		return mayTakeAway(from, oldName) && unflagged(to.fd, "", flagImmutable)
	}
}

func mayLink(n, dir *node) func() bool {
	return func() bool { return unflagged(dir.fd, "", flagImmutable) && unflagged(n.fd, "", flagsFixed) }
}
