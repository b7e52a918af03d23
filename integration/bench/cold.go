package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// settle waits for what earlier work left to the disk: writeback of one target must
// not run into the time of the next.
func (b *box) settle() error {
	if !b.Disk {
		return nil
	}
	fd, err := unix.Open(b.Backing, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Syncfs(fd)
}

// chill empties the caches between the client and the store below name: of the FUSE
// mount names, attributes and pages, and of a disk's file system its pages.
func (b *box) chill(name string) error {
	if err := b.settle(); err != nil {
		return err
	}
	if b.mounted() {
		if err := forgetMount(b.Dir); err != nil {
			return err
		}
	}
	if b.Disk {
		return dropPages(filepath.Join(b.Backing, name))
	}
	return nil
}

// forgetMount makes the kernel drop what it caches of one mount: a remount throws
// away every name that is not in use, and FUSE keeps no inode without one.
func forgetMount(dir string) error {
	if err := unix.Mount("none", dir, "", unix.MS_REMOUNT, ""); err != nil {
		return fmt.Errorf("remount %s: %w", dir, err)
	}
	time.Sleep(100 * time.Millisecond) // the daemon is told to forget each; not in our time
	return nil
}

// dropPages prefers the system's switch, which also drops the names and inodes of the
// backing file system. Containers may not use it: then only the pages go.
func dropPages(root string) error {
	if os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0) == nil {
		return nil
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return dropFile(path)
	})
}

func dropFile(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED), unix.Close(fd))
}
