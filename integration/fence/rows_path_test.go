package fence

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// pathRows change the content of files by name, or by whole sequences from
// open on: nobody is to get as far as the second call.
func pathRows() []row {
	file := harness.WithFiles("f")
	return []row{
		{name: "truncate to nothing", prepare: file, run: truncateTo(0)},
		{name: "truncate shorter", prepare: file, run: truncateTo(5000)},
		{name: "truncate longer", prepare: file, run: truncateTo(20000)},
		{name: "truncate to the same size", prepare: file, run: truncateTo(10000)},
		{name: "open and fallocate", prepare: file, run: openAndFallocate},
		{name: "open and copy_file_range in", prepare: harness.WithFiles("f", "src"), run: openAndCopyRange},
		{name: "open and mmap", prepare: file, run: openAndMap},
	}
}

func truncateTo(size int64) func(*harness.Box) error {
	return func(b *harness.Box) error { return unix.Truncate(b.At("f"), size) }
}

func openAndFallocate(b *harness.Box) error {
	return b.With("f", unix.O_WRONLY, 0, func(fd int) error { return unix.Fallocate(fd, 0, 0, 30000) })
}

func openAndCopyRange(b *harness.Box) error {
	return b.With("src", unix.O_RDONLY, 0, func(src int) error {
		return b.With("f", unix.O_WRONLY, 0, func(dst int) error { return copyRange(b, src, dst) })
	})
}

func openAndMap(b *harness.Box) error {
	if err := b.Keep("f", "f", unix.O_RDWR, 0); err != nil {
		return err
	}
	defer b.Drop()
	if err := b.MapShared("m", "f", 4096); err != nil {
		return err
	}
	if err := b.Store("m", []byte("STORED")); err != nil {
		return err
	}
	return unix.Msync(b.Maps["m"], unix.MS_SYNC)
}
