package operation

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// These open and close, and do what needs a file for a moment only.
func init() {
	add(map[string]operation{
		"hello": {"", func(b *Box, _ Command) error { return b.count(os.Getpid(), nil) }},
		"umask": {"mode", func(_ *Box, c Command) error { unix.Umask(int(c.Mode)); return nil }},
		"open": {"path open mode=0644 keep", func(b *Box, c Command) error {
			fd, err := unix.Open(b.At(c.Path), c.Flags|unix.O_CLOEXEC, c.Mode)
			return b.keep(c.Handle, fd, err)
		}},
		"creat": {"path mode=0640 keep", func(b *Box, c Command) error {
			fd, err := unix.Creat(b.At(c.Path), c.Mode)
			return b.keep(c.Handle, fd, err)
		}},
		"create": {"path mode=0644", func(b *Box, c Command) error { // a new file
			return b.With(c.Path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, c.Mode, func(int) error { return nil })
		}},
		"openat": {"handle path open mode=0644 keepas", func(b *Box, c Command) error {
			fd, err := unix.Openat(b.FD(c.Handle), c.Path, c.Flags|unix.O_CLOEXEC, c.Mode)
			return b.keep(c.Name, fd, err)
		}},
		"openat2": {"path open mode=0 keep", func(b *Box, c Command) error {
			how := unix.OpenHow{Flags: uint64(c.Flags) | unix.O_CLOEXEC, Mode: uint64(c.Mode), Resolve: unix.RESOLVE_NO_SYMLINKS}
			fd, err := unix.Openat2(unix.AT_FDCWD, b.At(c.Path), &how)
			return b.keep(c.Handle, fd, err)
		}},
		"reopen": {"handle open keepas", func(b *Box, c Command) error { // without a walk through the tree
			fd, err := unix.Open(procFD(b.FD(c.Handle)), c.Flags|unix.O_CLOEXEC, 0)
			return b.keep(c.Name, fd, err)
		}},
		"dup": {"handle keepas", func(b *Box, c Command) error {
			fd, err := unix.FcntlInt(uintptr(b.FD(c.Handle)), unix.F_DUPFD_CLOEXEC, 0)
			return b.keep(c.Name, fd, err)
		}},
		"memfd": {"keep", func(b *Box, c Command) error { // a file outside of any mount
			fd, err := unix.MemfdCreate(c.Handle, unix.MFD_CLOEXEC)
			return b.keep(c.Handle, fd, err)
		}},
		"close":     {"handle", closeHandle},
		"drop":      {"", func(b *Box, _ Command) error { b.Drop(); return nil }},
		"readfile":  {"path open=ro", readFile},
		"writefile": {"path data open=creat mode=0644", writeFile},
		"fill":      {"path data mode=0644", fill},
		"tmpfile":   {"path to mode=0644", tmpfile},
	})
}

func procFD(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func closeHandle(b *Box, c Command) error {
	fd := b.FD(c.Handle)
	delete(b.fds, c.Handle)
	return unix.Close(fd)
}

func readFile(b *Box, c Command) error {
	return b.With(c.Path, c.Flags, c.Mode, func(fd int) (err error) {
		b.Data, err = readAll(fd)
		return err
	})
}

// writeFile is one whole attempt: open with the given flags, write, close.
func writeFile(b *Box, c Command) error {
	return b.With(c.Path, c.Flags|unix.O_WRONLY, c.Mode, func(fd int) error {
		return b.count(unix.Write(fd, c.Data))
	})
}

// fill makes a file whose mode no umask changes.
func fill(b *Box, c Command) error {
	if err := os.WriteFile(b.At(c.Path), c.Data, 0o600); err != nil {
		return err
	}
	return unix.Chmod(b.At(c.Path), c.Mode)
}

// tmpfile makes a nameless file in the directory Path and links it to To.
func tmpfile(b *Box, c Command) error {
	return b.With(c.Path, unix.O_TMPFILE|unix.O_RDWR, c.Mode, func(fd int) error {
		return unix.Linkat(unix.AT_FDCWD, procFD(fd), unix.AT_FDCWD, b.At(c.To), unix.AT_SYMLINK_FOLLOW)
	})
}
