package main

import "slices"

// followMutations remove what two keepers of one lease keep of rules 1, 4, 8, 9 and 11.
var followMutations = slices.Concat(
	in("lease/follow.go", mutation{
		Rule: 4, What: "who joins has no lock",
		Old: "	h.open, h.joined, k.following = true, true, &follower{k, Stay}\n", New: "	k.gate.unlock()\n	h.open, k.following = true, &follower{k, Stay}\n",
		Tests: []string{"TestTwoKeepersKeepOneLease", "TestEachOfTwoKeepersHoldsTheGate"},
	}, mutation{
		Rule: 8, What: "a follower does not end at its own deadline",
		Old: "case !goesOn || k.expired(now):", New: "case !goesOn:",
		Tests: []string{"TestAFollowerEndsAtItsDeadline"},
	}, mutation{
		Rule: 8, What: "a follower goes on when its leader has ended",
		Old: "case !goesOn || k.expired(now):", New: "case !goesOn && false || k.expired(now):",
		Tests: []string{"TestTwoKeepersKeepOneLease"},
	}, mutation{
		Rule: 1, What: "a follower does not look for a successor",
		Old: "	case found:\n		k.part(LossSuperseded)\n", New: "	case found:\n",
		Tests: []string{"TestAFollowerClosesWhenASuccessorAppears"},
	}, mutation{
		Rule: 9, What: "a follower lets its lock go before it has drained",
		Old: "	k.cfg.Fence.Close(h.loss(kind, nil))\n", New: "	k.gate.unlock()\n	k.cfg.Fence.Close(h.loss(kind, nil))\n",
		Tests: []string{"TestAFollowerDrainsBeforeItReleasesTheGate"},
	}, mutation{
		Rule: 8, What: "a lease is joined after its deadline",
		Old: "			err = a.stillCounts(h)\n", New: "			err = nil\n",
		Tests: []string{"TestOnlyALeaseThatIsHeldIsJoined"},
	}, mutation{
		Rule: 4, What: "two keepers stand for one lease where flock proves nothing",
		Old: "!k.store.tier().followers() {", New: "false {",
		Tests: []string{"TestOnlyALeaseThatIsHeldIsJoined"},
	}),
	in("lease/ending.go", mutation{
		Rule: 11, What: "a follower gives the record back",
		Old: "	if k.following != nil {", New: "	if false {",
		Tests: []string{"TestAFollowerNeitherRenewsNorReleases"},
	}),
	in("lease/keeper_run.go", mutation{
		Rule: 8, What: "a follower renews",
		Old: "	if k.following != nil {", New: "	if false {",
		Tests: []string{"TestAFollowerNeitherRenewsNorReleases"},
	}),
)
