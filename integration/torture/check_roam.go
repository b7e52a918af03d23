package main

import "github.com/jvsfs/jvsfs/integration/torture/plan"

// roaming is what is known of the roaming worktree while its log is read.
type roaming struct {
	late    bool // a store without a gate: what was late may be stale, but not under a former name
	at      int  // the number of its name, -1 while it is being renamed
	granted map[uint64]plan.Record
	loose   map[int]bool // as in ordering
	sealed  map[int]bool
	wentOn  wentOn
	head    [2]plan.Record
	bad     []finding
	moved   int
	landed  int
}

// checkRoam checks the writes to a worktree whose root is renamed. A write under the lease of a former name
// must not land once the rename has been answered. Pure.
func checkRoam(records []plan.Record, on wentOn, late bool) (bad []finding, moved, landed int) {
	on.settle(records)
	r := &roaming{late: late, wentOn: on, granted: map[uint64]plan.Record{}, loose: map[int]bool{}, sealed: map[int]bool{}}
	for i, one := range records {
		name := int(one.Token / roamBase)
		switch one.Kind {
		case plan.KindMoving:
			r.at = -1
		case plan.KindStays:
			r.at = name
		case plan.KindMoved:
			r.at = name
			r.moved++
		case plan.KindLoose, plan.KindStrict:
			r.loose[one.Host] = one.Kind == plan.KindLoose
		case plan.KindSealed, plan.KindUnsealed:
			r.sealed[one.Host] = one.Kind == plan.KindSealed
		case plan.KindBegin:
			r.grant(one, name)
		case plan.KindData:
			r.landed++
			r.write(i, one, name)
		}
	}
	return r.bad, r.moved, r.landed
}

func (r *roaming) grant(b plan.Record, name int) {
	if _, again := r.granted[b.Token]; again || b.Token < r.head[name].Token && !r.late {
		r.find(badTwice, b, "granted again, or after a newer one")
	}
	r.granted[b.Token] = b
	if b.Token > r.head[name].Token {
		r.head[name] = b
	}
}

func (r *roaming) write(line int, d plan.Record, name int) {
	switch {
	case r.sealed[d.Host]:
		r.find(badSealed, d, "landed at line %d", line)
	case r.loose[d.Host]:
	case r.at >= 0 && name != r.at:
		r.find(badRoot, d, "landed at line %d, when the worktree had been renamed to %s", line, roamNames[r.at])
	case !sameHolder(r.granted[d.Token], d):
		r.find(badUnknown, d, "landed at line %d", line)
	case r.wentOn.first(d.Token) < r.wentOn.first(r.head[name].Token) && !r.late:
		r.find(badStale, d, "landed at line %d, after the grant of token %d", line, r.head[name].Token%roamBase)
	}
}

func (r *roaming) find(kind string, of plan.Record, format string, args ...any) {
	r.bad = append(r.bad, newFinding(kind, of, format, args...))
}
