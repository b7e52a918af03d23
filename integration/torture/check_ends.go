package main

import (
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
	"github.com/jvsfs/jvsfs/lease"
)

// checkFiles compares the files with the calls, and their times of birth with the grants. A file must not be
// left if a writer was told that it is removed.
func (c *checker) checkFiles() {
	found := map[string]file{}
	for _, f := range c.Files {
		r := f.Record
		if r.Token >= foreignBase {
			continue // judged where it landed
		}
		found[r.Name()] = f
		one := c.landed(r, -1)
		for _, b := range c.begin {
			if c.WentOn.first(b.Token) > c.WentOn.first(r.Token) && f.Born > b.Wall && !c.observed(one) {
				c.stale(one, -1, "a file was made "+time.Duration(f.Born-b.Wall).String()+" after the grant of a newer token")
				break
			}
		}
	}
	gone := map[string]bool{}
	for _, one := range c.Calls {
		if (one.Kind == callUnlink || one.Kind == callRename) && !one.refused() {
			gone[one.Target] = true // or may be
		}
	}
	for _, one := range c.Calls {
		f, there := found[one.name()]
		c.checkFile(one, f, there, gone[one.name()])
	}
}

func (c *checker) checkFile(one *call, f file, there, gone bool) {
	switch one.Kind {
	case callCreate:
		if one.acked() && !there && !gone {
			c.find(badLost, -1, "%v", one)
		}
	case callUnlink, callRename:
		if one.acked() && there {
			c.find(badLost, -1, "%v: the name is still there", one)
		}
	case callTruncate:
		switch {
		case one.acked() && there && f.Size != int64(one.Seq):
			c.find(badLost, -1, "%v: the file has %d bytes", one, f.Size)
		case one.refused() && there && f.Size != 0:
			c.find(badLanded, -1, "%v: the file has %d bytes", one, f.Size)
		}
	}
}

// checkClaims holds the grants to the claims on disk: none is missing, none was skipped. On tier A those before the newest may have
// been swept.
func (c *checker) checkClaims() {
	on, first := map[uint64]bool{}, uint64(1)
	for _, t := range c.Claims {
		on[t] = true
		if c.Late == 0 && t > lease.ClaimsKept {
			first = max(first, t-lease.ClaimsKept+1)
		}
	}
	kept := uint64(len(c.Claims))
	if first > 1 {
		kept = lease.ClaimsKept
	}
	for i := range kept {
		if !on[first+i] && first+i >= c.Raised {
			c.find(badClaims, -1, "%d claims, but none of token %d", len(c.Claims), first+i)
			return
		}
	}
	for _, b := range c.begin {
		if !on[b.Token] && b.Token >= first {
			c.find(badClaims, -1, "token %d was granted, and has no claim", b.Token)
		}
	}
}

// checkSteals demands an audit event for every grant over a claim that was never given back, unless the holder
// of that claim continues.
func (c *checker) checkSteals() {
	by := map[uint64]plan.Record{}
	for _, b := range c.begin {
		by[b.Token] = b
	}
	for _, b := range c.begin {
		before, known := by[b.Token-1]
		if c.Left[b.Token-1] && (!known || !sameHolder(before, b)) && !c.Steals[b.Token] && !c.Passed[b.Token] {
			c.find(badUnaudited, -1, "token %d was granted to host %d pid %d over a claim that was not given back", b.Token, b.Host, b.PID)
		}
	}
}

// checkHolders finds grants that must not exist: those of users who may not write, and those whose tokens
// nobody granted.
func (c *checker) checkHolders() {
	for _, b := range c.begin {
		if c.Strangers[[2]int{b.Host, b.PID}] {
			c.find(badStranger, -1, "token %d was granted to host %d pid %d, whose user may not write there", b.Token, b.Host, b.PID)
		}
		if b.Token >= 1<<60 {
			c.find(badBounds, -1, "token %d was granted to host %d pid %d", b.Token, b.Host, b.PID)
		}
	}
}
