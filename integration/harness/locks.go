package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/operation"
)

// Locker is somebody who locks one file by one way to it.
type Locker struct {
	*Actor
	Path, Handle, How string
}

// NewLocker opens a file that the actor then locks: how is flock, posix or ofd.
func (a *Actor) NewLocker(path, how string) Locker {
	a.T.Helper()
	l := Locker{a, path, filepath.Base(path) + how, how}
	a.OK(Command{Op: "open", Handle: l.Handle, Path: path, Flags: unix.O_RDWR | unix.O_CREAT, Mode: 0o666})
	return l
}

// Command asks for the lock.
func (l Locker) Command(kind int, off, length int64) Command {
	return Command{Op: "lock", Handle: l.Handle, Name: l.How, Flags: kind, Off: off, Len: length}
}

// Try asks for a lock once; kind is F_RDLCK, F_WRLCK or F_UNLCK. It returns the errno, "" if it was had.
func (l Locker) Try(kind int, off, length int64) string {
	return l.Do(l.Command(kind, off, length)).Errno
}

// Waits asks for a lock and waits for it in the background.
func (l Locker) Waits(kind int, off, length int64) <-chan Reply {
	c, got := l.Command(kind, off, length), make(chan Reply, 1)
	c.Mode = operation.LockWaits
	go func() {
		r, err := l.Actor.Try(c)
		if err != nil {
			r = Reply{Errno: "gone", Note: err.Error()}
		}
		got <- r
	}()
	return got
}

// Asleep waits until the actor sleeps in the kernel, in its call for a lock.
func (l Locker) Asleep() {
	l.T.Helper()
	call := unix.SYS_FCNTL
	if l.How == "flock" {
		call = unix.SYS_FLOCK
	}
	Eventually(l.T, l.Name+" waits for the lock", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", l.PID()))
		for _, file := range threads {
			text, _ := os.ReadFile(file)
			if strings.HasPrefix(string(text), fmt.Sprintf("%d ", call)) {
				return true
			}
		}
		return false
	})
}

// Close closes the handle, and so ends its locks.
func (l Locker) Close() { l.OK(Command{Op: "close", Handle: l.Handle}) }
