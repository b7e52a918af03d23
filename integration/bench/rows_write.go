package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func writeRows() []row {
	var rows []row
	for _, a := range accesses(true) {
		rows = append(rows, row{name: a.name("write"), unit: "write", begin: a.beginWrite})
	}
	return rows
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
