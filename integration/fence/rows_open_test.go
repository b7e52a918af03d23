package fence

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// openRows are the ways to open for writing. Where the open succeeds, the row
// goes on and writes, so that the holder's copy shows what the flag did.
func openRows() []row {
	file := harness.WithFiles("f")
	return []row{
		{name: "open O_WRONLY", prepare: file, run: openAndWrite("f", unix.O_WRONLY)},
		{name: "open O_RDWR", prepare: file, run: openAndWrite("f", unix.O_RDWR)},
		{name: "open O_WRONLY|O_APPEND", prepare: file, run: openAndWrite("f", unix.O_WRONLY|unix.O_APPEND)},
		{name: "open O_RDWR|O_APPEND", prepare: file, run: openAndWrite("f", unix.O_RDWR|unix.O_APPEND)},
		{name: "open O_WRONLY|O_TRUNC", prepare: file, run: openAndWrite("f", unix.O_WRONLY|unix.O_TRUNC)},
		{name: "open O_RDWR|O_TRUNC", prepare: file, run: openAndWrite("f", unix.O_RDWR|unix.O_TRUNC)},
		{name: "open O_RDONLY|O_TRUNC", prepare: file, run: openOnly("f", unix.O_RDONLY|unix.O_TRUNC)},
		{name: "open O_WRONLY|O_SYNC", prepare: file, run: openAndWrite("f", unix.O_WRONLY|unix.O_SYNC)},
		{name: "open O_CREAT new", run: openAndWrite("new", unix.O_WRONLY|unix.O_CREAT)},
		{name: "open O_CREAT new read-only", run: openOnly("new", unix.O_RDONLY|unix.O_CREAT)},
		{name: "open O_CREAT|O_EXCL", run: openAndWrite("new", unix.O_RDWR|unix.O_CREAT|unix.O_EXCL)},
		{name: "open O_CREAT existing", prepare: file, run: openAndWrite("f", unix.O_WRONLY|unix.O_CREAT)},
		{name: "open O_CREAT|O_TRUNC existing", prepare: file, run: openAndWrite("f", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)},
		{name: "open through a symlink", prepare: harness.WithLink("l", "f"), run: openAndWrite("l", unix.O_WRONLY)},
		{name: "creat new", run: creat("new")},
		{name: "creat existing", prepare: file, run: creat("f")},
		{name: "openat2 O_RDWR", prepare: file, run: openat2("f", unix.O_RDWR)},
		{name: "openat2 O_CREAT", run: openat2("new", unix.O_RDWR|unix.O_CREAT)},
		{name: "O_TMPFILE and linkat", run: tmpfileLinked},
		{name: "reopen a read handle by /proc", prepare: file, run: reopenByProc},
	}
}

func openAndWrite(name string, flags int) func(*harness.Box) error {
	return func(b *harness.Box) error {
		return b.With(name, flags, 0o666, func(fd int) error {
			return b.Count(unix.Write(fd, []byte("written")))
		})
	}
}

func openOnly(name string, flags int) func(*harness.Box) error {
	return func(b *harness.Box) error {
		return b.With(name, flags, 0o666, func(int) error { return nil })
	}
}

func creat(name string) func(*harness.Box) error {
	return func(b *harness.Box) error {
		fd, err := unix.Creat(b.At(name), 0o640)
		if err != nil {
			return err
		}
		if err := b.Count(unix.Write(fd, []byte("made"))); err != nil {
			return err
		}
		return unix.Close(fd)
	}
}

func openat2(name string, flags uint64) func(*harness.Box) error {
	return func(b *harness.Box) error {
		how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
		if flags&unix.O_CREAT != 0 {
			how.Mode = 0o660
		}
		fd, err := unix.Openat2(unix.AT_FDCWD, b.At(name), &how)
		if err != nil {
			return err
		}
		if err := b.Count(unix.Write(fd, []byte("two"))); err != nil {
			return err
		}
		return unix.Close(fd)
	}
}

func tmpfileLinked(b *harness.Box) error {
	return b.With(".", unix.O_TMPFILE|unix.O_RDWR, 0o644, func(fd int) error {
		if err := b.Count(unix.Write(fd, []byte("nameless"))); err != nil {
			return err
		}
		return harness.LinkFD(fd, b.At("named"))
	})
}

// reopenByProc turns a handle for reading into one for writing, which needs no
// walk through the tree.
func reopenByProc(b *harness.Box) error {
	return b.With("f", unix.O_RDONLY, 0, func(fd int) error {
		return openAndWrite(procFD(fd), unix.O_WRONLY)(b)
	})
}
