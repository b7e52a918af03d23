package harness

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// ActorOps is what the stories can tell an actor to do. Stories that need more
// add to it in an init of their own.
var ActorOps map[string]func(*Stage, Command) error

func init() {
	ActorOps = map[string]func(*Stage, Command) error{
		"hello":  func(*Stage, Command) error { return nil },
		"umask":  func(s *Stage, c Command) error { unix.Umask(int(c.Mode)); return nil },
		"open":   opOpen,
		"close":  opClose,
		"write":  func(s *Stage, c Command) error { return s.Count(unix.Write(s.FD(c.Handle), c.Data)) },
		"pwrite": func(s *Stage, c Command) error { return s.Count(unix.Pwrite(s.FD(c.Handle), c.Data, c.Off)) },
		"fsync":  func(s *Stage, c Command) error { return unix.Fsync(s.FD(c.Handle)) },
		"writeout": func(s *Stage, c Command) error { // the pages go out, and the file system is not asked for an fsync
			return unix.SyncFileRange(s.FD(c.Handle), 0, 0,
				unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		},
		"ftruncate": func(s *Stage, c Command) error { return unix.Ftruncate(s.FD(c.Handle), c.Len) },
		"fallocate": func(s *Stage, c Command) error {
			return unix.Fallocate(s.FD(c.Handle), uint32(c.Flags), c.Off, c.Len)
		},
		"copyrange": func(s *Stage, c Command) error { // from Handle to Name, in one request
			from, to := int64(0), c.Off
			return s.Count(unix.CopyFileRange(s.FD(c.Handle), &from, s.FD(c.Name), &to, int(c.Len), 0))
		},
		"readfile":  opReadFile,
		"writefile": opWriteFile,
		"mmap":      func(s *Stage, c Command) error { return s.MapShared(c.Name, c.Handle, int(c.Len)) },
		"store":     func(s *Stage, c Command) error { return s.storeAt(c.Name, c.Off, c.Data) },
		"msync":     func(s *Stage, c Command) error { return unix.Msync(s.Maps[c.Name], unix.MS_SYNC) },
		"munmap":    func(s *Stage, c Command) error { return s.Unmap(c.Name) },
		"truncate":  func(s *Stage, c Command) error { return unix.Truncate(c.Path, c.Len) },
		"mkdir":     func(s *Stage, c Command) error { return unix.Mkdir(c.Path, c.Mode) },
		"mkdirat":   func(s *Stage, c Command) error { return unix.Mkdirat(s.FD(c.Handle), c.Path, c.Mode) },
		"mknod":     func(s *Stage, c Command) error { return unix.Mknod(c.Path, c.Mode, int(c.Len)) },
		"symlink":   func(s *Stage, c Command) error { return unix.Symlink(c.To, c.Path) },
		"tmpfile":   opTmpfile,
		"link":      func(s *Stage, c Command) error { return unix.Link(c.Path, c.To) },
		"linkfd": func(s *Stage, c Command) error { // Path is a descriptor's name below /proc
			return unix.Linkat(unix.AT_FDCWD, c.Path, unix.AT_FDCWD, c.To, unix.AT_SYMLINK_FOLLOW)
		},
		"unlink": func(s *Stage, c Command) error { return unix.Unlink(c.Path) },
		"rmdir":  func(s *Stage, c Command) error { return unix.Rmdir(c.Path) },
		"rename": func(s *Stage, c Command) error {
			return unix.Renameat2(unix.AT_FDCWD, c.Path, unix.AT_FDCWD, c.To, uint(c.Flags))
		},
		"chmod":    func(s *Stage, c Command) error { return unix.Chmod(c.Path, c.Mode) },
		"chown":    func(s *Stage, c Command) error { return unix.Chown(c.Path, c.UID, c.GID) },
		"utimes":   func(s *Stage, c Command) error { return SetTimes(c.Path, 0) },
		"setxattr": func(s *Stage, c Command) error { return unix.Setxattr(c.Path, c.Name, c.Data, c.Flags) },
		"readdir":  func(s *Stage, c Command) error { return s.ListNames(c.Path) },
		"readlink": opReadlink,
	}
}

func opOpen(s *Stage, c Command) error { return s.Keep(c.Handle, c.Path, c.Flags, c.Mode) }

func opClose(s *Stage, c Command) error {
	fd := s.FD(c.Handle)
	delete(s.fds, c.Handle)
	return unix.Close(fd)
}

func opReadFile(s *Stage, c Command) error {
	return s.With(c.Path, unix.O_RDONLY, 0, func(fd int) (err error) {
		s.Data, err = ReadAll(fd)
		return err
	})
}

// opWriteFile is one whole attempt: open with the given flags, write, close.
func opWriteFile(s *Stage, c Command) error {
	return s.With(c.Path, c.Flags|unix.O_WRONLY, c.Mode, func(fd int) error {
		return s.Count(unix.Write(fd, c.Data))
	})
}

// opTmpfile makes a nameless file in the directory Path and links it to To.
func opTmpfile(s *Stage, c Command) error {
	return s.With(c.Path, unix.O_TMPFILE|unix.O_RDWR, c.Mode, func(fd int) error {
		return LinkFD(fd, c.To)
	})
}

func opReadlink(s *Stage, c Command) error {
	buf := make([]byte, 4096)
	n, err := unix.Readlink(c.Path, buf)
	s.Data = buf[:max(n, 0)]
	return err
}

// LinkFD gives a nameless open file a name, without a capability that
// AT_EMPTY_PATH would need.
func LinkFD(fd int, to string) error {
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, to, unix.AT_SYMLINK_FOLLOW)
}
