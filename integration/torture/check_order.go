package main

import (
	"fmt"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// ordering reads what landed in the order of landing: between the grants, only writes of the last one.
type ordering struct {
	*checker
	records []plan.Record
	shown   bool // a line of it can be shown
	seen    map[[3]int]bool
	last    map[[2]int]int // writer -> seq
	granted map[uint64]plan.Record
	head    plan.Record
	loose   map[int]bool // hosts whose mount observes: what lands there may
	sealed  map[int]bool // hosts whose mount is read-only: nothing may
}

func (c *checker) order(records []plan.Record, shown bool) *ordering {
	return &ordering{checker: c, records: records, shown: shown,
		seen: map[[3]int]bool{}, last: map[[2]int]int{}, granted: map[uint64]plan.Record{}, loose: map[int]bool{}, sealed: map[int]bool{}}
}

func (c *checker) checkLog() {
	o := c.order(c.Log, true)
	o.check(func(b plan.Record) {
		c.Grants++
		c.begin = append(c.begin, b)
		if o.follows(b) && o.head.Token != 0 && !sameHolder(b, o.head) {
			c.Takeovers++
		}
	})
	c.lost("a", o.seen)
}

func sameHolder(a, b plan.Record) bool { return a.Host == b.Host && a.PID == b.PID }

func (o *ordering) check(granted func(plan.Record)) {
	for i, r := range o.records {
		switch r.Kind {
		case plan.KindBegin:
			granted(r)
			o.grant(i, r)
		case plan.KindData:
			o.Landed++
			if r.Token >= foreignBase {
				o.foreign(i, r)
				break
			}
			o.write(i, r)
		case plan.KindLoose, plan.KindStrict:
			o.loose[r.Host] = r.Kind == plan.KindLoose
		case plan.KindSealed, plan.KindUnsealed:
			o.sealed[r.Host] = r.Kind == plan.KindSealed
		}
	}
}

func (o *ordering) line(i int) int {
	if o.shown {
		return i
	}
	return -1
}

// follows is whether a grant counts as one in its place: without a gate the taker may be paused between its claim and this mark.
func (o *ordering) follows(b plan.Record) bool { return o.Late == 0 || b.Token >= o.head.Token }

func (o *ordering) grant(i int, r plan.Record) {
	was, again := o.granted[r.Token]
	switch {
	case again:
		o.find(badTwice, o.line(i), "token %d for host %d pid %d and for host %d pid %d", r.Token, was.Host, was.PID, r.Host, r.PID)
	case r.Token < o.head.Token && o.Late == 0:
		o.find(badTwice, o.line(i), "token %d for host %d pid %d after token %d for host %d pid %d", r.Token, r.Host, r.PID, o.head.Token, o.head.Host, o.head.PID)
	}
	o.granted[r.Token] = r
	if o.follows(r) {
		o.head = r
	}
}

func (o *ordering) write(i int, r plan.Record) {
	one := o.landed(r, o.line(i))
	g := o.granted[r.Token]
	switch {
	case o.sealed[r.Host]:
		o.find(badSealed, o.line(i), "%v: landed after its mount had been switched to readonly", one)
	case o.loose[r.Host]:
		o.Observed++
	case r.Token > o.head.Token || !sameHolder(g, r):
		o.find(badUnknown, o.line(i), "token %d host %d pid %d seq %d, but that token was granted to host %d pid %d", r.Token, r.Host, r.PID, r.Seq, g.Host, g.PID)
	case r.Token < o.head.Token && o.granted[o.Given[r.Token]].Token != 0:
		o.find(badGiven, o.line(i), "%v: token %d had been handed over as %d", one, r.Token, o.Given[r.Token])
	case o.WentOn.first(r.Token) < o.WentOn.first(o.head.Token):
		o.stale(one, o.line(i), fmt.Sprintf("landed after the grant of token %d to host %d", o.head.Token, o.head.Host))
	default:
		o.checkGate(i)
	}
	o.sequence(i, r)
}

// sequence holds a writer's writes to its own order.
func (o *ordering) sequence(i int, r plan.Record) {
	id, w := [3]int{r.Host, r.PID, r.Seq}, [2]int{r.Host, r.PID}
	if o.seen[id] {
		o.find(badRepeated, o.line(i), "token %d host %d pid %d seq %d", r.Token, r.Host, r.PID, r.Seq)
	}
	o.seen[id] = true
	if r.Seq < o.last[w] {
		o.find(badOrder, o.line(i), "host %d pid %d: seq %d after %d", r.Host, r.PID, r.Seq, o.last[w])
		return
	}
	o.last[w] = r.Seq
}

// checkGate finds a write of the right token that landed between a taker's LOCK_EX and its claim. A taker that
// gave up does not count.
func (o *ordering) checkGate(i int) {
	if o.Late != 0 {
		return
	}
	before, after := i-1, i+1
	for before >= 0 && !o.takers(before) {
		before--
	}
	for after < len(o.records) && !o.takers(after) {
		after++
	}
	if before < 0 || after == len(o.records) {
		return
	}
	g, b := o.records[before], o.records[after]
	if g.Kind == plan.KindGate && b.Kind == plan.KindBegin && g.Token == b.Token && g.Host == b.Host && g.Token > o.records[i].Token {
		o.find(badGate, o.line(i), "token %d landed while host %d held the gate to claim token %d", o.records[i].Token, g.Host, g.Token)
	}
}

// takers is whether the record is the mark of a taker.
func (o *ordering) takers(i int) bool {
	return o.records[i].Kind == plan.KindGate || o.records[i].Kind == plan.KindBegin
}

// foreign finds a write under other records that landed while somebody held by these: before it and after it something landed under
// the same token.
func (o *ordering) foreign(i int, r plan.Record) {
	ours := func(i int) bool { return o.records[i].Kind == plan.KindData && o.records[i].Token < foreignBase }
	before, after := i-1, i+1
	for before >= 0 && !ours(before) {
		before--
	}
	for after < len(o.records) && !ours(after) {
		after++
	}
	if before >= 0 && after < len(o.records) && o.records[before].Token == o.records[after].Token {
		o.find(badRecords, o.line(i), "host %d pid %d wrote as a holder by other records, while token %d was held", r.Host, r.PID, o.records[before].Token)
	}
}
