package fence

import "github.com/jvsfs/jvsfs/integration/harness"

// handleRows use descriptors that were opened while the lease was held: they
// have passed every check there is at open, so only the epoch stops them.
func handleRows() []row {
	on := func(name, flags, run string) row {
		return row{name: name, prepare: harness.WithFiles("f"), open: "open f " + flags + " =f", run: run}
	}
	rows := []row{
		on("handle write", "wo", "write f late"),
		on("handle write O_RDWR", "rw", "write f late"),
		on("handle write of two pages", "wo", "write f 8192"),
		on("handle append", "wo,append", "write f late"),
		on("handle write O_DSYNC", "wo,dsync", "write f late"),
		on("handle pwrite", "rw", "pwrite f 4000 late"),
		on("handle pwrite past the end", "rw", "pwrite f 50000 late"),
		on("handle writev", "wo", "writev f first second"),
		on("handle pwritev", "wo", "pwritev f 77 first second"),
		on("handle pwritev2", "wo", "pwritev2 f 77 0 first second"),
		on("handle pwritev2 RWF_APPEND", "wo", "pwritev2 f 0 append first second"),
		on("handle pwritev2 RWF_DSYNC", "wo", "pwritev2 f 0 dsync first second"),
		on("handle dup and write", "wo", "dup f =d; write d late; close d"),
		on("handle reopened for append", "rw", "setfl f append; write f late"),
		on("handle splice into", "wo", "splice f spliced"),
		on("handle vmsplice and splice into", "wo", "vmsplice f vmspliced"),
		on("handle ftruncate shorter", "wo", "ftruncate f 10"),
		on("handle ftruncate longer", "rw", "ftruncate f 30000"),
		on("handle fallocate", "wo", "fallocate f 0 0 40000"),
		on("handle fallocate KEEP_SIZE", "wo", "fallocate f keep 0 40000"),
		on("handle fallocate PUNCH_HOLE", "wo", "fallocate f punch 4096 4096"),
		on("handle fallocate ZERO_RANGE", "wo", "fallocate f zero 100 5000"),
		on("handle fsync", "wo", "fsync f"),
		on("handle fdatasync", "wo", "fdatasync f"),
		on("handle fchmod", "wo", "fchmod f 0600"),
		on("handle fchown", "wo", "fchown f 1234 5678"),
		on("handle fsetxattr", "wo", "fsetxattr f user.late x"),
		on("handle FS_IOC_SETFLAGS", "rw", "fchattr f +d"),
		on("handle FS_IOC_FSSETXATTR", "rw", "fssetxattr f"),
	}
	return append(rows, otherHandleRows()...)
}

// otherHandleRows need a source besides the stale handle, or another kind of handle.
func otherHandleRows() []row {
	file, two, dir := harness.WithFiles("f"), harness.WithFiles("f", "src"), harness.WithDir("d")
	const nameless, directory = "open . rw,tmp 0644 =f", "open d ro,dir =d"
	return []row{
		{name: "handle futimens", prepare: file, open: "open f wo =f", times: []string{"f"}, run: "futimens f" + ownTimes},
		{name: "handle sendfile into", prepare: two, open: "open f wo =f", run: "open src ro =s; sendfile s f 6000; close s"},
		{name: "handle copy_file_range into", prepare: two, open: "open f wo =f", run: "open src ro =s; copy s 100 f 200 5000; close s"},
		{name: "handle nameless write", open: nameless, run: "write f late"},
		{name: "handle nameless linkat", open: nameless, run: "linkproc f named"},
		// Another actor may have taken the name before; it is made again.
		{name: "handle write to an unlinked file", prepare: file, open: "open f rw,creat 0644 =f; unlink f", run: "write f late"},
		{name: "handle openat in a directory", prepare: dir, open: directory, run: "openat d new wo,creat 0644"},
		{name: "handle mkdirat in a directory", prepare: dir, open: directory, run: "mkdirat d new 0755"},
		{name: "handle fchmod of a directory", prepare: dir, open: directory, run: "fchmod d 0700"},
	}
}

// mapRows store through mappings made while the lease was held.
func mapRows() []row {
	const mapped = "open f rw =f; mmap f =m 8192"
	file := harness.WithFiles("f")
	return []row{
		{name: "mmap store and msync", prepare: file, open: mapped, run: "store m STORED; msync m"},
		// munmap writes back inside the kernel, which folds the answer into
		// EIO before fsync can tell it (fuse_vma_close, filemap_check_errors).
		{name: "mmap store, munmap and fsync", prepare: file, open: mapped, refusal: []string{"EROFS", "EIO"}, run: "store m STORED; munmap m; fsync f"},
		{name: "mmap store and fdatasync", prepare: file, open: mapped, run: "store m STORED; fdatasync f"},
	}
}
