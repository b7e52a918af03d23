package fence

import "github.com/jvsfs/jvsfs/integration/harness"

// nameRows make and remove names.
func nameRows() []row {
	file := harness.WithFiles("f")
	return []row{
		{name: "mkdir", run: "mkdir new 0777"},
		{name: "mkdir setgid", run: "mkdir new 01777"},
		{name: "rmdir", prepare: harness.WithDir("d"), run: "rmdir d"},
		{name: "mknod file", run: "mknod new f 0666"},
		{name: "mkfifo", run: "mknod new p 0666"},
		{name: "mknod socket", run: "mknod new s 0666"},
		{name: "mknod character device", run: "mknod new c 0666 1 3"},
		{name: "mknod block device", run: "mknod new b 0666 7 99"},
		{name: "AF_UNIX bind", run: "bind new"},
		{name: "symlink", run: "symlink some/where new"},
		{name: "link", prepare: file, run: "link f new"},
		{name: "link of a symlink", prepare: harness.WithLink("l", "f"), run: "link l new"},
		{name: "link of a descriptor", prepare: file, run: "open f ro =h; linkproc h new; close h"},
		{name: "unlink", prepare: file, run: "unlink f"},
		{name: "unlink of one of two links", prepare: prepared(file, "link f g"), run: "unlink g"},
		{name: "unlink of a symlink", prepare: harness.WithLink("l", "f"), run: "unlink l"},
	}
}

// renameRows move names.
func renameRows() []row {
	file, dir := harness.WithFiles("f"), harness.WithDir("d")
	both, dirs := harness.PrepareAll(file, dir), harness.PrepareAll(dir, harness.WithDir("e"), harness.WithFiles("d/x"))
	return []row{
		{name: "rename", prepare: file, run: "rename f new"},
		{name: "rename over a file", prepare: harness.WithFiles("f", "g"), run: "rename f g"},
		{name: "rename into a directory", prepare: both, run: "rename f d/f"},
		{name: "rename NOREPLACE", prepare: file, run: "rename f new noreplace"},
		{name: "rename EXCHANGE", prepare: both, run: "rename f d exchange"},
		{name: "rename WHITEOUT", prepare: file, run: "rename f new whiteout"},
		{name: "rename a directory", prepare: dirs, run: "rename d new"},
		{name: "rename a directory over an empty one", prepare: dirs, run: "rename d e"},
		{name: "rename a symlink", prepare: harness.WithLink("l", "f"), run: "rename l new"},
	}
}
