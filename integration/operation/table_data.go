package operation

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// These change and read what is in a file.
func init() {
	add(map[string]operation{
		"truncate":  {"path len", func(b *Box, c Command) error { return unix.Truncate(b.At(c.Path), c.Len) }},
		"ftruncate": {"handle len", func(b *Box, c Command) error { return unix.Ftruncate(b.FD(c.Handle), c.Len) }},
		"write":     {"handle data", func(b *Box, c Command) error { return b.count(unix.Write(b.FD(c.Handle), c.Data)) }},
		"pwrite":    {"handle off data", func(b *Box, c Command) error { return b.count(unix.Pwrite(b.FD(c.Handle), c.Data, c.Off)) }},
		"writev":    {"handle args", func(b *Box, c Command) error { return b.count(unix.Writev(b.FD(c.Handle), parts(c))) }},
		"pwritev": {"handle off args", func(b *Box, c Command) error {
			return b.count(unix.Pwritev(b.FD(c.Handle), parts(c), c.Off))
		}},
		"pwritev2": {"handle off rwf args", func(b *Box, c Command) error {
			return b.count(unix.Pwritev2(b.FD(c.Handle), parts(c), c.Off, c.Flags))
		}},
		"read": {"handle len", func(b *Box, c Command) error {
			buf := make([]byte, c.Len)
			n, err := unix.Read(b.FD(c.Handle), buf)
			return b.filled(buf, n, err)
		}},
		"pread": {"handle off len", func(b *Box, c Command) error {
			buf := make([]byte, c.Len)
			n, err := unix.Pread(b.FD(c.Handle), buf, c.Off)
			return b.filled(buf, n, err)
		}},
		"direct": {"handle name off len from", direct},
		"lseek": {"handle off whence", func(b *Box, c Command) error {
			off, err := unix.Seek(b.FD(c.Handle), c.Off, c.Flags)
			return b.count(int(off), err)
		}},
		"fallocate": {"handle falloc off len", func(b *Box, c Command) error {
			return unix.Fallocate(b.FD(c.Handle), uint32(c.Flags), c.Off, c.Len)
		}},
		"fsync":     {"handle", func(b *Box, c Command) error { return unix.Fsync(b.FD(c.Handle)) }},
		"fdatasync": {"handle", func(b *Box, c Command) error { return unix.Fdatasync(b.FD(c.Handle)) }},
		"syncfs":    {"handle", func(b *Box, c Command) error { return unix.Syncfs(b.FD(c.Handle)) }},
		"writeout": {"handle", func(b *Box, c Command) error { // the pages go out, and the file system is not asked for an fsync
			return unix.SyncFileRange(b.FD(c.Handle), 0, 0,
				unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
		}},
		"copy": {"handle from other off len", func(b *Box, c Command) error { // from Handle to Name, in one request
			return b.count(unix.CopyFileRange(b.FD(c.Handle), &c.From, b.FD(c.Name), &c.Off, int(c.Len), 0))
		}},
		"sendfile": {"handle other len", func(b *Box, c Command) error { // from Handle to Name
			return b.count(unix.Sendfile(b.FD(c.Name), b.FD(c.Handle), nil, int(c.Len)))
		}},
		"splice":   {"handle data", spliceIn},
		"vmsplice": {"handle data", spliceIn},
		"spliceout": {"handle len", func(b *Box, c Command) error {
			return withPipe(func(r, w int) error {
				n, err := unix.Splice(b.FD(c.Handle), nil, w, nil, int(c.Len), 0)
				if err != nil {
					return err
				}
				buf := make([]byte, n)
				got, err := unix.Read(r, buf)
				return b.filled(buf, got, err)
			})
		}},
		"setfl": {"handle open", func(b *Box, c Command) error { // the flags of the open file, which no open call sees
			_, err := unix.FcntlInt(uintptr(b.FD(c.Handle)), unix.F_SETFL, c.Flags)
			return err
		}},
		"getfl": {"handle", func(b *Box, c Command) error {
			return b.count(unix.FcntlInt(uintptr(b.FD(c.Handle)), unix.F_GETFL, 0))
		}},
	})
}

// parts are the words of a vector.
func parts(c Command) (all [][]byte) {
	for _, one := range c.Args {
		all = append(all, []byte(one))
	}
	return all
}

// direct transfers from or to memory that is From bytes off the alignment that O_DIRECT wants. Name is read or write.
func direct(b *Box, c Command) error {
	mem, err := unix.Mmap(-1, 0, int(c.Len+c.From)+4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(mem) }()
	buf := mem[c.From : c.From+c.Len]
	if c.Name == "write" {
		copy(buf, Pattern(len(buf), 9))
		return b.count(unix.Pwrite(b.FD(c.Handle), buf, c.Off))
	}
	n, err := unix.Pread(b.FD(c.Handle), buf, c.Off)
	b.Data = append(b.Data, buf[:max(n, 0)]...)
	return b.count(n, err)
}

// spliceIn moves data from a pipe, which it has filled by a write, or by vmsplice.
func spliceIn(b *Box, c Command) error {
	return withPipe(func(r, w int) (err error) {
		if c.Op == "vmsplice" {
			_, err = unix.Vmsplice(w, []unix.Iovec{{Base: unsafe.SliceData(c.Data), Len: uint64(len(c.Data))}}, 0)
		} else {
			_, err = unix.Write(w, c.Data)
		}
		if err != nil {
			return err
		}
		n, err := unix.Splice(r, nil, b.FD(c.Handle), nil, len(c.Data), 0)
		return b.count(int(n), err)
	})
}

func withPipe(f func(r, w int) error) error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	defer unix.Close(p[0]) //nolint:errcheck // nobody else has it
	defer unix.Close(p[1]) //nolint:errcheck // nobody else has it
	return f(p[0], p[1])
}
