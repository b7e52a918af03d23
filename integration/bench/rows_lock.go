package main

import (
	"golang.org/x/sys/unix"
)

// lockPairs is how many locks are taken and given back in a run.
const lockPairs = 2000

// lockRows are what a file lock costs whom nobody is in the way of.
func lockRows() []row {
	return []row{
		{"flock and unlock", "pair", func(b *box) (job, error) {
			return lockJob(b, func(fd int, lock bool) error {
				if lock {
					return unix.Flock(fd, unix.LOCK_EX)
				}
				return unix.Flock(fd, unix.LOCK_UN)
			})
		}},
		{"fcntl lock and unlock", "pair", func(b *box) (job, error) {
			return lockJob(b, func(fd int, lock bool) error {
				l := unix.Flock_t{Type: unix.F_UNLCK, Start: 0, Len: 1}
				if lock {
					l.Type = unix.F_WRLCK
				}
				return unix.FcntlFlock(uintptr(fd), unix.F_SETLKW, &l)
			})
		}},
	}
}

func lockJob(b *box, do func(fd int, lock bool) error) (job, error) {
	run := func() (int, error) {
		fd, err := unix.Open(b.path("data"), unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		defer func() { _ = unix.Close(fd) }()
		for range lockPairs {
			for _, lock := range []bool{true, false} {
				if err := do(fd, lock); err != nil {
					return 0, err
				}
			}
		}
		return lockPairs, nil
	}
	return job{func() error { return nil }, run}, dataFile(b)
}
