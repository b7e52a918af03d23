package integration

import "golang.org/x/sys/unix"

// mapRows store through mappings made while the lease was held. A store is no
// system call: it is refused when its page is written back.
func mapRows() []row {
	return []row{
		{name: "mmap store and msync", prepare: withFiles("f"), open: keepMapped, run: func(b *box) error {
			if err := b.store("m", []byte("STORED")); err != nil {
				return err
			}
			return unix.Msync(b.maps["m"], unix.MS_SYNC)
		}},
		{name: "mmap store, munmap and fsync", prepare: withFiles("f"), open: keepMapped,
			// munmap writes back inside the kernel, which folds the answer into
			// EIO before fsync can tell it (fuse_vma_close, filemap_check_errors).
			refusal: []string{"EROFS", "EIO"},
			run: func(b *box) error {
				if err := b.store("m", []byte("STORED")); err != nil {
					return err
				}
				if err := b.unmap("m"); err != nil {
					return err
				}
				return unix.Fsync(b.fd("f"))
			}},
		{name: "mmap store and fdatasync", prepare: withFiles("f"), open: keepMapped, run: func(b *box) error {
			if err := b.store("m", []byte("STORED")); err != nil {
				return err
			}
			return unix.Fdatasync(b.fd("f"))
		}},
	}
}

func keepMapped(b *box) error {
	if err := b.keep("f", "f", unix.O_RDWR, 0); err != nil {
		return err
	}
	return b.mapShared("m", "f", 8192)
}
