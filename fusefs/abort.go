package fusefs

import (
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/transport"
)

// The kernel's control file system names a connection by its device number. It gives that number to the next
// mount, of whatever FUSE program, as soon as this one is gone. So the abort file is opened while the mount is
// known to be there, and kept: an open one belongs to its connection for good, and does nothing after its end.

// holdAbort opens the abort file of the mount that has just been made.
func (s *Server) holdAbort() {
	abort, err := openAbort(s.minor)
	if err != nil && !s.opts.ByUser {
		s.opts.Log.Warn("this mount cannot be aborted by its own daemon", zap.Error(err))
	}
	s.abort = abort
}

func (s *Server) dropAbort() error {
	if s.abort == nil {
		return nil
	}
	return s.abort.Close()
}

// Abort fails every request, now and later, with ECONNABORTED and ENOTCONN. The dead mount stays
// where it is, so the path fails closed. Once the mount is gone Abort does nothing.
func (s *Server) Abort() error {
	if s.abort == nil && s.opts.ByUser {
		s.Abandon()
		return nil
	}
	if s.abort == nil {
		return errNoAbort
	}
	_, err := s.abort.Write([]byte("1"))
	return err
}

var errNoAbort = errors.New("the fuse control file system could not be opened when the mount was made")

// abortRings says how to end the connection if a ring fails.
func (s *Server) abortRings() error {
	if s.transport.State().Name != string(transport.WayURing) {
		return nil
	}
	if s.abort == nil {
		return fmt.Errorf("%w: %w", transport.ErrNoRing, errNoAbort)
	}
	s.transport.AbortBy(s.Abort, unix.Mkdev(s.major, s.minor))
	return nil
}

// OpenAbort returns a descriptor of the kernel's abort file. Whoever has it can end the connection by a
// write to it.
func (s *Server) OpenAbort() (*os.File, error) {
	if s.abort == nil {
		return nil, errNoAbort
	}
	fd, err := unix.FcntlInt(s.abort.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("abort file: %w", err)
	}
	return os.NewFile(uintptr(fd), "abort"), nil
}

func openAbort(minor uint32) (*os.File, error) {
	ctl, err := openControl()
	if err != nil {
		return nil, fmt.Errorf("fuse control file system: %w", err)
	}
	defer func() { _ = unix.Close(ctl) }()
	fd, err := unix.Openat(ctl, fmt.Sprintf("%d/abort", minor), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("abort file of connection %d: %w", minor, err)
	}
	return os.NewFile(uintptr(fd), "abort"), nil
}

// ErrNotFUSE says that a directory is on no FUSE file system, so there is no connection to end.
var ErrNotFUSE = errors.New("it is not on a FUSE file system")

// OpenStoreAbort opens the abort file of the FUSE file system that a directory is on: of the store below a mount, while that is known
// to be there. A write to it fails each request of this host to the store, now and later.
func OpenStoreAbort(dir int) (*os.File, error) {
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(dir, &st) }); err != nil {
		return nil, fmt.Errorf("file system of the store: %w", err)
	}
	if st.Type != unix.FUSE_SUPER_MAGIC {
		return nil, ErrNotFUSE
	}
	major, minor, err := deviceOf(dir)
	if err != nil {
		return nil, err
	}
	return openAbort(major<<20 | minor)
}

// Connected tells whether the kernel has a connection for a device number. It has one while the
// mount exists, dead or not: in any namespace, or only through a descriptor.
func Connected(major, minor uint32) (bool, error) {
	ctl, err := openControl()
	if err != nil {
		return false, fmt.Errorf("fuse control file system: %w", err)
	}
	defer func() { _ = unix.Close(ctl) }()
	var st unix.Stat_t
	err = unix.Fstatat(ctl, fmt.Sprint(major<<20|minor), &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	return err == nil, err
}
