package main

import (
	"fmt"

	"github.com/jvsfs/jvsfs/integration/operation"
)

// writeHandle is what a writer has open under one lease.
type writeHandle struct {
	*operation.Box
	number int
	token  uint64
	mapped bool // the pages, too: some are
}

func (w *worker) open(token uint64) *writeHandle {
	w.handles++
	h := &writeHandle{Box: operation.NewBox(w.path()), number: w.handles, token: token}
	r := h.Play("open log wo,append =log; open slots rw =slots")
	if h.mapped = r.Errno == "" && w.rng.IntN(3) == 0; h.mapped {
		r = h.Play(fmt.Sprintf("open pages rw =file; mmap file =pages %d", slotsCount*pageSize))
		h.Play("close file") // the mapping keeps it open by itself; what a close answers is not asked
	}
	if r.Errno != "" {
		h.Drop()
		return nil
	}
	return h
}
