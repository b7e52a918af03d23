package operation

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// How a lock is asked for: Mode of the command.
const (
	LockTry = iota
	LockWaits
	LockAsks
)

func init() { add(map[string]operation{"lock": {call: lock}}) }

// lock locks a kept file. Name is flock, posix or ofd, Flags F_RDLCK, F_WRLCK or
// F_UNLCK, and Off and Len the range.
func lock(b *Box, c Command) error {
	if c.Name == "flock" {
		how := map[int]int{unix.F_RDLCK: unix.LOCK_SH, unix.F_WRLCK: unix.LOCK_EX, unix.F_UNLCK: unix.LOCK_UN}[c.Flags]
		if c.Mode == LockTry {
			how |= unix.LOCK_NB
		}
		return Uninterrupted(func() error { return unix.Flock(b.FD(c.Handle), how) })
	}
	how := map[string][3]int{
		"posix": {unix.F_SETLK, unix.F_SETLKW, unix.F_GETLK},
		"ofd":   {unix.F_OFD_SETLK, unix.F_OFD_SETLKW, unix.F_OFD_GETLK},
	}[c.Name][c.Mode]
	l := unix.Flock_t{Type: int16(c.Flags), Start: c.Off, Len: c.Len}
	err := Uninterrupted(func() error { return unix.FcntlFlock(uintptr(b.FD(c.Handle)), how, &l) })
	if c.Mode == LockAsks && err == nil {
		b.Vals = append(b.Vals, int64(l.Type))
		if l.Type != unix.F_UNLCK {
			b.Vals = append(b.Vals, l.Start, l.Len)
		}
		b.Data = fmt.Append(nil, l.Pid)
	}
	return err
}

// Uninterrupted repeats a call that a signal has interrupted.
func Uninterrupted(call func() error) (err error) {
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = call()
	}
	return err
}
