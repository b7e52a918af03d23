package main

import (
	"fmt"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

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
		c.byID[one.id()] = one
	}
	c.WentOn.settle(c.Log)
	c.Resumed = len(c.WentOn)
	c.checkLog()
	c.checkChanges()
	c.checkSlots()
	c.checkFiles()
	c.checkClaims()
	c.checkSteals()
	c.checkHolders()
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

// stale judges a write of a call that landed after a newer grant, and reports whether that may be. The time of
// a store through a mapping is known only if msync has succeeded: the page is written back, and perhaps held,
// at some time after the call.
func (c *checker) stale(one *call, line int, how string) {
	c.StaleLanded++
	switch {
	case one == nil:
		c.find(badStale, line, "%s", how)
	case one.acked():
		c.StaleAcked++
		c.find(badAcked, line, "%v: %s", one, how)
	case c.Late == 0 || one.Kind != callMap && one.End != 0 && time.Duration(one.End-one.Begin) <= c.Late:
		c.find(badStale, line, "%v: %s", one, how)
	}
}

// lost finds the acknowledged calls of the kinds that are not among what landed.
func (c *checker) lost(kinds string, seen map[[3]int]bool) {
	for _, one := range c.Calls {
		for _, k := range []byte(kinds) {
			if one.Kind == k && one.acked() && !seen[one.id()] {
				c.find(badLost, -1, "%v", one)
			}
		}
	}
}
