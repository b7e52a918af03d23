package main

import "slices"

// sweepMutations remove clauses of rule 15, and of what a writer need not wait for while a lease passes on.
var sweepMutations = slices.Concat(
	in("lease/sweeper.go", mutation{
		Rule: 15, What: "nothing is swept, so listings grow with the tokens that were used",
		Old: "	for ; n > 0; n-- {\n", New: "	for ; n < 0; n-- {\n",
		Tests: []string{"TestClaimsThatShowNoRevocationAreSwept"},
	}, mutation{
		Rule: 15, What: "numbers that were left out are counted through",
		Old: "(!w.begun || w.jumped(head)) &&", New: "!w.begun &&",
		Tests: []string{"TestAJumpOfTokensIsNotCountedThrough"},
	}, mutation{
		Rule: 15, What: "a claim is swept that was never given back",
		Old: "	if free && released && auto {\n", New: "	if free && auto {\n",
		Tests: []string{"TestClaimsThatShowARevocationAreNotSwept"},
	}, mutation{
		Rule: 15, What: "a claim is swept that was taken on purpose, so who was robbed before stays out",
		Old: "	if free && released && auto {\n", New: "	if free && released && (auto || true) {\n",
		Tests: []string{"TestClaimsThatShowARevocationAreNotSwept"},
	}, mutation{
		Rule: 15, What: "the claim is swept that tells how the one before it ended",
		Old: "	if free && released && auto {\n", New: "	if (free || true) && released && auto {\n",
		Tests: []string{"TestClaimsThatShowARevocationAreNotSwept"},
	}, mutation{
		Rule: 15, What: "what cannot be read is swept",
		Old: "		case h.Record == nil || h.Record.FencingToken != t:\n			w.ended = false", New: "		case h.Record == nil || h.Record.FencingToken != t:\n			s.removeClaim(t)\n			w.ended = false",
		Tests: []string{"TestClaimsThatShowARevocationAreNotSwept"},
	}, mutation{
		Rule: 15, What: "the newest claims are swept, too",
		Old: "	if w.next+w.keep > head {\n", New: "	if w.next >= head {\n",
		Tests: []string{"TestClaimsThatShowNoRevocationAreSwept"},
	}, mutation{
		Rule: 15, What: "claims that say something pile up for ever",
		Old: "len(w.kept)+int(w.keep) > PastKept {", New: "false {",
		Tests: []string{"TestOldClaimsThatShowARevocationAreSweptInTheEnd"},
	}),
	in("lease/keeper_run.go", mutation{
		Rule: 15, What: "who does not hold the lease sweeps, or where other kernels write",
		Old: "	return k.cur != nil && k.cur.open && !k.cur.handing && k.following == nil && k.store.tier().sweeps()\n", New: "	return true\n",
		Tests: []string{"TestOnlyAHolderOnOneKernelSweepsClaims"},
	}, mutation{
		Rule: 15, What: "who has offered the lease, and has no lock, sweeps",
		Old: "k.cur.open && !k.cur.handing && k.following", New: "k.cur.open && k.following",
		Tests: []string{"TestOnlyAHolderOnOneKernelSweepsClaims"},
	}, mutation{
		Rule: 15, What: "a follower sweeps",
		Old: "!k.cur.handing && k.following == nil && ", New: "!k.cur.handing && ",
		Tests: []string{"TestOnlyAHolderOnOneKernelSweepsClaims"},
	}),
	in("lease/steal.go", mutation{
		Rule: 2, What: "a look of before is believed though a stamp has moved, on purpose, or where stamps prove nothing",
		Old: "	if !free || !tk.holder.Auto || !tk.k.store.tier().gateProvesEnd() {\n", New: "	if !free && false {\n",
		Tests: []string{"TestAFreeHeadThatWasJustSeenIsNotReadAgain"},
	}),
	in("lease/audit/log.go", mutation{
		Rule: 12, What: "of several events at once the first is anchored, not the last",
		Old: "		last.Begin = at.size + int64(len(text))\n", New: "		last.Begin = max(last.Begin, at.size)\n",
		Tests: []string{"TestAppendAllWritesTheSameLinesAsSeveralAppends"},
	}),
	in("gate/lease_history.go", mutation{
		Rule: 9, What: "who was robbed is not looked for when the head was given back by another holder",
		Old: "	return n > 0 && g.past[n-1].Token == key.token && !g.learnt.expired && before == key\n", New: "	return n > 0 && before != (headKey{})\n",
		Tests: []string{"TestRecordsAreReadAgainUnlessOnlyTheHeadWasGivenBack"},
	}),
)
