package integration

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// actorOps is what the stories can tell an actor to do. Stories that need more
// add to it in an init of their own.
var actorOps map[string]func(*stage, command) error

func init() {
	actorOps = map[string]func(*stage, command) error{
		"hello":  func(*stage, command) error { return nil },
		"umask":  func(s *stage, c command) error { unix.Umask(int(c.Mode)); return nil },
		"open":   opOpen,
		"close":  opClose,
		"write":  func(s *stage, c command) error { return s.count(unix.Write(s.fd(c.Handle), c.Data)) },
		"pwrite": func(s *stage, c command) error { return s.count(unix.Pwrite(s.fd(c.Handle), c.Data, c.Off)) },
		"fsync":  func(s *stage, c command) error { return unix.Fsync(s.fd(c.Handle)) },
		"writeout": func(s *stage, c command) error { // the pages go out, and the file system is not asked for an fsync
			return unix.SyncFileRange(s.fd(c.Handle), 0, 0,
				unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		},
		"ftruncate": func(s *stage, c command) error { return unix.Ftruncate(s.fd(c.Handle), c.Len) },
		"fallocate": func(s *stage, c command) error {
			return unix.Fallocate(s.fd(c.Handle), uint32(c.Flags), c.Off, c.Len)
		},
		"copyrange": func(s *stage, c command) error { // from Handle to Name, in one request
			from, to := int64(0), c.Off
			return s.count(unix.CopyFileRange(s.fd(c.Handle), &from, s.fd(c.Name), &to, int(c.Len), 0))
		},
		"readfile":  opReadFile,
		"writefile": opWriteFile,
		"mmap":      func(s *stage, c command) error { return s.mapShared(c.Name, c.Handle, int(c.Len)) },
		"store":     func(s *stage, c command) error { return s.storeAt(c.Name, c.Off, c.Data) },
		"msync":     func(s *stage, c command) error { return unix.Msync(s.maps[c.Name], unix.MS_SYNC) },
		"munmap":    func(s *stage, c command) error { return s.unmap(c.Name) },
		"truncate":  func(s *stage, c command) error { return unix.Truncate(c.Path, c.Len) },
		"mkdir":     func(s *stage, c command) error { return unix.Mkdir(c.Path, c.Mode) },
		"mkdirat":   func(s *stage, c command) error { return unix.Mkdirat(s.fd(c.Handle), c.Path, c.Mode) },
		"mknod":     func(s *stage, c command) error { return unix.Mknod(c.Path, c.Mode, int(c.Len)) },
		"symlink":   func(s *stage, c command) error { return unix.Symlink(c.To, c.Path) },
		"tmpfile":   opTmpfile,
		"link":      func(s *stage, c command) error { return unix.Link(c.Path, c.To) },
		"linkfd": func(s *stage, c command) error { // Path is a descriptor's name below /proc
			return unix.Linkat(unix.AT_FDCWD, c.Path, unix.AT_FDCWD, c.To, unix.AT_SYMLINK_FOLLOW)
		},
		"unlink": func(s *stage, c command) error { return unix.Unlink(c.Path) },
		"rmdir":  func(s *stage, c command) error { return unix.Rmdir(c.Path) },
		"rename": func(s *stage, c command) error {
			return unix.Renameat2(unix.AT_FDCWD, c.Path, unix.AT_FDCWD, c.To, uint(c.Flags))
		},
		"chmod":    func(s *stage, c command) error { return unix.Chmod(c.Path, c.Mode) },
		"chown":    func(s *stage, c command) error { return unix.Chown(c.Path, c.UID, c.GID) },
		"utimes":   func(s *stage, c command) error { return setTimes(c.Path, 0) },
		"setxattr": func(s *stage, c command) error { return unix.Setxattr(c.Path, c.Name, c.Data, c.Flags) },
		"readdir":  func(s *stage, c command) error { return s.listNames(c.Path) },
		"readlink": opReadlink,
	}
}

func opOpen(s *stage, c command) error { return s.keep(c.Handle, c.Path, c.Flags, c.Mode) }

func opClose(s *stage, c command) error {
	fd := s.fd(c.Handle)
	delete(s.fds, c.Handle)
	return unix.Close(fd)
}

func opReadFile(s *stage, c command) error {
	return s.with(c.Path, unix.O_RDONLY, 0, func(fd int) (err error) {
		s.data, err = readAll(fd)
		return err
	})
}

// opWriteFile is one whole attempt: open with the given flags, write, close.
func opWriteFile(s *stage, c command) error {
	return s.with(c.Path, c.Flags|unix.O_WRONLY, c.Mode, func(fd int) error {
		return s.count(unix.Write(fd, c.Data))
	})
}

// opTmpfile makes a nameless file in the directory Path and links it to To.
func opTmpfile(s *stage, c command) error {
	return s.with(c.Path, unix.O_TMPFILE|unix.O_RDWR, c.Mode, func(fd int) error {
		return linkFD(fd, c.To)
	})
}

func opReadlink(s *stage, c command) error {
	buf := make([]byte, 4096)
	n, err := unix.Readlink(c.Path, buf)
	s.data = buf[:max(n, 0)]
	return err
}

// linkFD gives a nameless open file a name, without a capability that
// AT_EMPTY_PATH would need.
func linkFD(fd int, to string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
}
