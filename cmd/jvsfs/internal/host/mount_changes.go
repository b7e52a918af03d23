package host

import (
	"context"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// MountChanges tells when the mount table of this process changes. Whoever waits sleeps until then: the kernel wakes a poll of
// /proc/self/mountinfo with POLLPRI (mounts_poll, fs/proc_namespace.c). It is for one goroutine.
type MountChanges struct {
	table int
	ended int // an eventfd
}

// WatchMounts begins to watch. What changes from now on is told.
func WatchMounts() (*MountChanges, error) {
	table, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/proc/self/mountinfo", Err: err}
	}
	ended, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("eventfd", err), unix.Close(table))
	}
	return &MountChanges{table, ended}, nil
}

// Wait returns nil when the table has changed since the last Wait or WatchMounts, and the error of ctx when that ends. It keeps a
// thread meanwhile.
func (c *MountChanges) Wait(ctx context.Context) error {
	var told sync.WaitGroup
	told.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer told.Done()
		_, _ = unix.Write(c.ended, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only after 2^64 of them
	})
	defer func() {
		if !stop() {
			told.Wait() // it must not write to what is closed next
		}
	}()
	fds := []unix.PollFd{{Fd: int32(c.table), Events: unix.POLLPRI}, {Fd: int32(c.ended), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return os.NewSyscallError("poll", err)
		case fds[0].Revents != 0:
			return nil
		}
	}
}

// Close ends the watch. Nobody may wait.
func (c *MountChanges) Close() error { return errors.Join(unix.Close(c.table), unix.Close(c.ended)) }
