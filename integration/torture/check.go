package main

import (
	"fmt"
	"sort"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// The kinds of a call.
const (
	callAppend = 'a' // a line at the end of the log
	callSlot   = 'p' // a line over a slot of the slots' file
	callCreate = 'c' // a new file
)

// The results of a call that the checker tells apart; every other one, and none, leaves open whether it landed.
const (
	resultOK      = "ok"
	resultRefused = "EROFS"
)

// call is one system call of a writer, as the writer saw it.
type call struct {
	Kind       byte
	Token      uint64 // of the lease that the writer's handle was opened under
	Host, PID  int
	Handle     int
	Seq        int
	Begin, End int64 // monotonic; End 0 when it never returned
	Result     string
}

func (c *call) acked() bool   { return c.Result == resultOK }
func (c *call) refused() bool { return c.Result == resultRefused }

func (c *call) String() string {
	took := "never returned"
	if c.End != 0 {
		took = fmt.Sprintf("%s in %s", c.Result, time.Duration(c.End-c.Begin))
	}
	return fmt.Sprintf("%c token %d host %d pid %d handle %d seq %d: %s", c.Kind, c.Token, c.Host, c.PID, c.Handle, c.Seq, took)
}

// observation is what a reader of the backing store saw in a slot.
type observation struct {
	Slot       int
	Begin, End int64 // monotonic
	Value      plan.Record
}

// file is a created file that was found at the end. Born is the machine's wall clock, never later than the truth.
type file struct {
	Record plan.Record // as parsed from its name
	Born   int64
}

// evidence is all that is known of one history.
type evidence struct {
	Log    []plan.Record // in the order of landing
	Calls  []*call
	Slots  []observation // in the order of observing
	Files  []file
	Claims []uint64 // tokens that have a claim on disk at the end
	// Late is, where the gate is not to be had (tier C), how much later than its check a write may take effect without being
	// stale; a write that took longer may land stale, if it is not acknowledged. 0: no write may, however long it takes.
	Late time.Duration
}

// finding is one thing that must not be. Line is where it shows in the log, -1 elsewhere.
type finding struct {
	Kind string
	Text string
	Line int
}

// The kinds of a finding.
const (
	badStale     = "stale write"                    // an older token's write landed after a newer grant
	badAcked     = "stale write, acknowledged"      // and the writer was told that all is well
	badTwice     = "token granted twice"            // or not above all before it
	badGate      = "write under the taker's gate"   // landed while the taker had LOCK_EX
	badLost      = "acknowledged write lost"        //
	badLanded    = "refused write landed"           //
	badRepeated  = "write landed twice"             //
	badOrder     = "writer's order not kept"        //
	badUnknown   = "write of nobody"                // no call, or no grant, explains it
	badBackwards = "slot went back"                 // an older value came after a newer one
	badClaims    = "claims and grants do not agree" //
)

// tally is what a history was worth.
type tally struct {
	Grants, Takeovers, Landed int
	StaleLanded, StaleAcked   int
}

type checker struct {
	evidence
	byID  map[[3]int]*call // host, pid, seq
	begin []plan.Record    // the grants, in order
	tally
	bad []finding
}

// check decides whether the evidence is that of a fence. Pure.
func check(e evidence) ([]finding, tally) {
	c := &checker{evidence: e, byID: map[[3]int]*call{}}
	for _, one := range e.Calls {
		c.byID[[3]int{one.Host, one.PID, one.Seq}] = one
	}
	c.checkLog()
	c.checkSlots()
	c.checkFiles()
	c.checkClaims()
	return c.bad, c.tally
}

func (c *checker) find(kind string, line int, format string, args ...any) {
	c.bad = append(c.bad, finding{kind, fmt.Sprintf(format, args...), line})
}

// landed finds the call behind something that landed.
func (c *checker) landed(r plan.Record, line int) *call {
	one := c.byID[[3]int{r.Host, r.PID, r.Seq}]
	switch {
	case one == nil:
		c.find(badUnknown, line, "token %d host %d pid %d seq %d: nobody called that", r.Token, r.Host, r.PID, r.Seq)
	case one.refused():
		c.find(badLanded, line, "%v", one)
	}
	return one
}

// stale judges a write of a call that landed after a newer grant, and tells whether it may be.
func (c *checker) stale(one *call, line int, how string) {
	c.StaleLanded++
	switch {
	case one == nil:
		c.find(badStale, line, "%s", how)
	case one.acked():
		c.StaleAcked++
		c.find(badAcked, line, "%v: %s", one, how)
	case c.Late == 0 || one.End != 0 && time.Duration(one.End-one.Begin) <= c.Late:
		c.find(badStale, line, "%v: %s", one, how)
	}
}

// checkLog reads the log as it landed: between the grants, only writes of the last one.
func (c *checker) checkLog() {
	seen := map[[3]int]bool{}
	last := map[[2]int]int{}
	granted := map[uint64]plan.Record{}
	var head plan.Record
	for i, r := range c.Log {
		switch r.Kind {
		case plan.KindBegin:
			c.Grants++
			was, again := granted[r.Token]
			switch {
			case again:
				c.find(badTwice, i, "token %d for host %d pid %d and for host %d pid %d", r.Token, was.Host, was.PID, r.Host, r.PID)
			case r.Token < head.Token && c.Late == 0:
				c.find(badTwice, i, "token %d for host %d pid %d after token %d for host %d pid %d", r.Token, r.Host, r.PID, head.Token, head.Host, head.PID)
			}
			granted[r.Token] = r
			c.begin = append(c.begin, r)
			if r.Token < head.Token && c.Late != 0 {
				continue // without a gate the taker may be paused between its claim and this mark
			}
			if head.Token != 0 && (r.Host != head.Host || r.PID != head.PID) {
				c.Takeovers++
			}
			head = r
		case plan.KindData:
			c.Landed++
			one := c.landed(r, i)
			if g := granted[r.Token]; r.Token > head.Token || g.Host != r.Host || g.PID != r.PID {
				c.find(badUnknown, i, "token %d host %d pid %d seq %d, but that token was granted to host %d pid %d", r.Token, r.Host, r.PID, r.Seq, g.Host, g.PID)
			} else if r.Token < head.Token {
				c.stale(one, i, fmt.Sprintf("landed after the grant of token %d to host %d", head.Token, head.Host))
			} else {
				c.checkGate(i)
			}
			id := [3]int{r.Host, r.PID, r.Seq}
			if seen[id] {
				c.find(badRepeated, i, "token %d host %d pid %d seq %d", r.Token, r.Host, r.PID, r.Seq)
			}
			seen[id] = true
			if w := [2]int{r.Host, r.PID}; r.Seq < last[w] {
				c.find(badOrder, i, "host %d pid %d: seq %d after %d", r.Host, r.PID, r.Seq, last[w])
			} else {
				last[w] = r.Seq
			}
		}
	}
	for _, one := range c.Calls {
		if one.Kind == callAppend && one.acked() && !seen[[3]int{one.Host, one.PID, one.Seq}] {
			c.find(badLost, -1, "%v", one)
		}
	}
}

// checkGate finds a write of the right token that landed between a taker's LOCK_EX and its claim. A taker that gave up is none.
func (c *checker) checkGate(i int) {
	if c.Late != 0 {
		return
	}
	before := i - 1
	for before >= 0 && c.Log[before].Kind == plan.KindData {
		before--
	}
	after := i + 1
	for after < len(c.Log) && c.Log[after].Kind == plan.KindData {
		after++
	}
	if before < 0 || after == len(c.Log) {
		return
	}
	g, b := c.Log[before], c.Log[after]
	if g.Kind == plan.KindGate && b.Kind == plan.KindBegin && g.Token == b.Token && g.Host == b.Host && g.Token > c.Log[i].Token {
		c.find(badGate, i, "token %d landed while host %d held the gate to claim token %d", c.Log[i].Token, g.Host, g.Token)
	}
}

// key orders the values of a slot as they must follow each other.
type key struct {
	token uint64
	seq   int
}

func (k key) below(o key) bool { return k.token < o.token || k.token == o.token && k.seq < o.seq }

// checkSlots is an atomic register whose values are ordered: what is seen never goes back, holds every write that was
// acknowledged before, and no refused one.
func (c *checker) checkSlots() {
	acked := map[int][]*call{} // by slot, in the order of their ends
	for _, one := range c.Calls {
		if one.Kind == callSlot && one.acked() {
			acked[slotOf(one.Seq)] = append(acked[slotOf(one.Seq)], one)
		}
	}
	for _, a := range acked {
		sort.Slice(a, func(i, j int) bool { return a[i].End < a[j].End })
	}
	floor, next := map[int]key{}, map[int]int{}
	was := map[int]plan.Record{}
	for _, o := range c.Slots {
		for a := acked[o.Slot]; next[o.Slot] < len(a) && a[next[o.Slot]].End < o.Begin; next[o.Slot]++ {
			if one := a[next[o.Slot]]; floor[o.Slot].below(key{one.Token, one.Seq}) {
				floor[o.Slot] = key{one.Token, one.Seq}
			}
		}
		if o.Value == (plan.Record{}) {
			if floor[o.Slot] != (key{}) {
				c.find(badLost, -1, "slot %d is empty after a write of token %d was acknowledged", o.Slot, floor[o.Slot].token)
				floor[o.Slot] = key{}
			}
			continue
		}
		now := key{o.Value.Token, o.Value.Seq}
		fresh := o.Value != was[o.Slot]
		was[o.Slot] = o.Value
		var one *call
		if fresh {
			one = c.landed(o.Value, -1)
		}
		if now.below(floor[o.Slot]) {
			if fresh && one != nil && now.token < floor[o.Slot].token {
				c.stale(one, -1, fmt.Sprintf("slot %d had token %d before", o.Slot, floor[o.Slot].token))
			} else {
				c.find(badBackwards, -1, "slot %d shows token %d seq %d after token %d seq %d", o.Slot, now.token, now.seq, floor[o.Slot].token, floor[o.Slot].seq)
			}
		}
		// Also after a finding: once is enough for each.
		floor[o.Slot] = now
	}
}

// checkFiles holds the files that were made to the calls, and their births to the grants.
func (c *checker) checkFiles() {
	found := map[[3]int]bool{}
	for _, f := range c.Files {
		r := f.Record
		found[[3]int{r.Host, r.PID, r.Seq}] = true
		one := c.landed(r, -1)
		for _, b := range c.begin {
			if b.Token > r.Token && f.Born > b.Wall {
				c.stale(one, -1, fmt.Sprintf("a file was made %s after the grant of token %d", time.Duration(f.Born-b.Wall), b.Token))
				break
			}
		}
	}
	for _, one := range c.Calls {
		if one.Kind == callCreate && one.acked() && !found[[3]int{one.Host, one.PID, one.Seq}] {
			c.find(badLost, -1, "%v", one)
		}
	}
}

// checkClaims holds the grants to the claims on disk: none is missing, none was skipped.
func (c *checker) checkClaims() {
	on := map[uint64]bool{}
	for _, t := range c.Claims {
		on[t] = true
	}
	for i := 1; i <= len(c.Claims); i++ {
		if !on[uint64(i)] {
			c.find(badClaims, -1, "%d claims, but none of token %d", len(c.Claims), i)
			return
		}
	}
	for _, b := range c.begin {
		if !on[b.Token] {
			c.find(badClaims, -1, "token %d was granted, and has no claim", b.Token)
		}
	}
}

// slotsCount is how many slots the slots' file has.
const slotsCount = 4

func slotOf(seq int) int { return seq % slotsCount }
