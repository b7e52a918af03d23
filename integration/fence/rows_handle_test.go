package fence

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// handleRows use descriptors that were opened while the lease was held: they
// have passed every check there is at open, so only the epoch stops them.
func handleRows() []row {
	on := func(name string, flags int, run func(*harness.Box, int) error) row {
		return row{name: name, prepare: harness.WithFiles("f"), open: keepFile(flags), run: func(b *harness.Box) error { return run(b, b.FD("f")) }}
	}
	rows := []row{
		on("handle write", unix.O_WRONLY, func(b *harness.Box, fd int) error { return b.Count(unix.Write(fd, []byte("late"))) }),
		on("handle write O_RDWR", unix.O_RDWR, func(b *harness.Box, fd int) error { return b.Count(unix.Write(fd, []byte("late"))) }),
		on("handle write of two pages", unix.O_WRONLY, func(b *harness.Box, fd int) error { return b.Count(unix.Write(fd, harness.Body()[:8192])) }),
		on("handle append", unix.O_WRONLY|unix.O_APPEND, func(b *harness.Box, fd int) error { return b.Count(unix.Write(fd, []byte("late"))) }),
		on("handle write O_DSYNC", unix.O_WRONLY|unix.O_DSYNC, func(b *harness.Box, fd int) error { return b.Count(unix.Write(fd, []byte("late"))) }),
		on("handle pwrite", unix.O_RDWR, func(b *harness.Box, fd int) error { return b.Count(unix.Pwrite(fd, []byte("late"), 4000)) }),
		on("handle pwrite past the end", unix.O_RDWR, func(b *harness.Box, fd int) error { return b.Count(unix.Pwrite(fd, []byte("late"), 50000)) }),
		on("handle writev", unix.O_WRONLY, func(b *harness.Box, fd int) error { return b.Count(unix.Writev(fd, twoParts())) }),
		on("handle pwritev", unix.O_WRONLY, func(b *harness.Box, fd int) error { return b.Count(unix.Pwritev(fd, twoParts(), 77)) }),
		on("handle pwritev2", unix.O_WRONLY, func(b *harness.Box, fd int) error { return b.Count(unix.Pwritev2(fd, twoParts(), 77, 0)) }),
		on("handle pwritev2 RWF_APPEND", unix.O_WRONLY, func(b *harness.Box, fd int) error {
			return b.Count(unix.Pwritev2(fd, twoParts(), 0, unix.RWF_APPEND))
		}),
		on("handle pwritev2 RWF_DSYNC", unix.O_WRONLY, func(b *harness.Box, fd int) error {
			return b.Count(unix.Pwritev2(fd, twoParts(), 0, unix.RWF_DSYNC))
		}),
		on("handle dup and write", unix.O_WRONLY, dupAndWrite),
		on("handle reopened for append", unix.O_RDWR, reopenForAppend),
		on("handle splice into", unix.O_WRONLY, spliceInto),
		on("handle vmsplice and splice into", unix.O_WRONLY, vmspliceInto),
		on("handle ftruncate shorter", unix.O_WRONLY, func(_ *harness.Box, fd int) error { return unix.Ftruncate(fd, 10) }),
		on("handle ftruncate longer", unix.O_RDWR, func(_ *harness.Box, fd int) error { return unix.Ftruncate(fd, 30000) }),
		on("handle fallocate", unix.O_WRONLY, fallocate(0, 0, 40000)),
		on("handle fallocate KEEP_SIZE", unix.O_WRONLY, fallocate(unix.FALLOC_FL_KEEP_SIZE, 0, 40000)),
		on("handle fallocate PUNCH_HOLE", unix.O_WRONLY, fallocate(unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 4096, 4096)),
		on("handle fallocate ZERO_RANGE", unix.O_WRONLY, fallocate(unix.FALLOC_FL_ZERO_RANGE, 100, 5000)),
		on("handle fsync", unix.O_WRONLY, func(_ *harness.Box, fd int) error { return unix.Fsync(fd) }),
		on("handle fdatasync", unix.O_WRONLY, func(_ *harness.Box, fd int) error { return unix.Fdatasync(fd) }),
		on("handle fchmod", unix.O_WRONLY, func(_ *harness.Box, fd int) error { return unix.Fchmod(fd, 0o600) }),
		on("handle fchown", unix.O_WRONLY, func(_ *harness.Box, fd int) error { return unix.Fchown(fd, 1234, 5678) }),
		on("handle fsetxattr", unix.O_WRONLY, func(_ *harness.Box, fd int) error { return unix.Fsetxattr(fd, "user.late", []byte("x"), 0) }),
	}
	return append(rows, twoFileRows()...)
}

// twoFileRows need a source besides the stale handle, or a directory.
func twoFileRows() []row {
	two := harness.WithFiles("f", "src")
	times := row{name: "handle futimens", prepare: harness.WithFiles("f"), open: keepFile(unix.O_WRONLY), times: []string{"f"},
		run: func(b *harness.Box) error { return setTimesFD(b.FD("f")) }}
	return []row{
		times,
		{name: "handle sendfile into", prepare: two, open: keepFile(unix.O_WRONLY), run: sendfileInto},
		{name: "handle copy_file_range into", prepare: two, open: keepFile(unix.O_WRONLY), run: func(b *harness.Box) error {
			return b.With("src", unix.O_RDONLY, 0, func(src int) error { return copyRange(b, src, b.FD("f")) })
		}},
		{name: "handle nameless write", open: keepTmpfile, run: func(b *harness.Box) error {
			return b.Count(unix.Write(b.FD("f"), []byte("late")))
		}},
		{name: "handle nameless linkat", open: keepTmpfile, run: func(b *harness.Box) error { return harness.LinkFD(b.FD("f"), b.At("named")) }},
		{name: "handle write to an unlinked file", prepare: harness.WithFiles("f"), open: keepUnlinked, run: func(b *harness.Box) error {
			return b.Count(unix.Write(b.FD("f"), []byte("late")))
		}},
		{name: "handle openat in a directory", prepare: harness.WithDir("d"), open: keepDir, run: func(b *harness.Box) error {
			fd, err := unix.Openat(b.FD("d"), "new", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		}},
		{name: "handle mkdirat in a directory", prepare: harness.WithDir("d"), open: keepDir, run: func(b *harness.Box) error {
			return unix.Mkdirat(b.FD("d"), "new", 0o755)
		}},
		{name: "handle fchmod of a directory", prepare: harness.WithDir("d"), open: keepDir, run: func(b *harness.Box) error {
			return unix.Fchmod(b.FD("d"), 0o700)
		}},
	}
}

func keepFile(flags int) func(*harness.Box) error {
	return func(b *harness.Box) error { return b.Keep("f", "f", flags, 0) }
}

func keepTmpfile(b *harness.Box) error { return b.Keep("f", ".", unix.O_TMPFILE|unix.O_RDWR, 0o644) }

func keepDir(b *harness.Box) error { return b.Keep("d", "d", unix.O_RDONLY|unix.O_DIRECTORY, 0) }

// keepUnlinked holds a file that has lost its name; another actor may have
// taken the name before, and then makes it again.
func keepUnlinked(b *harness.Box) error {
	if err := b.Keep("f", "f", unix.O_RDWR|unix.O_CREAT, 0o644); err != nil {
		return err
	}
	return unix.Unlink(b.At("f"))
}

func twoParts() [][]byte { return [][]byte{[]byte("first"), []byte("second")} }

func procFD(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func fallocate(mode uint32, off, size int64) func(*harness.Box, int) error {
	return func(_ *harness.Box, fd int) error { return unix.Fallocate(fd, mode, off, size) }
}

func dupAndWrite(b *harness.Box, fd int) error {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(other)
	return b.Count(unix.Write(other, []byte("late")))
}

// reopenForAppend changes the flags of the open file, which no open call sees.
func reopenForAppend(b *harness.Box, fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_APPEND); err != nil {
		return err
	}
	return b.Count(unix.Write(fd, []byte("late")))
}

func spliceInto(b *harness.Box, fd int) error {
	return pipeWith([]byte("spliced"), func(r int) error {
		n, err := unix.Splice(r, nil, fd, nil, 100, 0)
		return b.Count(int(n), err)
	})
}

func vmspliceInto(b *harness.Box, fd int) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	data := []byte("vmspliced")
	iov := []unix.Iovec{{Base: unsafe.SliceData(data), Len: uint64(len(data))}}
	if _, err := unix.Vmsplice(p[1], iov, 0); err != nil {
		return err
	}
	n, err := unix.Splice(p[0], nil, fd, nil, 100, 0)
	return b.Count(int(n), err)
}

func sendfileInto(b *harness.Box) error {
	return b.With("src", unix.O_RDONLY, 0, func(src int) error {
		return b.Count(unix.Sendfile(b.FD("f"), src, nil, 6000))
	})
}

func copyRange(b *harness.Box, src, dst int) error {
	from, to := int64(100), int64(200)
	return b.Count(unix.CopyFileRange(src, &from, dst, &to, 5000, 0))
}

// pipeWith makes a pipe that already holds data, for splice.
func pipeWith(data []byte, f func(r int) error) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	if _, err := unix.Write(p[1], data); err != nil {
		return err
	}
	return f(p[0])
}
