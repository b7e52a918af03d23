package audit

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Failpoints stand between the package and the kernel, for a process that shall fail on purpose. nil changes nothing.
type Failpoints struct {
	Change func(op string, call func() error) error // a call that changes the chain
	Open   func(flags int, call func() error) error // an open of the chain, of its anchor, or of a directory on the way
}

// failpoints are written once, before anything is opened.
var failpoints Failpoints

// Inject puts failpoints into this process. lease.Inject does it, and nobody else.
func Inject(f Failpoints) { failpoints = f }

// retry repeats f while a signal interrupts it.
func retry(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// change is retry of a call that changes the chain.
func change(op string, call func() error) error {
	if failpoints.Change == nil {
		return retry(call)
	}
	return retry(func() error { return failpoints.Change(op, call) })
}

func openat(dirfd int, name string, flags int, mode uint32) (fd int, err error) {
	call := func() error {
		fd, err = unix.Openat(dirfd, name, flags, mode)
		return err
	}
	if failpoints.Open == nil {
		err = retry(call)
	} else {
		err = retry(func() error { return failpoints.Open(flags, call) })
	}
	return fd, err
}

// sameFile is whether both are one file.
func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }
