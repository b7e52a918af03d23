package main

import "slices"

// adopterMutations forget who adopts what a holder has left, and what a lease by writing turns into.
var adopterMutations = slices.Concat(
	in("lease/record/holder.go", mutation{
		What: "a lease by writing turns into another user's",
		Old:  " && h.UID == o.UID\n", New: "\n",
		Package: "./lease",
		Tests:   []string{"TestAnAutomaticLeaseAcquiredOnPurposeKeepsItsToken"},
	}, mutation{
		What: "a lease by writing turns into another process's",
		Old:  "\t\th.PID == o.PID && h.StartTime == o.StartTime && h.UID", New: "		h.UID",
		Package: "./lease",
		Tests:   []string{"TestAnAutomaticLeaseAcquiredOnPurposeKeepsItsToken"},
	}),
	in("lease/renewal.go", mutation{
		What: "the record keeps the scope that writing took",
		Old:  "	rec.Scope, rec.ScopeKey = h.holder.Scope, record.Clip(h.holder.ScopeKey, record.MaxText)\n", New: "",
		Tests: []string{"TestAnAutomaticLeaseAcquiredOnPurposeKeepsItsToken"},
	}),
	in("gate/revoked.go", mutation{
		What: "an epoch by writing keeps its scope",
		Old:  "return sameHolder(open, h) || open.Auto && admits(h, open)", New: "return sameHolder(open, h)",
		Tests: []string{"TestAnAutomaticEpochAcquiredOnPurposeGoesOn"},
	}, mutation{
		What: "an epoch on purpose changes its scope",
		Old:  "return sameHolder(open, h) || open.Auto && admits(h, open)", New: "return admits(h, open)",
		Tests: []string{"TestAnAutomaticEpochAcquiredOnPurposeGoesOn"},
	}),
	in("gate/holder.go", mutation{
		What: "an adopted orphan is a stranger",
		Old:  "		all = append(all, by)\n", New: "		_ = by\n",
		Tests: []string{"TestAdoptedOrphansBelongToTheHolder", "TestAdoptedOrphansOfARevokedHolderAreRefused"},
	}),
	in("gate/process/ancestors.go", mutation{
		What: "a number alone makes a member",
		Old:  "slices.Contains(roots, ID{at, began})", New: "slices.ContainsFunc(roots, func(p ID) bool { return p.PID == at })",
		Package: "./gate",
		Tests:   []string{"TestAdoptedOrphansBelongToTheHolder"},
	}),
	in("gate/liveness.go", mutation{
		Rule: 11, What: "a lease ends before who adopts has given it back",
		Old: "ok && live == lease.Gone {", New: "ok && false {",
		Tests: []string{"TestAdoptedOrphansBelongToTheHolder"},
	}, mutation{
		Rule: 11, What: "a lease lasts though who adopts has ended",
		Old: "return ofHolder(by.Liveness()), left", New: "_ = by\n\t\treturn lease.Alive, left",
		Tests: []string{"TestAdoptedOrphansBelongToTheHolder"},
	}),
)
