package fusefs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkNames refuses a repository on a file system that takes "Main" for "main". Worktrees are told
// apart by the bytes of their names. So a worktree could be reached and renamed by a name without a
// rule. The same is true of exempt paths and the names that these exclude.
func checkNames(o Options, root int) error {
	if !o.Layout.ByName() && !o.Exempt {
		return nil
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(root, &st); err != nil {
		return err
	}
	folds := false
	switch uint32(st.Type) {
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		folds = true
	}
	const caseFold = 0x40000000 // FS_CASEFOLD_FL, linux/fs.h
	if fd, err := unix.Openat(root, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
		folds = folds || err == nil && flags&caseFold != 0
		_ = unix.Close(fd)
	}
	if folds && o.Exempt {
		return fmt.Errorf("%s: %w: names there do not tell upper from lower case", o.Source, ErrExempt)
	}
	if folds {
		return fmt.Errorf("%s: names there do not tell upper from lower case, so worktrees cannot be guarded by their names; mount each worktree on its own", o.Source)
	}
	return nil
}
