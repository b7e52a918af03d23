package main

import (
	"fmt"
	"sort"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// key orders the values of a slot as they must follow each other.
type key struct {
	token uint64
	seq   int
}

func (k key) below(o key) bool { return k.token < o.token || k.token == o.token && k.seq < o.seq }

// slot is an atomic register whose values are ordered. The value that is seen never goes back. It has every
// write that was acknowledged before, no refused write, and no write that came after a newer grant.
type slot struct {
	*checker
	number int
	acked  []*call // in the order of their ends
	floor  key
	was    plan.Record
	blur   int64 // what was acknowledged and had begun by then may have been overwritten where a mount observes
}

func (c *checker) checkSlots() {
	slots := make([]*slot, 2*slotsCount)
	for i := range slots {
		slots[i] = &slot{checker: c, number: i}
	}
	for _, one := range c.Calls {
		if (one.Kind == callSlot || one.Kind == callMap) && one.acked() {
			s := slots[slotOf(one.Kind, one.Seq)]
			s.acked = append(s.acked, one)
			c.Landed++ // or it is found to be lost
		}
	}
	for _, s := range slots {
		sort.Slice(s.acked, func(i, j int) bool { return s.acked[i].End < s.acked[j].End })
	}
	for _, o := range c.Slots {
		slots[o.Slot].see(o)
	}
}

func (s *slot) see(o observation) {
	for ; len(s.acked) > 0 && s.acked[0].End < o.Begin; s.acked = s.acked[1:] {
		if k := (key{s.WentOn.first(s.acked[0].Token), s.acked[0].Seq}); s.floor.below(k) && s.acked[0].Begin > s.blur {
			s.floor = k
		}
	}
	if o.Value == (plan.Record{}) {
		if s.floor != (key{}) {
			s.find(badLost, -1, "slot %d is empty after a write of token %d was acknowledged", s.number, s.floor.token)
			s.floor = key{}
		}
		return
	}
	if one := s.byID[[3]int{o.Value.Host, o.Value.PID, o.Value.Seq}]; s.observed(one) && !one.refused() {
		s.blur = o.End
	} else {
		s.judge(o)
	}
	// Also after a finding: once is enough for each.
	s.floor, s.was = key{s.WentOn.first(o.Value.Token), o.Value.Seq}, o.Value
}

func (s *slot) judge(o observation) {
	now, fresh := key{s.WentOn.first(o.Value.Token), o.Value.Seq}, o.Value != s.was
	var one *call
	if fresh {
		one = s.landed(o.Value, -1)
	}
	switch {
	case now.below(s.floor) && one != nil && now.token < s.floor.token:
		s.stale(one, -1, fmt.Sprintf("slot %d had token %d before", s.number, s.floor.token))
	case now.below(s.floor) && s.leftBehind(one, o.End):
	case now.below(s.floor):
		s.find(badBackwards, -1, "slot %d shows token %d seq %d after token %d seq %d", s.number, now.token, now.seq, s.floor.token, s.floor.seq)
	case fresh:
		s.outdated(one, o)
	}
}

// outdated finds a value that was not there yet when a newer token had been granted.
func (s *slot) outdated(one *call, o observation) {
	for _, b := range s.begin {
		if s.WentOn.first(b.Token) > s.WentOn.first(o.Value.Token) && o.Absent > b.Wall {
			s.stale(one, -1, fmt.Sprintf("slot %d did not have it %s after the grant of token %d", s.number, time.Duration(o.Absent-b.Wall), b.Token))
			return
		}
	}
}
