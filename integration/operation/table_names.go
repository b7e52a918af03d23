package operation

import "golang.org/x/sys/unix"

// These make, move, remove and read names.
func init() {
	at := unix.AT_FDCWD
	add(map[string]operation{
		"mkdir":   {"path mode=0755", func(b *Box, c Command) error { return unix.Mkdir(b.At(c.Path), c.Mode) }},
		"mkdirat": {"handle path mode=0755", func(b *Box, c Command) error { return unix.Mkdirat(b.FD(c.Handle), c.Path, c.Mode) }},
		"rmdir":   {"path", func(b *Box, c Command) error { return unix.Rmdir(b.At(c.Path)) }},
		"unlink":  {"path", func(b *Box, c Command) error { return unix.Unlink(b.At(c.Path)) }},
		"symlink": {"to path", func(b *Box, c Command) error { return unix.Symlink(c.To, b.At(c.Path)) }},
		"link":    {"path to", func(b *Box, c Command) error { return unix.Link(b.At(c.Path), b.At(c.To)) }},
		"linkto": {"path to", func(b *Box, c Command) error {
			return unix.Linkat(at, b.At(c.Path), at, b.At(c.To), unix.AT_SYMLINK_FOLLOW)
		}},
		"linkfd": {"handle to", func(b *Box, c Command) error {
			return unix.Linkat(b.FD(c.Handle), "", at, b.At(c.To), unix.AT_EMPTY_PATH)
		}},
		"linkproc": {"handle to", func(b *Box, c Command) error { // without the capability that linkfd may need
			return unix.Linkat(at, procFD(b.FD(c.Handle)), at, b.At(c.To), unix.AT_SYMLINK_FOLLOW)
		}},
		"mkfifo": {"path mode=0644", func(b *Box, c Command) error { return unix.Mkfifo(b.At(c.Path), c.Mode) }},
		"mknod": {"path node mode major=0 minor=0", func(b *Box, c Command) error {
			return unix.Mknod(b.At(c.Path), c.Mode, int(c.Len))
		}},
		"bind":     {"path", bind},
		"rename":   {"path to rename=0", rename},
		"readdir":  {"path", func(b *Box, c Command) error { return b.listNames(c.Path) }},
		"readlink": {"path len=4096", readlink},
		"chdir":    {"path", func(b *Box, c Command) error { return unix.Chdir(b.At(c.Path)) }},
		"fchdir":   {"handle", func(b *Box, c Command) error { return unix.Fchdir(b.FD(c.Handle)) }},
		"getcwd": {"", func(b *Box, _ Command) (err error) {
			b.Data = make([]byte, unix.PathMax)
			n, err := unix.Getcwd(b.Data)
			b.Data = b.Data[:max(n-1, 0)] // it ends with a zero
			return err
		}},
	})
}

// rename is rename(2) where there are no flags.
func rename(b *Box, c Command) error {
	if c.Flags == 0 {
		return unix.Rename(b.At(c.Path), b.At(c.To))
	}
	return unix.Renameat2(unix.AT_FDCWD, b.At(c.Path), unix.AT_FDCWD, b.At(c.To), uint(c.Flags))
}

// bind goes by a descriptor of the box's directory, if there is one: an address has room for 107 bytes, and test
// directories are longer.
func bind(b *Box, c Command) error {
	sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(sock) //nolint:errcheck // nobody talks
	if b.dir == "" {
		return unix.Bind(sock, &unix.SockaddrUnix{Name: c.Path})
	}
	return b.With(".", unix.O_PATH|unix.O_DIRECTORY, 0, func(dir int) error {
		return unix.Bind(sock, &unix.SockaddrUnix{Name: procFD(dir) + "/" + c.Path})
	})
}

func readlink(b *Box, c Command) error {
	buf := make([]byte, c.Len)
	n, err := unix.Readlink(b.At(c.Path), buf)
	b.Data = buf[:max(n, 0)]
	return err
}
