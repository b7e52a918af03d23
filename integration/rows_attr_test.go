package integration

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

type tb = testing.TB

func must(t tb, err error) {
	t.Helper()
	require.NoError(t, err)
}

// attrRows change modes, owners and times.
func attrRows() []row {
	file := withFiles("f")
	onRead := func(f func(fd int) error) func(*box) error {
		return func(b *box) error { return b.with("f", unix.O_RDONLY, 0, f) }
	}
	return []row{
		{name: "chmod", prepare: file, run: func(b *box) error { return unix.Chmod(b.at("f"), 0o4755) }},
		{name: "chmod of a directory", prepare: withDir("d"), run: func(b *box) error { return unix.Chmod(b.at("d"), 0o2770) }},
		{name: "fchmod of a read handle", prepare: file, run: onRead(func(fd int) error { return unix.Fchmod(fd, 0o600) })},
		{name: "fchmodat2 by O_PATH", prepare: file, run: func(b *box) error {
			return b.with("f", unix.O_PATH, 0, func(fd int) error { return unix.Fchmodat(fd, "", 0o600, unix.AT_EMPTY_PATH) })
		}},
		{name: "chown", prepare: file, run: func(b *box) error { return unix.Chown(b.at("f"), 1234, 5678) }},
		{name: "chown of a directory", prepare: withDir("d"), run: func(b *box) error { return unix.Chown(b.at("d"), 1234, -1) }},
		{name: "chown of a setuid file", prepare: prepareAll(file, func(t tb, dir string) {
			must(t, unix.Chmod(dir+"/f", 0o6755))
		}), run: func(b *box) error { return unix.Chown(b.at("f"), 1234, 5678) }},
		// Changes no owner, yet ctime, and takes the setuid bit away.
		{name: "chown to nobody", prepare: prepareAll(file, func(t tb, dir string) {
			must(t, unix.Chmod(dir+"/f", 0o6755))
		}), run: func(b *box) error { return unix.Chown(b.at("f"), -1, -1) }},
		{name: "lchown of a symlink", prepare: withLink("l", "f"), run: func(b *box) error { return unix.Lchown(b.at("l"), 1234, 5678) }},
		{name: "fchown of a read handle", prepare: file, run: onRead(func(fd int) error { return unix.Fchown(fd, -1, 5678) })},
		{name: "utimensat", prepare: file, times: []string{"f"}, run: func(b *box) error { return setTimes(b.at("f"), 0) }},
		{name: "utimensat now", prepare: file, run: func(b *box) error { return touch(b.at("f")) }},
		{name: "utimensat of a directory", prepare: withDir("d"), times: []string{"d"}, run: func(b *box) error { return setTimes(b.at("d"), 0) }},
		{name: "utimensat of a symlink", prepare: withLink("l", "f"), times: []string{"l"}, run: func(b *box) error {
			return setTimes(b.at("l"), unix.AT_SYMLINK_NOFOLLOW)
		}},
		{name: "futimens of a read handle", prepare: file, times: []string{"f"}, run: onRead(setTimesFD)},
	}
}

// rowTimes are access and modification time of the rows that set them, with
// nanoseconds, in the past, and different.
func rowTimes() []unix.Timespec {
	return []unix.Timespec{{Sec: 1_000_000_000, Nsec: 123_456_789}, {Sec: 1_100_000_000, Nsec: 987_654_321}}
}

func setTimes(path string, flags int) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, rowTimes(), flags)
}

func touch(path string) error {
	now := unix.Timespec{Nsec: unix.UTIME_NOW}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{now, now}, 0)
}

// setTimesFD is futimens: utimensat without a path, which the unix package
// does not offer.
func setTimesFD(fd int) error {
	ts := rowTimes()
	_, _, no := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(unsafe.SliceData(ts))), 0, 0, 0)
	if no != 0 {
		return no
	}
	return nil
}
