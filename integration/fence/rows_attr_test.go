package fence

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// attrRows change modes, owners and times.
func attrRows() []row {
	file := harness.WithFiles("f")
	onRead := func(f func(fd int) error) func(*harness.Box) error {
		return func(b *harness.Box) error { return b.With("f", unix.O_RDONLY, 0, f) }
	}
	return []row{
		{name: "chmod", prepare: file, run: func(b *harness.Box) error { return unix.Chmod(b.At("f"), 0o4755) }},
		{name: "chmod of a directory", prepare: harness.WithDir("d"), run: func(b *harness.Box) error { return unix.Chmod(b.At("d"), 0o2770) }},
		{name: "fchmod of a read handle", prepare: file, run: onRead(func(fd int) error { return unix.Fchmod(fd, 0o600) })},
		{name: "fchmodat2 by O_PATH", prepare: file, run: func(b *harness.Box) error {
			return b.With("f", unix.O_PATH, 0, func(fd int) error { return unix.Fchmodat(fd, "", 0o600, unix.AT_EMPTY_PATH) })
		}},
		{name: "chown", prepare: file, run: func(b *harness.Box) error { return unix.Chown(b.At("f"), 1234, 5678) }},
		{name: "chown of a directory", prepare: harness.WithDir("d"), run: func(b *harness.Box) error { return unix.Chown(b.At("d"), 1234, -1) }},
		{name: "chown of a setuid file", prepare: harness.PrepareAll(file, func(t harness.TB, dir string) {
			harness.Must(t, unix.Chmod(dir+"/f", 0o6755))
		}), run: func(b *harness.Box) error { return unix.Chown(b.At("f"), 1234, 5678) }},
		// Changes no owner, yet ctime, and takes the setuid bit away.
		{name: "chown to nobody", prepare: harness.PrepareAll(file, func(t harness.TB, dir string) {
			harness.Must(t, unix.Chmod(dir+"/f", 0o6755))
		}), run: func(b *harness.Box) error { return unix.Chown(b.At("f"), -1, -1) }},
		{name: "lchown of a symlink", prepare: harness.WithLink("l", "f"), run: func(b *harness.Box) error { return unix.Lchown(b.At("l"), 1234, 5678) }},
		{name: "fchown of a read handle", prepare: file, run: onRead(func(fd int) error { return unix.Fchown(fd, -1, 5678) })},
		{name: "utimensat", prepare: file, times: []string{"f"}, run: func(b *harness.Box) error { return harness.SetTimes(b.At("f"), 0) }},
		{name: "utimensat now", prepare: file, run: func(b *harness.Box) error { return touch(b.At("f")) }},
		{name: "utimensat of a directory", prepare: harness.WithDir("d"), times: []string{"d"}, run: func(b *harness.Box) error { return harness.SetTimes(b.At("d"), 0) }},
		{name: "utimensat of a symlink", prepare: harness.WithLink("l", "f"), times: []string{"l"}, run: func(b *harness.Box) error {
			return harness.SetTimes(b.At("l"), unix.AT_SYMLINK_NOFOLLOW)
		}},
		{name: "futimens of a read handle", prepare: file, times: []string{"f"}, run: onRead(setTimesFD)},
	}
}

func touch(path string) error {
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{now, now}, 0)
}

// setTimesFD is futimens: utimensat without a path, which the unix package
// does not offer.
func setTimesFD(fd int) error {
	ts := harness.RowTimes()
	_, _, no := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(unsafe.SliceData(ts))), 0, 0, 0)
	if no != 0 {
		return no
	}
	return nil
}
