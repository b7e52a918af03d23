package operation

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// These change and read modes, owners, times and sizes.
func init() {
	add(map[string]operation{
		"chmod":  {"path mode", func(b *Box, c Command) error { return unix.Chmod(b.At(c.Path), c.Mode) }},
		"fchmod": {"handle mode", func(b *Box, c Command) error { return unix.Fchmod(b.FD(c.Handle), c.Mode) }},
		"lchmod": {"path mode", func(b *Box, c Command) error { // fchmodat2, which the C library has as lchmod
			return unix.Fchmodat(unix.AT_FDCWD, b.At(c.Path), c.Mode, unix.AT_SYMLINK_NOFOLLOW)
		}},
		"pathchmod": {"handle mode", func(b *Box, c Command) error { // of a handle O_PATH
			return unix.Fchmodat(b.FD(c.Handle), "", c.Mode, unix.AT_EMPTY_PATH)
		}},
		"chown":  {"path uid gid", func(b *Box, c Command) error { return unix.Chown(b.At(c.Path), c.UID, c.GID) }},
		"lchown": {"path uid gid", func(b *Box, c Command) error { return unix.Lchown(b.At(c.Path), c.UID, c.GID) }},
		"fchown": {"handle uid gid", func(b *Box, c Command) error { return unix.Fchown(b.FD(c.Handle), c.UID, c.GID) }},
		"access": {"path access", func(b *Box, c Command) error { return unix.Access(b.At(c.Path), uint32(c.Flags)) }},
		"eaccess": {"path access", func(b *Box, c Command) error {
			return unix.Faccessat2(unix.AT_FDCWD, b.At(c.Path), uint32(c.Flags), unix.AT_EACCESS)
		}},
		"utimens": {"path time time", func(b *Box, c Command) error { return unix.UtimesNanoAt(unix.AT_FDCWD, b.At(c.Path), times(c), 0) }},
		"lutimens": {"path time time", func(b *Box, c Command) error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, b.At(c.Path), times(c), unix.AT_SYMLINK_NOFOLLOW)
		}},
		"futimens": {"handle time time", futimens},
		"stat":     {"path", func(b *Box, c Command) error { var st unix.Stat_t; return b.stated(&st, unix.Stat(b.At(c.Path), &st)) }},
		"lstat":    {"path", func(b *Box, c Command) error { var st unix.Stat_t; return b.stated(&st, unix.Lstat(b.At(c.Path), &st)) }},
		"fstat": {"handle", func(b *Box, c Command) error {
			var st unix.Stat_t
			return b.stated(&st, unix.Fstat(b.FD(c.Handle), &st))
		}},
		"statfs": {"path", func(b *Box, c Command) error { var st unix.Statfs_t; return unix.Statfs(b.At(c.Path), &st) }},
	})
}

// times are those of the command. Where it has none they are in the past, with nanoseconds, and different.
func times(c Command) []unix.Timespec {
	if c.Times != nil {
		return c.Times
	}
	return []unix.Timespec{{Sec: 1_000_000_000, Nsec: 123_456_789}, {Sec: 1_100_000_000, Nsec: 987_654_321}}
}

// futimens is utimensat without a path, which the unix package does not offer.
func futimens(b *Box, c Command) error {
	ts := unsafe.Pointer(unsafe.SliceData(times(c)))
	if _, _, no := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(b.FD(c.Handle)), 0, uintptr(ts), 0, 0, 0); no != 0 {
		return no
	}
	return nil
}

// stated notes what does not differ between a mount and its backing directory.
func (b *Box) stated(st *unix.Stat_t, err error) error {
	if err == nil {
		b.Vals = []int64{int64(st.Mode), int64(st.Uid), int64(st.Gid), int64(st.Nlink), st.Size}
	}
	return err
}
