package main

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// observer looks at the registers of a worktree again and again: the slots, and the starts of the pages.
type observer struct {
	*tree
	file   *os.File
	first  int // number of its first slot
	stride int
	last   [slotsCount]plan.Record
	absent [slotsCount]int64 // when the last whole look began that saw the value in last
}

const lookEvery = 2 * time.Millisecond

// observe keeps every value that is seen in a register. The end of the history is seen, too.
func (t *tree) observe(dir string, stop *atomic.Bool) error {
	slots, err := os.Open(filepath.Join(dir, "slots"))
	if err != nil {
		return err
	}
	defer slots.Close() //nolint:errcheck // only read from
	pages, err := os.Open(filepath.Join(dir, "pages"))
	if err != nil {
		return err
	}
	defer pages.Close() //nolint:errcheck // only read from
	of := []*observer{{tree: t, file: slots, stride: plan.RecordSize}, {tree: t, file: pages, first: slotsCount, stride: pageSize}}
	for done := false; !done; time.Sleep(lookEvery) {
		done = stop.Load()
		if err := errors.Join(of[0].look(done), of[1].look(done)); err != nil {
			return err
		}
	}
	return nil
}

func (o *observer) look(done bool) error {
	b := make([]byte, slotsCount*o.stride)
	real, begin := plan.Realtime(), plan.Monotonic()
	if _, err := o.file.ReadAt(b, 0); err != nil {
		return err
	}
	end := plan.Monotonic()
	for i := range slotsCount {
		text := b[i*o.stride : i*o.stride+plan.RecordSize]
		var r plan.Record
		if text[0] != 0 {
			// A write of a slot may be seen half done; the next look sees it whole.
			var err error
			if r, err = plan.Parse(text); err != nil && !done {
				continue
			} else if err != nil {
				return err
			}
		}
		if r != o.last[i] || done {
			o.Slots = append(o.Slots, observation{o.first + i, begin, end, o.absent[i], r})
		}
		if r != o.last[i] {
			o.last[i] = r
		}
		o.absent[i] = real
	}
	return nil
}
