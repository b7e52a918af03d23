package socket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// Listen makes a unix socket with a mode. The umask cannot do that: it belongs to the whole process, and
// is zero in a daemon. So the socket is made in a private directory, gets its mode there, and is then moved to
// its place. An existing file is replaced only if it is a socket of ours on which nobody answers.
func Listen(path string, mode os.FileMode) (net.Listener, error) {
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".jvsfs-") // mode 0700
	if err != nil {
		return nil, err
	}
	defer os.Remove(dir) //nolint:errcheck // it stays only if somebody put something there
	fd, err := openPrivate(dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written to it
	s, err := bindIn(fd, mode)
	if err != nil {
		return nil, err
	}
	s.path = path
	if err := unix.Renameat2(fd, bornSocket, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE); err != nil {
		return nil, errors.Join(&os.PathError{Op: "rename", Path: path, Err: err}, unix.Unlinkat(fd, bornSocket, 0), s.UnixListener.Close())
	}
	return s, nil
}

// ListenInstead makes a socket in the place of whatever is there. It is for a directory in which nobody else can make names.
func ListenInstead(path string, mode os.FileMode) (*Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // by name: another one may be there by then
	s := &Listener{UnixListener: l, path: path}
	err = os.Chmod(path, mode)
	if err == nil {
		err = unix.Lstat(path, &s.made)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(path), l.Close())
	}
	return s, nil
}

// openPrivate opens a directory that was just made. A user who may write to its parent can have put another one
// in its place, so its owner and mode are checked. Nobody else can write to this one.
func openPrivate(dir string) (int, error) {
	fd, err := host.OpenDirectory(unix.AT_FDCWD, dir)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && (int(st.Uid) != os.Geteuid() || st.Mode&0o777 != 0o700) {
		err = errors.New("somebody has put another directory into the place of ours")
	}
	if err != nil {
		return -1, errors.Join(&os.PathError{Op: "open", Path: dir, Err: err}, unix.Close(fd))
	}
	return fd, nil
}

// bornSocket is the name of a socket before it is at its place.
const bornSocket = "s"

// bindIn makes a socket with a mode in a private directory. It works by the descriptor: the path may lead
// through directories of other users, and a name must fit into 107 bytes (unix(7)).
func bindIn(fd int, mode os.FileMode) (*Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", fd, bornSocket), Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	s := &Listener{UnixListener: l}
	err = unix.Fchmodat(fd, bornSocket, uint32(mode.Perm()), 0) // nobody else can have replaced it by a link
	if err == nil {
		err = unix.Fstatat(fd, bornSocket, &s.made, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), unix.Unlinkat(fd, bornSocket, 0), l.Close())
	}
	return s, nil
}

// clearSocket removes the socket that a killed daemon has left at path.
func clearSocket(path string) error {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil
	case err != nil:
		return &os.PathError{Op: "stat", Path: path, Err: err}
	case st.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return fmt.Errorf("%s is there already and is no socket", path)
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s is there already and belongs to user %d", path, st.Uid)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return errors.Join(fmt.Errorf("%s is in use: somebody answers there", path), conn.Close())
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("%s is there already: %w", path, err)
	}
	return os.Remove(path)
}

// Listener removes its socket when it is closed, unless another one is in its place.
type Listener struct {
	*net.UnixListener
	path string
	made unix.Stat_t
}

// Close is net.Listener's.
func (l *Listener) Close() error {
	var st unix.Stat_t
	if unix.Lstat(l.path, &st) == nil && st.Dev == l.made.Dev && st.Ino == l.made.Ino {
		_ = os.Remove(l.path) // it may be gone since
	}
	return l.UnixListener.Close()
}

// Addr is net.Listener's: where the socket is, not where it was made.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }
