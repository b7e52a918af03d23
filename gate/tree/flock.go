package tree

import (
	"time"

	"golang.org/x/sys/unix"
)

// Flock is flock(2) that gives up after d, or when off is closed. It polls: a thread that waits in flock(2) cannot be called off.
func Flock(fd, how int, d time.Duration, off <-chan struct{}) bool {
	end := time.Now().Add(d)
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		switch err := unix.Flock(fd, how|unix.LOCK_NB); {
		case err == nil:
			return true
		case err != unix.EWOULDBLOCK && err != unix.EINTR, time.Now().After(end):
			return false
		}
		select {
		case <-time.After(pause):
		case <-off:
			return false
		}
	}
}
