package fusefs

import "golang.org/x/sys/unix"

// A call that makes an inode, or changes its attributes, is answered by a FUSE store with the attributes that the inode has since. The
// kernel keeps them, but believes them for no time where the client of the store says so (CephFS): to ask for them then is one more
// request. Right after such a call of our own, on the very inode, what the kernel has is as new as the answer. What another host changes
// behind the answer is as if it had come after ours. Other kinds of shared file systems may only note that they have to ask.

// statNoSync is Fstat of an inode whose attributes the store has told in answer to the call before, where it is one that tells them.
func (f *rawFS) statNoSync(fd int, st *unix.Stat_t) error {
	if f.syncs {
		var x unix.Statx_t
		err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, unix.STATX_BASIC_STATS, &x)
		if err == nil && x.Mask&unix.STATX_BASIC_STATS == unix.STATX_BASIC_STATS {
			fromStatx(st, &x)
			return nil
		}
	}
	return fstat(fd, st)
}

func fromStatx(st *unix.Stat_t, x *unix.Statx_t) {
	*st = unix.Stat_t{
		Dev: unix.Mkdev(x.Dev_major, x.Dev_minor), Ino: x.Ino, Mode: uint32(x.Mode), Uid: x.Uid, Gid: x.Gid,
		Rdev: unix.Mkdev(x.Rdev_major, x.Rdev_minor), Size: int64(x.Size), Blocks: int64(x.Blocks),
		Atim: timespecOf(x.Atime), Mtim: timespecOf(x.Mtime), Ctim: timespecOf(x.Ctime),
	}
	set(&st.Nlink, x.Nlink)
	set(&st.Blksize, x.Blksize)
}

func timespecOf(t unix.StatxTimestamp) unix.Timespec {
	return unix.Timespec{Sec: t.Sec, Nsec: int64(t.Nsec)}
}

// set sets what has another size on other processors.
func set[T int32 | uint32 | int64 | uint64](to *T, n uint32) { *to = T(n) }
