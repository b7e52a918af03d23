package main

import "slices"

// adopterMutations forget who adopts what a holder has left.
var adopterMutations = slices.Concat(
	in("gate/adopter.go", mutation{
		What: "an adopted orphan is a stranger",
		Old:  "		all = append(all, by)\n", New: "		_ = by\n",
		Tests: []string{"TestAdoptedOrphansBelongToTheHolder", "TestAdoptedOrphansAreOfTheCrowd"},
	}),
	in("gate/scope.go", mutation{
		What: "a number alone makes a member",
		Old:  "slices.Contains(roots, process{at, began})", New: "slices.ContainsFunc(roots, func(p process) bool { return p.pid == at })",
		Tests: []string{"TestAdoptedOrphansBelongToTheHolder"},
	}),
	in("gate/liveness.go", mutation{
		Rule: 11, What: "a lease ends before who adopts has given it back",
		Old: "ok && live == lease.Gone {", New: "ok && false {",
		Tests: []string{"TestAdoptedOrphansBelongToTheHolder"},
	}, mutation{
		Rule: 11, What: "a lease lasts though who adopts has ended",
		Old: "return by.liveness(), left", New: "_ = by\n\t\treturn lease.Alive, left",
		Tests: []string{"TestAdoptedOrphansBelongToTheHolder"},
	}),
)
