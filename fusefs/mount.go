package fusefs

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// mountOptions are the properties of the file system that the kernel is told. The transport adds its own.
func mountOptions(locks bool) fuse.MountOptions {
	return fuse.MountOptions{
		Name:                     "jvsfs",
		EnableAcl:                true,
		EnableLocks:              locks,
		EnableSymlinkCaching:     true,
		ExplicitDataCacheControl: true,
		ExtraCapabilities: fuse.CAP_DONT_MASK | // the backing file system applies the umask, because it knows default ACLs
			fuse.CAP_HANDLE_KILLPRIV_V2 | // saves a round trip for each write
			fuse.CAP_SETXATTR_EXT |
			fuse.CAP_READDIRPLUS_AUTO | // with attributes only if the reader has used them
			fuse.CAP_DIRECT_IO_ALLOW_MMAP,
		// Passthrough writes the backing file without a request, and goes on after a revocation.
		// The write-back cache acknowledges writes that are refused later. ATOMIC_O_TRUNC would
		// hide a truncation in an OPEN for reading.
		DisabledCapabilities: fuse.CAP_PASSTHROUGH | fuse.CAP_WRITEBACK_CACHE |
			fuse.CAP_ATOMIC_O_TRUNC | fuse.CAP_NO_OPEN_SUPPORT,
	}
}

// cloneMount returns a descriptor (O_PATH) of dir in a private copy of its mount. What is mounted
// on or below dir later is not visible in it, and reads through it do not set access times.
func cloneMount(dir string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_NO_AUTOMOUNT)
	if err != nil {
		return -1, fmt.Errorf("take %s: %w", dir, explainMountErrno(err))
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOATIME, Attr_clr: unix.MOUNT_ATTR__ATIME, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("make a private copy of the mount of %s: %w", dir, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("%s is not a directory (%w)", dir, errors.Join(err, unix.ENOTDIR))
	}
	return fd, nil
}

func explainMountErrno(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w (mounting needs root, or CAP_SYS_ADMIN)", err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w (Linux 5.12 or later is needed)", err)
	}
	return err
}

// superblock is a file system that is not attached yet.
type superblock struct {
	context int // of fsopen
	mount   int // of fsmount, -1 before and once it is attached

	attached bool
}

// newSuperblock opens /dev/fuse and makes a FUSE superblock over it. dev is the descriptor that
// requests come from.
func newSuperblock(source string, root int) (dev int, sb *superblock, err error) {
	dev, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, nil, fmt.Errorf("open /dev/fuse: %w (modprobe fuse; in a container: --device /dev/fuse)", err)
	}
	sb = &superblock{mount: -1}
	if sb.context, err = unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC); err == nil {
		if err = sb.configure(source, root, dev); err == nil {
			return dev, sb, nil
		}
		err = fmt.Errorf("%w%s", err, contextLog(sb.context))
		_ = unix.Close(sb.context)
	}
	_ = unix.Close(dev)
	return -1, nil, fmt.Errorf("make a fuse file system: %w", explainMountErrno(err))
}

// maxSource is how many bytes fsconfig(2) takes for a string, without its end.
const maxSource = 255

func (sb *superblock) configure(source string, root, dev int) error {
	if len(source) > maxSource {
		return fmt.Errorf("the path of the source has %d bytes, and the kernel takes %d at most: bind it to a shorter one (mount --bind), and mount that", len(source), maxSource)
	}
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		return err
	}
	for _, o := range [][2]string{
		{"source", source}, {"subtype", "jvsfs"},
		{"fd", strconv.Itoa(dev)}, {"rootmode", strconv.FormatUint(uint64(st.Mode&unix.S_IFMT), 8)},
		{"user_id", "0"}, {"group_id", "0"}, {"max_read", strconv.Itoa(transport.MaxRead)},
	} {
		if err := unix.FsconfigSetString(sb.context, o[0], o[1]); err != nil {
			return fmt.Errorf("option %s: %w", o[0], err)
		}
	}
	for _, flag := range []string{"allow_other", "default_permissions"} {
		if err := unix.FsconfigSetFlag(sb.context, flag); err != nil {
			return fmt.Errorf("option %s: %w", flag, err)
		}
	}
	return unix.FsconfigCreate(sb.context)
}

// contextLog returns what the kernel wrote about a failed fsconfig.
func contextLog(context int) string {
	buf := make([]byte, 1024)
	n, err := unix.Read(context, buf)
	if err != nil || n <= 2 {
		return ""
	}
	return " (" + strings.TrimSpace(string(buf[2:n])) + ")"
}

// make turns the configuration into a mount that is not attached yet. It has attrs and the flags of
// the source's own mount. make returns its device number.
func (sb *superblock) make(root, attrs int) (major, minor uint32, err error) {
	sb.mount, err = unix.Fsmount(sb.context, unix.FSMOUNT_CLOEXEC, mountAttrs(root)|attrs)
	if err != nil {
		return 0, 0, fmt.Errorf("fsmount: %w", err)
	}
	return deviceOf(sb.mount)
}

// attach attaches the mount to the mount point.
func (sb *superblock) attach(source, mountpoint string, root int) error {
	target, err := unix.Open(mountpoint, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("mount point %s: %w", mountpoint, err)
	}
	defer func() { _ = unix.Close(target) }()
	if err = sameAsSource(target, root, source, mountpoint); err != nil {
		return err
	}
	if err := sb.move(target, 0); err != nil {
		return fmt.Errorf("mount at %s: %w", mountpoint, err)
	}
	return nil
}

// move attaches the mount to the directory target, or elsewhere as flags say.
func (sb *superblock) move(target, flags int) error {
	err := unix.MoveMount(sb.mount, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH|flags)
	if err != nil {
		return err
	}
	sb.attached = true
	sb.release()
	return nil
}

// openControl returns a mount of the fuse control file system that is not attached: not every
// machine mounts it at /sys/fs/fuse/connections.
func openControl() (int, error) {
	context, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if errors.Is(err, unix.EPERM) && unprivileged() { // a user has the connections of his own there
		return unix.Open("/sys/fs/fuse/connections", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(context) }()
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, err
	}
	return unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
}

func deviceOf(fd int) (major, minor uint32, err error) {
	var stx unix.Statx_t
	err = unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_STATX_DONT_SYNC, 0, &stx)
	if err != nil {
		err = fmt.Errorf("device number of the mount: %w", err)
	}
	return stx.Dev_major, stx.Dev_minor, err
}

// sameAsSource makes sure that an in-place mount covers the directory that was opened, and not one
// that has replaced it since.
func sameAsSource(target, root int, source, mountpoint string) error {
	if source != mountpoint {
		return nil
	}
	var a, b unix.Stat_t
	if err := errors.Join(unix.Fstat(target, &a), unix.Fstat(root, &b)); err != nil {
		return err
	}
	if tree.KeyOf(&a) != tree.KeyOf(&b) {
		return fmt.Errorf("%s was replaced while it was being mounted", source)
	}
	return nil
}

// release closes the descriptors. While they are open the mount is busy and the superblock stays.
func (sb *superblock) release() {
	for _, fd := range []*int{&sb.mount, &sb.context} {
		if *fd >= 0 {
			_ = unix.Close(*fd)
			*fd = -1
		}
	}
}

// mountAttrs are the restrictions of the source's mount: a passthrough must not honour setuid bits
// or devices that the source does not honour.
func mountAttrs(root int) int {
	var st unix.Statfs_t
	if unix.Fstatfs(root, &st) != nil {
		return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	}
	attrs := 0
	for flag, attr := range map[int64]int{
		unix.ST_NOSUID: unix.MOUNT_ATTR_NOSUID, unix.ST_NODEV: unix.MOUNT_ATTR_NODEV,
		unix.ST_NOEXEC: unix.MOUNT_ATTR_NOEXEC, unix.ST_RDONLY: unix.MOUNT_ATTR_RDONLY,
	} {
		if st.Flags&flag != 0 {
			attrs |= attr
		}
	}
	return attrs
}

// readUint reads a number from a file of /proc, or returns the fallback.
func readUint(path string, fallback uint64) uint64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return fallback
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		return fallback
	}
	return n
}
