package main

import "github.com/jvsfs/jvsfs/integration/torture/plan"

// wentOn are the tokens under which the holder of the one before goes on.
type wentOn map[uint64]bool

// first is the first token of a holder that went on under t. What was opened under any of them goes on.
func (w wentOn) first(t uint64) uint64 {
	for w[t] {
		t--
	}
	return t
}

// settle keeps those who did: the event comes first, and then another may have won the token.
func (w wentOn) settle(log []plan.Record) {
	granted := map[uint64]plan.Record{}
	for _, r := range log {
		if r.Kind == plan.KindBegin {
			granted[r.Token] = r
		}
	}
	for t := range w {
		before, known := granted[t-1]
		if now, won := granted[t]; !known || !won || !sameHolder(before, now) {
			delete(w, t)
		}
	}
}
