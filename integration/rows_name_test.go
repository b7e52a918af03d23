package integration

import "golang.org/x/sys/unix"

// nameRows make and remove names.
func nameRows() []row {
	file := withFiles("f")
	return []row{
		{name: "mkdir", run: func(b *box) error { return unix.Mkdir(b.at("new"), 0o777) }},
		{name: "mkdir setgid", run: func(b *box) error { return unix.Mkdir(b.at("new"), 0o1777) }},
		{name: "rmdir", prepare: withDir("d"), run: func(b *box) error { return unix.Rmdir(b.at("d")) }},
		{name: "mknod file", run: mknod(unix.S_IFREG|0o666, 0)},
		{name: "mkfifo", run: mknod(unix.S_IFIFO|0o666, 0)},
		{name: "mknod socket", run: mknod(unix.S_IFSOCK|0o666, 0)},
		{name: "mknod character device", run: mknod(unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3)))},
		{name: "mknod block device", run: mknod(unix.S_IFBLK|0o666, int(unix.Mkdev(7, 99)))},
		{name: "AF_UNIX bind", run: bindSocket},
		{name: "symlink", run: func(b *box) error { return unix.Symlink("some/where", b.at("new")) }},
		{name: "link", prepare: file, run: func(b *box) error { return unix.Link(b.at("f"), b.at("new")) }},
		{name: "link of a symlink", prepare: withLink("l", "f"), run: func(b *box) error {
			return unix.Linkat(unix.AT_FDCWD, b.at("l"), unix.AT_FDCWD, b.at("new"), 0)
		}},
		{name: "link of a descriptor", prepare: file, run: func(b *box) error {
			return b.with("f", unix.O_RDONLY, 0, func(fd int) error { return linkFD(fd, b.at("new")) })
		}},
		{name: "unlink", prepare: file, run: func(b *box) error { return unix.Unlink(b.at("f")) }},
		{name: "unlink of one of two links", prepare: prepareAll(file, func(t tb, dir string) {
			must(t, unix.Link(dir+"/f", dir+"/g"))
		}), run: func(b *box) error { return unix.Unlink(b.at("g")) }},
		{name: "unlink of a symlink", prepare: withLink("l", "f"), run: func(b *box) error { return unix.Unlink(b.at("l")) }},
	}
}

func mknod(mode uint32, dev int) func(*box) error {
	return func(b *box) error { return unix.Mknod(b.at("new"), mode, dev) }
}

// bindSocket binds by way of a directory descriptor: the address has room for
// 107 bytes, and test directories are longer.
func bindSocket(b *box) error {
	return b.with(".", unix.O_PATH|unix.O_DIRECTORY, 0, func(dir int) error {
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
	move := func(from, to string, flags uint) func(*box) error {
		return func(b *box) error {
			return unix.Renameat2(unix.AT_FDCWD, b.at(from), unix.AT_FDCWD, b.at(to), flags)
		}
	}
	dirs := prepareAll(withDir("d"), withDir("e"), func(t tb, dir string) { withFiles("x")(t, dir+"/d") })
	return []row{
		{name: "rename", prepare: withFiles("f"), run: move("f", "new", 0)},
		{name: "rename over a file", prepare: withFiles("f", "g"), run: move("f", "g", 0)},
		{name: "rename into a directory", prepare: prepareAll(withFiles("f"), withDir("d")), run: move("f", "d/f", 0)},
		{name: "rename NOREPLACE", prepare: withFiles("f"), run: move("f", "new", unix.RENAME_NOREPLACE)},
		{name: "rename EXCHANGE", prepare: prepareAll(withFiles("f"), withDir("d")), run: move("f", "d", unix.RENAME_EXCHANGE)},
		{name: "rename WHITEOUT", prepare: withFiles("f"), run: move("f", "new", unix.RENAME_WHITEOUT)},
		{name: "rename a directory", prepare: dirs, run: move("d", "new", 0)},
		{name: "rename a directory over an empty one", prepare: dirs, run: move("d", "e", 0)},
		{name: "rename a symlink", prepare: withLink("l", "f"), run: move("l", "new", 0)},
	}
}
