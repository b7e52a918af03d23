package integration

import "golang.org/x/sys/unix"

// pathRows change the content of files by name, or by whole sequences from
// open on: nobody is to get as far as the second call.
func pathRows() []row {
	file := withFiles("f")
	return []row{
		{name: "truncate to nothing", prepare: file, run: truncateTo(0)},
		{name: "truncate shorter", prepare: file, run: truncateTo(5000)},
		{name: "truncate longer", prepare: file, run: truncateTo(20000)},
		{name: "truncate to the same size", prepare: file, run: truncateTo(10000)},
		{name: "open and fallocate", prepare: file, run: openAndFallocate},
		{name: "open and copy_file_range in", prepare: withFiles("f", "src"), run: openAndCopyRange},
		{name: "open and mmap", prepare: file, run: openAndMap},
	}
}

func truncateTo(size int64) func(*box) error {
	return func(b *box) error { return unix.Truncate(b.at("f"), size) }
}

func openAndFallocate(b *box) error {
	return b.with("f", unix.O_WRONLY, 0, func(fd int) error { return unix.Fallocate(fd, 0, 0, 30000) })
}

func openAndCopyRange(b *box) error {
	return b.with("src", unix.O_RDONLY, 0, func(src int) error {
		return b.with("f", unix.O_WRONLY, 0, func(dst int) error { return copyRange(b, src, dst) })
	})
}

func openAndMap(b *box) error {
	if err := b.keep("f", "f", unix.O_RDWR, 0); err != nil {
		return err
	}
	defer b.drop()
	if err := b.mapShared("m", "f", 4096); err != nil {
		return err
	}
	if err := b.store("m", []byte("STORED")); err != nil {
		return err
	}
	return unix.Msync(b.maps["m"], unix.MS_SYNC)
}
