package main

import (
	"errors"
	"fmt"
	"os"
)

// Rows that several clients do at the same time, each with files of its own. They share only the file system.

const clientFile = 8 << 20

func clientRows() []row {
	return []row{
		{"clients: read 4 KiB, warm", "read", clientReads},
		{"clients: write 4 KiB", "write", clientWrites},
		{"clients: append 4 KiB and fsync", "append", clientAppends},
		{"clients: stat, cached", "stat", clientStats},
		{"clients: create", "file", clientCreates},
	}
}

// own is a directory for one client, with a file and some names in it.
func (b *box) own() (string, error) {
	name := fmt.Sprintf("client%d", b.Client)
	return name, b.once(name, func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path+"/data", make([]byte, clientFile), 0o644); err != nil {
			return err
		}
		return createAll(b.names(name, "f%d", 100))
	})
}

func clientOffsets() []int64 { return access{size: 4 << 10}.offsets()[:clientFile>>12] }

func clientReads(b *box) (job, error) {
	name, err := b.own()
	path, offsets := cstring(b.path(name, "data")), clientOffsets()
	prepare := func() error { return readThrough(path) }
	return job{prepare, func() (int, error) { return readAt(path, offsets, 4<<10, 32) }}, err
}

func clientWrites(b *box) (job, error) {
	name, err := b.own()
	path, offsets := cstring(b.path(name, "data")), clientOffsets()
	return job{b.settle, func() (int, error) { return writeAt(path, offsets, 4<<10, 2) }}, err
}

func clientAppends(b *box) (job, error) {
	const appends = 100
	name := fmt.Sprintf("appends%d", b.Client)
	path := cstring(b.path(name, "log"))
	prepare := func() error {
		_, err := b.fresh(name)
		return errors.Join(err, b.settle())
	}
	return job{prepare, func() (int, error) { return appends, appendAll(path, appends) }}, nil
}

func clientStats(b *box) (job, error) {
	name, err := b.own()
	names := b.names(name, "f%d", 100)
	run := func() (int, error) {
		var err error
		for range 500 {
			err = errors.Join(err, statAll(names))
		}
		return 500 * len(names), err
	}
	return job{func() error { return statAll(names) }, run}, err
}

func clientCreates(b *box) (job, error) {
	name := fmt.Sprintf("creates%d", b.Client)
	names := b.names(name, "n%d", 1000)
	prepare := func() error {
		_, err := b.fresh(name)
		return errors.Join(err, b.settle())
	}
	return job{prepare, func() (int, error) { return len(names), createAll(names) }}, nil
}
