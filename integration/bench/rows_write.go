package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func writeRows() []row {
	var rows []row
	for _, a := range accesses(true) {
		rows = append(rows, row{name: a.name("write"), unit: "write", begin: a.beginWrite})
	}
	return append(rows, row{"append 4 KiB and fsync", "append", appendJob})
}

// appendJob is a log whose lines must not be lost.
func appendJob(b *box) (job, error) {
	const appends = 200
	path := cstring(b.path("appended", "log"))
	prepare := func() error {
		_, err := b.fresh("appended")
		return errors.Join(err, b.settle())
	}
	return job{prepare, func() (int, error) { return appends, appendAll(path, appends) }}, nil
}

func appendAll(path *byte, n int) error {
	fd, err := rawOpen(path, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND)
	if err != nil {
		return err
	}
	defer rawClose(fd)
	for range n {
		if n, err := rawPwrite(fd, buffer[:4<<10], 0); n != 4<<10 {
			return fmt.Errorf("append: %d, %w", n, err)
		}
		if err := rawFsync(fd); err != nil {
			return err
		}
	}
	return nil
}

func (a access) beginWrite(b *box) (job, error) {
	offsets := a.offsets()
	path := cstring(b.path("data"))
	return job{
		prepare: func() error { return a.warmOrCold(b, "data") },
		run:     func() (int, error) { return writeAt(path, offsets, a.size, a.passes()) },
	}, dataFile(b)
}

func writeAt(path *byte, offsets []int64, size, passes int) (int, error) {
	fd, err := rawOpen(path, unix.O_WRONLY)
	if err != nil {
		return 0, err
	}
	defer rawClose(fd)
	for range passes {
		for _, off := range offsets {
			if n, err := rawPwrite(fd, buffer[:size], off); n != size {
				return 0, fmt.Errorf("write %d bytes at %d: %d, %w", size, off, n, err)
			}
		}
	}
	return passes * len(offsets), nil
}
