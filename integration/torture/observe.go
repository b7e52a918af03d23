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
	text   [slotsCount][plan.RecordSize]byte // what last was read from
	seen   []byte
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
	if o.seen == nil {
		o.seen = make([]byte, slotsCount*o.stride)
	}
	b := o.seen
	real, begin := plan.Realtime(), plan.Monotonic()
	if _, err := o.file.ReadAt(b, 0); err != nil {
		return err
	}
	end := plan.Monotonic()
	for i := range slotsCount {
		text := b[i*o.stride : i*o.stride+plan.RecordSize]
		// A write of a slot may be seen half done; the next look sees it whole.
		r, err := o.parse(i, text)
		if err != nil && !done {
			continue
		} else if err != nil {
			return err
		}
		if r != o.last[i] || done {
			o.Slots = append(o.Slots, observation{o.first + i, begin, end, o.absent[i], r})
		}
		o.last[i], o.text[i] = r, [plan.RecordSize]byte(text)
		o.absent[i] = real
	}
	return nil
}

// parse reads a register; mostly it is as it was.
func (o *observer) parse(i int, text []byte) (plan.Record, error) {
	switch {
	case [plan.RecordSize]byte(text) == o.text[i]:
		return o.last[i], nil
	case text[0] == 0:
		return plan.Record{}, nil
	}
	return plan.Parse(text)
}
