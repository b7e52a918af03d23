package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Mutating calls that are made twice: by the holder and by a stranger. They are no rows of the table, because
// other targets refuse nothing.

const refusedCalls = 2000

// lostHandle is the call that is refused because of what its descriptor was opened
// under; the others are because of who makes them.
const lostHandle = "write 4 KiB"

func refusedRows() []row {
	return []row{
		{lostHandle, "write", writeCalls},
		{"open for writing", "open", openCalls},
		{"create a file", "create", createCalls},
		{"remove a file", "unlink", unlinkCalls},
		{"rename a file", "rename", renameCalls},
	}
}

// calls makes a job of a call that is admitted or refused, as the box says.
func (b *box) calls(prepare func() error, call func(i int) error) job {
	want := error(nil)
	if b.Refused {
		want = unix.EROFS
	}
	return job{prepare, func() (int, error) {
		for i := range refusedCalls {
			if err := call(i); !errors.Is(err, want) {
				return 0, fmt.Errorf("call %d: %v, want %v", i, err, want)
			}
		}
		return refusedCalls, nil
	}}
}

func writeCalls(b *box) (job, error) {
	fd := -1
	path := cstring(b.path("data"))
	prepare := func() (err error) {
		if fd >= 0 {
			rawClose(fd)
		}
		fd, err = rawOpen(path, unix.O_WRONLY)
		return err
	}
	return b.calls(prepare, func(i int) error {
		_, err := rawPwrite(fd, buffer[:4<<10], int64(i)<<12)
		return err
	}), dataFile(b)
}

func openCalls(b *box) (job, error) {
	path := cstring(b.path("data"))
	return b.calls(nothing, func(int) error {
		fd, err := rawOpen(path, unix.O_WRONLY)
		if err == nil {
			rawClose(fd)
		}
		return err
	}), dataFile(b)
}

func createCalls(b *box) (job, error) {
	names := b.names("names", "n%d", refusedCalls)
	prepare := func() error { _, err := b.fresh("names"); return err }
	return b.calls(prepare, func(i int) error {
		fd, err := rawOpen(names[i], unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
		if err == nil {
			rawClose(fd)
		}
		return err
	}), nil
}

func unlinkCalls(b *box) (job, error) {
	names := b.names("names", "n%d", refusedCalls)
	return b.calls(b.created(names), func(i int) error { return rawUnlink(names[i]) }), nil
}

func renameCalls(b *box) (job, error) {
	names := b.names("names", "n%d", refusedCalls)
	others := b.names("names", "o%d", refusedCalls)
	return b.calls(b.created(names), func(i int) error { return rawRename(names[i], others[i]) }), nil
}

func (b *box) created(names []*byte) func() error {
	return func() error {
		_, err := b.fresh("names")
		return errors.Join(err, createAll(names))
	}
}

func nothing() error { return nil }
