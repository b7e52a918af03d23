package fence

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// nameRows make and remove names.
func nameRows() []row {
	file := harness.WithFiles("f")
	return []row{
		{name: "mkdir", run: func(b *harness.Box) error { return unix.Mkdir(b.At("new"), 0o777) }},
		{name: "mkdir setgid", run: func(b *harness.Box) error { return unix.Mkdir(b.At("new"), 0o1777) }},
		{name: "rmdir", prepare: harness.WithDir("d"), run: func(b *harness.Box) error { return unix.Rmdir(b.At("d")) }},
		{name: "mknod file", run: mknod(unix.S_IFREG|0o666, 0)},
		{name: "mkfifo", run: mknod(unix.S_IFIFO|0o666, 0)},
		{name: "mknod socket", run: mknod(unix.S_IFSOCK|0o666, 0)},
		{name: "mknod character device", run: mknod(unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))},
		{name: "mknod block device", run: mknod(unix.S_IFBLK|0o666, int(unix.Mkdev(7, 99)))},
		{name: "AF_UNIX bind", run: bindSocket},
		{name: "symlink", run: func(b *harness.Box) error { return unix.Symlink("some/where", b.At("new")) }},
		{name: "link", prepare: file, run: func(b *harness.Box) error { return unix.Link(b.At("f"), b.At("new")) }},
		{name: "link of a symlink", prepare: harness.WithLink("l", "f"), run: func(b *harness.Box) error {
			return unix.Linkat(unix.AT_FDCWD, b.At("l"), unix.AT_FDCWD, b.At("new"), 0)
		}},
		{name: "link of a descriptor", prepare: file, run: func(b *harness.Box) error {
			return b.With("f", unix.O_RDONLY, 0, func(fd int) error { return harness.LinkFD(fd, b.At("new")) })
		}},
		{name: "unlink", prepare: file, run: func(b *harness.Box) error { return unix.Unlink(b.At("f")) }},
		{name: "unlink of one of two links", prepare: harness.PrepareAll(file, func(t harness.TB, dir string) {
			harness.Must(t, unix.Link(dir+"/f", dir+"/g"))
		}), run: func(b *harness.Box) error { return unix.Unlink(b.At("g")) }},
		{name: "unlink of a symlink", prepare: harness.WithLink("l", "f"), run: func(b *harness.Box) error { return unix.Unlink(b.At("l")) }},
	}
}

func mknod(mode uint32, dev int) func(*harness.Box) error {
	return func(b *harness.Box) error { return unix.Mknod(b.At("new"), mode, dev) }
}

// bindSocket binds by way of a directory descriptor: the address has room for
// 107 bytes, and test directories are longer.
func bindSocket(b *harness.Box) error {
	return b.With(".", unix.O_PATH|unix.O_DIRECTORY, 0, func(dir int) error {
		sock, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(sock)
		return unix.Bind(sock, &unix.SockaddrUnix{Name: procFD(dir) + "/new"})
	})
}

// renameRows move names.
func renameRows() []row {
	move := func(from, to string, flags uint) func(*harness.Box) error {
		return func(b *harness.Box) error {
			return unix.Renameat2(unix.AT_FDCWD, b.At(from), unix.AT_FDCWD, b.At(to), flags)
		}
	}
	dirs := harness.PrepareAll(harness.WithDir("d"), harness.WithDir("e"), func(t harness.TB, dir string) { harness.WithFiles("x")(t, dir+"/d") })
	return []row{
		{name: "rename", prepare: harness.WithFiles("f"), run: move("f", "new", 0)},
		{name: "rename over a file", prepare: harness.WithFiles("f", "g"), run: move("f", "g", 0)},
		{name: "rename into a directory", prepare: harness.PrepareAll(harness.WithFiles("f"), harness.WithDir("d")), run: move("f", "d/f", 0)},
		{name: "rename NOREPLACE", prepare: harness.WithFiles("f"), run: move("f", "new", unix.RENAME_NOREPLACE)},
		{name: "rename EXCHANGE", prepare: harness.PrepareAll(harness.WithFiles("f"), harness.WithDir("d")), run: move("f", "d", unix.RENAME_EXCHANGE)},
		{name: "rename WHITEOUT", prepare: harness.WithFiles("f"), run: move("f", "new", unix.RENAME_WHITEOUT)},
		{name: "rename a directory", prepare: dirs, run: move("d", "new", 0)},
		{name: "rename a directory over an empty one", prepare: dirs, run: move("d", "e", 0)},
		{name: "rename a symlink", prepare: harness.WithLink("l", "f"), run: move("l", "new", 0)},
	}
}
