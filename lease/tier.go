package lease

import "golang.org/x/sys/unix"

// tier says what flock on the lock directory proves (rule 6).
type tier int

const (
	tierRemote tier = iota // other kernels may write: flock proves nothing that all writers share
	tierA                  // a file system of this kernel alone
)

// bcachefsMagic is not in x/sys/unix; the others that it lacks are listed by number with their name (linux/magic.h).
const (
	bcachefsMagic = 0xca451a4e
	zfsMagic      = 0x2fc12fc1
	f2fsMagic     = 0xf2f52010
	jfsMagic      = 0x3153464a
	nilfsMagic    = 0x3434
	ramfsMagic    = 0x858458f6
)

// tierOf takes every file system that it does not know for one that other kernels may write.
func tierOf(fd int) tier {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return tierRemote
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.REISERFS_SUPER_MAGIC, bcachefsMagic, zfsMagic, f2fsMagic, jfsMagic, nilfsMagic, ramfsMagic:
		return tierA
	}
	return tierRemote
}

// SharedStore reports whether other kernels may write the file system behind a descriptor too, or may for all that is known:
// there the gate alone does not keep late writes away (rule 10).
func SharedStore(fd int) bool { return tierOf(fd) != tierA }
