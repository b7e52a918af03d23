package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func readRows() []row {
	var rows []row
	for _, a := range accesses(false) {
		rows = append(rows, row{name: a.name("read"), unit: "read", begin: a.beginRead})
	}
	return rows
}

func (a access) beginRead(b *box) (job, error) {
	offsets := a.offsets()
	if a.cold && b.Disk && len(offsets) > maxColdReads && a.random {
		offsets = offsets[:maxColdReads]
	}
	path := cstring(b.path("data"))
	return job{
		prepare: func() error { return a.warmOrCold(b, "data") },
		run:     func() (int, error) { return readAt(path, offsets, a.size, a.passes()) },
	}, dataFile(b)
}

func readAt(path *byte, offsets []int64, size, passes int) (int, error) {
	fd, err := rawOpen(path, unix.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer rawClose(fd)
	for range passes {
		for _, off := range offsets {
			if n, err := rawPread(fd, buffer[:size], off); n != size {
				return 0, fmt.Errorf("read %d bytes at %d: %d, %w", size, off, n, err)
			}
		}
	}
	return passes * len(offsets), nil
}
