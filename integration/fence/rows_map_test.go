package fence

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// mapRows store through mappings made while the lease was held. A store is no
// system call: it is refused when its page is written back.
func mapRows() []row {
	return []row{
		{name: "mmap store and msync", prepare: harness.WithFiles("f"), open: keepMapped, run: func(b *harness.Box) error {
			if err := b.Store("m", []byte("STORED")); err != nil {
				return err
			}
			return unix.Msync(b.Maps["m"], unix.MS_SYNC)
		}},
		{name: "mmap store, munmap and fsync", prepare: harness.WithFiles("f"), open: keepMapped,
			// munmap writes back inside the kernel, which folds the answer into
			// EIO before fsync can tell it (fuse_vma_close, filemap_check_errors).
			refusal: []string{"EROFS", "EIO"},
			run: func(b *harness.Box) error {
				if err := b.Store("m", []byte("STORED")); err != nil {
					return err
				}
				if err := b.Unmap("m"); err != nil {
					return err
				}
				return unix.Fsync(b.FD("f"))
			}},
		{name: "mmap store and fdatasync", prepare: harness.WithFiles("f"), open: keepMapped, run: func(b *harness.Box) error {
			if err := b.Store("m", []byte("STORED")); err != nil {
				return err
			}
			return unix.Fdatasync(b.FD("f"))
		}},
	}
}

func keepMapped(b *harness.Box) error {
	if err := b.Keep("f", "f", unix.O_RDWR, 0); err != nil {
		return err
	}
	return b.MapShared("m", "f", 8192)
}
