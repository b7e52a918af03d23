package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// RunLock counts the runs that use a mount (jvsfs run). It is a file beside the control sockets, named after the
// mount point. Each run has a shared lock on one byte of it. Whoever gets that byte alone knows that there is no
// run, and keeps new ones out while it unmounts. The kernel gives the locks back when a process ends, however it
// ends. The locks belong to the open file (F_OFD_SETLK), so a process may open it twice.
type RunLock struct{ f *os.File }

// RunByte is a byte of the file of a RunLock.
type RunByte int64

// The bytes of the file.
const (
	RunUses   RunByte = iota // shared: a run uses the mount; alone: it is taken away
	RunSetsUp                // alone: a run mounts, or makes a worktree
)

// OpenRunLock opens the file for a mount point, and makes it if there is none. Nobody but its owner can open it,
// so nobody else can keep a mount from going.
func OpenRunLock(dir, point string) (*RunLock, error) {
	if err := PrepareSocketDir(dir); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(point))
	path := filepath.Join(dir, "run-"+hex.EncodeToString(sum[:12])+".lock")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &RunLock{os.NewFile(uintptr(fd), path)}, nil
}

// Close gives the locks back. It accepts nil.
func (l *RunLock) Close() {
	if l != nil {
		CloseFile(l.f)
	}
}

// Share takes a byte together with others, or reports false.
func (l *RunLock) Share(b RunByte) (bool, error) { return l.try(b, unix.F_RDLCK) }

// Alone takes a byte for this opening of the file alone, or reports false.
func (l *RunLock) Alone(b RunByte) (bool, error) { return l.try(b, unix.F_WRLCK) }

// Drop gives a byte back.
func (l *RunLock) Drop(b RunByte) error {
	_, err := l.try(b, unix.F_UNLCK)
	return err
}

func (l *RunLock) try(b RunByte, kind int16) (bool, error) {
	err := unix.FcntlFlock(l.f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: int64(b), Len: 1})
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		return false, nil
	case err != nil:
		return false, &os.PathError{Op: "lock", Path: l.f.Name(), Err: err}
	}
	return true, nil
}

// runPause is between two tries for a lock. The kernel's own waiting could not be called off.
const runPause = 10 * time.Millisecond

// Await tries for a lock until it has it or ctx ends. It calls late, once, when it has waited for patience.
func (l *RunLock) Await(ctx context.Context, take func(RunByte) (bool, error), b RunByte, patience time.Duration, late func()) error {
	for began := time.Now(); ; {
		if ok, err := take(b); ok || err != nil {
			return err
		}
		if late != nil && time.Since(began) > patience {
			late()
			late = nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(runPause):
		}
	}
}

// Current reports whether the file still has its name. If not, it was removed by one who had it alone, and the
// locks on it keep nobody away.
func (l *RunLock) Current() bool { return isStillAt(l.f, l.f.Name()) }

// Remove removes the file. The caller has RunUses alone.
func (l *RunLock) Remove() error {
	if !l.Current() {
		return nil
	}
	return os.Remove(l.f.Name())
}
