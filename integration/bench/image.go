package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const imageSize = 8 << 30

// imageMedium is an ext4 of its own, in a file on the disk: like the one that users
// have, whatever the machine's is like. Without a journal, for one, ext4 searches past
// every file that was lately deleted, and that would be most of the time measured.
func imageMedium(work string) (medium, error) {
	dir, file := filepath.Join(work, "disk"), filepath.Join(work, "disk.img")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(file, nil, 0o600), os.Truncate(file, imageSize)); err != nil {
		return medium{}, err
	}
	if err := tool(work, "mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", file); err != nil {
		return medium{}, err
	}
	loop, err := attachLoop(file)
	if err != nil {
		return medium{}, err
	}
	end := func() error {
		return errors.Join(unmountBusy(dir), tool(work, "losetup", "-d", loop), os.Remove(dir), os.Remove(file))
	}
	if err := unix.Mount(loop, dir, "ext4", unix.MS_RELATIME, ""); err != nil {
		return medium{}, errors.Join(fmt.Errorf("mount %s: %w", loop, err), tool(work, "losetup", "-d", loop))
	}
	return medium{"ext4", dir, true, end}, nil
}

// attachLoop uses direct I/O: pages that the file below keeps would make cold reads warm.
func attachLoop(file string) (string, error) {
	out, err := exec.Command("losetup", "--direct-io=on", "--find", "--show", file).Output()
	if err != nil {
		return "", fmt.Errorf("losetup: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func unmountBusy(dir string) (err error) {
	for range 50 {
		if err = unix.Unmount(dir, 0); !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}

// warnJournal warns of a file system that is no good for comparisons.
func warnJournal(dir string) {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return
	}
	device, _ := os.Readlink(fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
	options, _ := os.ReadFile("/proc/fs/ext4/" + filepath.Base(device) + "/options")
	if strings.Contains(string(options), "nojournal") {
		fmt.Fprintf(os.Stderr, "bench: %s is on an ext4 without a journal, which creates slowly after deleting: better use --image\n", dir)
	}
}
