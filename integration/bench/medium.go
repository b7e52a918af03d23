package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// medium is where the directories of all targets lie.
type medium struct {
	name string
	dir  string
	disk bool
	end  func() error
}

func diskMedium(work string) (medium, error) {
	warnJournal(work)
	dir := filepath.Join(work, "disk")
	return medium{fsName(work), dir, true, func() error { return os.RemoveAll(dir) }}, os.Mkdir(dir, 0o755)
}

// tmpfsMedium is a tmpfs of its own: the machine's may be small or full.
func tmpfsMedium(work string) (medium, error) {
	dir := filepath.Join(work, "tmpfs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return medium{}, err
	}
	if err := unix.Mount("jvsfs-bench", dir, "tmpfs", 0, "size=4g"); err != nil {
		return medium{}, fmt.Errorf("mount a tmpfs: %w", err)
	}
	end := func() error { return errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)) }
	return medium{"tmpfs", dir, false, end}, nil
}

var fsNames = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay", unix.F2FS_SUPER_MAGIC: "f2fs",
}

func fsName(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return "disk"
	}
	if name, ok := fsNames[st.Type]; ok {
		return name
	}
	return fmt.Sprintf("file system %#x", st.Type)
}
