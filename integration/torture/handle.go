package main

import (
	"errors"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// writeHandle is what a writer has open under one lease.
type writeHandle struct {
	number int
	token  uint64
	log    int
	slots  int
	pages  []byte // a mapping, in some
}

func (w *worker) open(token uint64) *writeHandle {
	w.handles++
	h := &writeHandle{number: w.handles, token: token, log: -1, slots: -1}
	var err error
	if h.log, err = unix.Open(w.path("log"), unix.O_WRONLY|unix.O_APPEND|unix.O_CLOEXEC, 0); err == nil {
		h.slots, err = unix.Open(w.path("slots"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	}
	if err == nil && w.rng.IntN(3) == 0 {
		h.pages, err = mapPages(w.path("pages"))
	}
	if err != nil {
		h.close()
		return nil
	}
	return h
}

// mapPages keeps no descriptor: the mapping keeps the file open by itself.
func mapPages(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // see above
	return unix.Mmap(fd, 0, slotsCount*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

func (h *writeHandle) close() {
	for _, fd := range []int{h.log, h.slots} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	if h.pages != nil {
		_ = unix.Munmap(h.pages)
	}
}

var (
	errUnsynced = errors.New("stored, and nobody was asked whether it arrived")
	errFault    = errors.New("the page is not to be had")
)

// store writes through the mapping. The page of a dead mount is a SIGBUS, which here must not be the end.
func (h *writeHandle) store(seq int, r plan.Record, sync bool) (err error) {
	page := h.pages[seq%slotsCount*pageSize:][:pageSize]
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			err = errFault
		}
	}()
	copy(page, r.Encode())
	if !sync {
		return errUnsynced
	}
	return unix.Msync(page, unix.MS_SYNC)
}
