package main

import "slices"

// goOnMutations remove clauses of rule 16: how a paused holder goes on.
var goOnMutations = slices.Concat(
	in("lease/resume.go", mutation{
		Rule: 16, What: "a holder goes on though it has had no LOCK_SH: a renewal had failed",
		Old: "k.following == nil && h.open && h.offer == nil", New: "k.following == nil && h.offer == nil",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "a holder goes on where other hosts write the store",
		Old: "	return k.resumes() && k.following", New: "	return k.following",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "a holder goes on while its daemon is being replaced",
		Old: "&& !h.handing && k.cfg.Resumes()\n", New: "&& !h.handing\n",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "a holder that has ended goes on",
		Old: "	case live == Gone:\n		return k.expire(why)\n", New: "",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "a holder goes on though the gate that it has is no longer the gate",
		Old: "	if err := k.gate.intact(); err != nil {\n		return k.expire(err)\n	}\n	k.shown", New: "	k.shown",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "a holder goes on though its claim is not the head any more, or was released",
		Old: "	if _, err := unreleased(old.claim); err != nil { // it", New: "	if _, err := unreleased(old.claim); false { // it",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "the next token is claimed with writes of the one before in flight",
		Old: "	k.cfg.Fence.Close(old.loss(LossResumed, nil))\n", New: "	defer k.cfg.Fence.Close(old.loss(LossResumed, nil))\n",
		Tests: []string{"TestAResumedEpochDrainsBeforeTheNextClaim"},
	}, mutation{
		Rule: 16, What: "a holder goes on without an audit event",
		Old: "	if err := k.tell.Now(event); err != nil {\n", New: "	if err := k.tell.Now(event); err != nil && false {\n",
		Tests: []string{"TestAHolderGoesOnOnlyWithItsAuditEvent"},
	}, mutation{
		Rule: 16, What: "whether the claim was won is not asked",
		Old: "	if err == nil && !won {\n", New: "	if err == nil && !won && false {\n",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "the fence opens though the new deadline has come, too",
		Old: "	if err == nil && now >= next.deadline-p.CloseLead() {\n", New: "	if false && now > 0 {\n",
		Tests: []string{"TestAPausedHolderWithoutProofLosesItsLease"},
	}, mutation{
		Rule: 16, What: "a holder that is stopped goes on for ever, so nobody can take over",
		Old: "(!late || k.cur.spared)", New: "!late",
		Tests: []string{"TestAHolderGoesOnWhenItsDaemonWakesFirst"},
	}, mutation{
		Rule: 16, What: "a holder that is stopped with its daemon loses what it has stored through mappings",
		Old: "live == Stopped && (!late || k.cur.spared)", New: "live == Stopped && (late || !late)",
		Tests: []string{"TestAHolderGoesOnWhenItsDaemonWakesFirst"},
	}, mutation{
		Rule: 16, What: "another keeper of the lease need not have drained",
		Old: "(!late || k.cur.spared), k.cur.joined:", New: "(!late || k.cur.spared):",
		Tests: []string{"TestALeaseOfTwoKeepersGoesOnWhenTheOtherHasDrained"},
	}, mutation{
		Rule: 16, What: "a stopped holder is closed too late to write its pages back",
		Old: "now >= h.deadline-k.cfg.Policy.PauseLead() {", New: "now >= h.deadline {",
		Tests: []string{"TestAStoppedHolderIsClosedInTimeToWriteItsPagesBack"},
	}, mutation{
		Rule: 16, What: "nobody is told that a stopped holder was robbed",
		Old: "		k.endPause(LossSuperseded, by)\n		return\n", New: "		_ = by\n		return\n",
		Tests: []string{"TestAPauseEndsInALossAfterATakeover"},
	}),
	in("lease/steal.go", mutation{
		Rule: 16, What: "a stopped holder takes a lease again that somebody else has had, and given back",
		Old: "	case tk.unasked && !tk.isOwn(h):\n		return k.store.conflict(h, j)\n", New: "",
		Tests: []string{"TestAStoppedHolderTakesNothingThatAnotherHasHad"},
	}, mutation{
		Rule: 16, What: "what was opened before goes on though somebody else was in between",
		Old: "	if tk.goesOn {\n		h.first", New: "	if k.lapsed != nil && k.lapsed.paused {\n		h.first",
		Tests: []string{"TestAPauseEndsInALossAfterATakeover"},
	}, mutation{
		Rule: 16, What: "what was opened before does not go on after a debugger",
		Old: "		h.first = k.lapsed.since()\n", New: "",
		Tests: []string{"TestAStoppedHolderGoesOnWhenItIsResumed", "TestAStoppedHolderThatAsksGoesOn"},
	}),
	in("lease/keeper_run.go", mutation{
		Rule: 16, What: "nobody looks whether a stopped holder was resumed",
		Old: "	case k.paused():\n		return k.cfg.Tick\n", New: "",
		Tests: []string{"TestAStoppedHolderGoesOnWhenItIsResumed"},
	}),
	in("lease/fence.go", mutation{
		Rule: 16, What: "a lease covers tokens of before its holder",
		Old: "since != 0 && since <= t && t < last", New: "since != 0 && t < last",
		Tests: []string{"TestAPausedHolderGoesOnUnderTheNextToken"},
	}),
	in("gate/resume.go", mutation{
		Rule: 16, What: "handles of before the holder go on",
		Old: "&& e.since <= id.number && id.number < e.id.number", New: "&& id.number < e.id.number",
		Tests: []string{"TestAnEpochLetsEarlierHandlesOfItsHolderWrite"},
	}, mutation{
		Rule: 16, What: "the next token may be claimed before what is in flight has ended",
		Old: "	if e != nil {\n		e.end()\n	}\n}\n\n// paused", New: "	if e != nil {\n		e.close()\n	}\n}\n\n// paused",
		Tests: []string{"TestNoMutationEntersBetweenTheDeadlineAndTheNewClaim"},
	}, mutation{
		Rule: 16, What: "a holder that goes on stays out",
		Old: "	g.revoked.forgive(gr)\n", New: "",
		Tests: []string{"TestAStoppedHolderThatResumesMayTakeTheLeaseAgain"},
	}, mutation{
		Rule: 16, What: "a holder is refused for being earlier than its keeper",
		Old: "	if a.probe || !a.mayResume(e) {\n", New: "	if true {\n",
		Tests: []string{"TestAWriteByHandleWaitsUntilItsHolderResumes", "TestAWriteByNameWaitsUntilItsHolderResumes"},
	}, mutation{
		Rule: 16, What: "what it has open goes on though stores through mappings were dropped",
		Old: "e.unsaved = e.over(now) || g.yield(ctx) != nil || e.over(g.cfg.Clock.Boot())", New: "_ = g.yield(ctx)",
		Tests: []string{"TestAStoppedHolderWhoseStoresWereLostDoesNotResume"},
	}, mutation{
		Rule: 16, What: "what did not go on once goes on with the next pause",
		Old: "		e.since = max(e.since, last.since)\n", New: "",
		Tests: []string{"TestAStoppedHolderWhoseStoresWereLostDoesNotResume"},
	}),
	in("gate/guard.go", mutation{
		Rule: 16, What: "the kernel's caches stay though the holder has not gone on",
		Old:   "	e, over := g.paused()\n	if e == nil {\n		e, over = g.open.Swap(nil), make(chan struct{})\n	}\n",
		New:   "	_, over := g.paused()\n	e := g.open.Swap(nil)\n	if over == nil {\n		over = make(chan struct{})\n	}\n",
		Tests: []string{"TestAHolderThatWaitsToResumeIsRefusedAfterATakeover"},
	}),
	in("cmd/jvsfs/internal/daemon/leases/loss.go", mutation{
		Rule: 16, What: "exec ends its command though the lease goes on",
		Old: "			if l.Covers(token) && l.Kind.Final() {\n", New: "			if l.Covers(token) && l.Kind != lease.LossRenewFailed {\n",
		Tests: []string{"TestAwaitLossIgnoresOtherTokensAndFailedRenewals"},
	}, mutation{
		Rule: 16, What: "exec is not told when a lease that went on is lost",
		Old: "			if l.Covers(token) && l.Kind.Final() {\n", New: "			if l.Token == token && l.Kind.Final() {\n",
		Tests: []string{"TestAwaitLossIgnoresOtherTokensAndFailedRenewals"}, Hangs: true,
	}),
	in("cmd/jvsfs/internal/daemon/journal/journal.go", mutation{
		Rule: 16, What: "the next daemon keeps a holder out that went on",
		Old: "func(r RevokedHolder) bool { return g.Covers(r.Token) }", New: "func(r RevokedHolder) bool { return false }",
		Tests: []string{"TestJournalKnowsWhoGoesOnAfterAPause"},
	}),
	in("cmd/jvsfs/internal/daemon/succession/predecessors.go", mutation{
		Rule: 9, What: "the kernel keeps what it knows although the mount follows another one by then",
		Old: "	if follows() {\n", New: "	if false {\n",
		Tests: []string{"TestTheEndOfAReplacedDaemonIsWaitedFor"},
	}),
	in("cmd/jvsfs/internal/daemon/succession/latch.go", mutation{
		Rule: 9, What: "leases change while another daemon is told of them",
		Old: "	if r.by != nil {\n		return nil, false\n	}\n	r.inside++", New: "	r.inside++",
		Tests: []string{"TestTheLatchOfARetiringDaemonKeepsChangesOut"},
	}),
	in("cmd/jvsfs/internal/daemon/leases/registry.go", mutation{
		Rule: 9, What: "a worktree that is seen first while leases are handed over may be acquired",
		Old: "	r.shut = shut\n", New: "",
		Tests: []string{"TestNobodyAcquiresBehindShutLatches"},
	}),
)
