package harness

import "golang.org/x/sys/unix"

// RowTimes are access and modification time of the rows that set them, with
// nanoseconds, in the past, and different.
func RowTimes() []unix.Timespec {
	return []unix.Timespec{{Sec: 1_000_000_000, Nsec: 123_456_789}, {Sec: 1_100_000_000, Nsec: 987_654_321}}
}

// SetTimes sets both times of a name to values of its own.
func SetTimes(path string, flags int) error {
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, RowTimes(), flags)
}
