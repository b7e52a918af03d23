package main

import "slices"

// endMutations remove clauses of rules 9 to 14: how a lease ends, and how the next one begins.
var endMutations = slices.Concat(losing, lateWrites, releasing, stealing, handingOver)

var losing = slices.Concat(
	in("gate/epoch.go", mutation{
		Rule: 9, What: "a mutation is judged first and counted in flight afterwards",
		Old: "	e.inflight.Add(1)\n	if e.stopped.Load() != nil {\n		e.leave()\n		return false\n	}\n",
		New: `	if e.stopped.Load() != nil || int64(clock.Boot()) >= e.deadline.Load() {
		return false
	}
	e.inflight.Add(1)
`,
		Tests: []string{"TestAMutationIsCountedBeforeItIsJudged"},
	}, mutation{
		Rule: 9, What: "what enters after the end is let in",
		Old: "	if e.stopped.Load() != nil {\n		e.leave()\n		return false\n	}\n", New: "",
		Tests: []string{"TestAMutationIsCountedBeforeItIsJudged"},
	}, mutation{
		Rule: 9, What: "the end does not wait for what is in flight",
		Old: "	_ = e.drain(context.Background()) // which does not end\n", New: "",
		Tests: []string{"TestAMutationIsCountedBeforeItIsJudged", "TestCloseWaitsForWhatIsInFlight"},
	}, mutation{
		Rule: 9, What: "the first to leave ends the wait, not the last",
		Old:   "	if e.inflight.Add(-1) == 0 {\n		e.mayBeEmpty()\n",
		New:   "	e.inflight.Add(-1)\n	if a := e.awaited.Load(); a != nil {\n		e.emptied(a)\n",
		Tests: []string{"TestTheLastMutationToLeaveEndsTheWait"},
	}, mutation{
		Rule: 9, What: "a zero that was counted before somebody else entered ends the wait",
		Old: "a != nil && e.inflight.Load() == 0 {", New: "a != nil {",
		Tests: []string{"TestAStaleZeroDoesNotEndTheWait"},
	}, mutation{
		Rule: 9, What: "the last to leave wakes nobody",
		Old: "a != nil && e.inflight.Load() == 0 {", New: "false && a != nil {",
		Tests: []string{"TestTheLastMutationToLeaveEndsTheWait"}, Hangs: true,
	}, mutation{
		Rule: 9, What: "a deadline that passed refuses nobody by itself",
		Old: "if now >= d {", New: "if false && now >= d {",
		Tests: []string{"TestWritesAreRefusedAfterTheDeadline"},
	}),
	in("gate/guard.go", mutation{
		Rule: 9, What: "a close refuses, but drains nothing",
		Old: "		e.end()\n		g.runDrained()\n", New: "		e.close()\n		g.runDrained()\n",
		Tests: []string{"TestCloseWaitsForWhatIsInFlight"},
	}, mutation{
		Rule: 9, What: "the kernel's caches are dropped before the drain",
		Old: "		e.end()\n		g.runDrained()\n		g.runClose(l)\n", New: "		e.close()\n		g.runClose(l)\n		e.end()\n",
		Tests: []string{"TestCachesAreDroppedAfterTheDrainAndBeforeTheCloseReturns"},
	}, mutation{
		Rule: 9, What: "the kernel's caches are not dropped",
		Old: "		g.runDrained()\n		g.runClose(l)\n", New: "		g.runDrained()\n",
		Tests: []string{"TestCachesAreDroppedAfterTheDrainAndBeforeTheCloseReturns"},
	}),
	in("gate/free.go", mutation{
		Rule: 9, What: "what was written without a lease is not drained before one opens",
		Old: "		f.end()\n", New: "",
		Tests: []string{"TestALeaseOpensAfterWhatWasWrittenWithoutOneIsDrained"},
	}, mutation{
		Rule: 9, What: "a period without a lease begins while the one before drains",
		Old: "		f.end()\n		g.free.Store(nil)", New: "		g.free.Store(nil)\n		f.end()",
		Tests: []string{"TestReadOnlyWaitsForWhatIsWrittenWithoutALease"},
	}),
	in("lease/ending.go", mutation{
		Rule: 9, What: "the loss is reported before the drain",
		Old: "	k.cfg.Pause(\"lose.before_close\")\n", New: "	e.report(h)\n",
		Tests: []string{"TestALossIsReportedAfterTheDrain"},
	}, mutation{
		Rule: 9, What: "a failed renewal is reported before the drain",
		Old: "	e.close(h)\n	e.report(h)\n", New: "	e.report(h)\n	e.close(h)\n",
		Tests: []string{"TestALossIsReportedAfterTheDrain"},
	}, mutation{
		Rule: 9, What: "the record is given back before the drain",
		Old: "	k.cfg.Pause(\"lose.before_close\")\n", New: "	e.giveBack(h)\n",
		Tests: []string{"TestALossIsReportedAfterTheDrain"},
	}, mutation{
		Rule: 9, What: "the epoch is not closed at its deadline",
		Old: "	return boot >= k.cur.deadline-k.cfg.Policy.CloseLead()\n", New: "	return boot >= k.cur.deadline+time.Hour\n",
		Tests: []string{"TestTheCloseBeginsShortlyBeforeTheDeadline"},
	}, mutation{
		Rule: 9, What: "the close begins at the deadline, when it should be over",
		Old: "	return boot >= k.cur.deadline-k.cfg.Policy.CloseLead()\n", New: "	return boot >= k.cur.deadline\n",
		Tests: []string{"TestTheCloseBeginsShortlyBeforeTheDeadline"},
	}),
	in("lease/clock.go", mutation{
		Rule: 9, What: "the clock of the deadlines stands still in suspend",
		Old: "unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)", New: "unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)",
		Tests: []string{"TestTheBootClockCountsSuspend"},
	}),
	in("lease/clock_vdso_amd64.go", mutation{
		Rule: 9, What: "the clock that is read without a system call stands still in suspend",
		Old: "callClockGettime(vdsoClockGettime, unix.CLOCK_BOOTTIME)", New: "callClockGettime(vdsoClockGettime, unix.CLOCK_MONOTONIC)",
		Tests: []string{"TestTheBootClockCountsSuspend"},
	}),
	in("lease/clock_fast.go", mutation{
		Rule: 9, What: "a clock that the kernel contradicts is read on",
		Old: "		c.wrong.Store(true)\n", New: "",
		Tests: []string{"TestAFastClockThatIsNotTheKernelsIsNotUsed"},
	}, mutation{
		Rule: 9, What: "a clock without system calls is proven only once",
		Old: " || now < last || now-last > proveAfter || c.reads.Add(1)%proveEvery == 0", New: "",
		Tests: []string{"TestAFastClockThatIsNotTheKernelsIsNotUsed"},
	}, mutation{
		Rule: 9, What: "a clock that stands still is never proven again",
		Old: " || c.reads.Add(1)%proveEvery == 0", New: "",
		Tests: []string{"TestAFastClockThatIsNotTheKernelsIsNotUsed"},
	}),
)

var lateWrites = slices.Concat(
	in("gate/epoch.go", mutation{
		Rule: 10, What: "the deadline is not looked at after a write",
		Old: "	if e.over(clock.Boot()) {\n		return errDeadline\n	}\n", New: "",
		Tests: []string{"TestALateMutationIsToldAndReported"},
	}, mutation{
		Rule: 10, What: "nobody looks for a successor after a write",
		Old: "	return e.look()\n", New: "	return nil\n",
		Tests: []string{"TestALateMutationIsToldAndReported"},
	}),
	in("gate/guard.go", mutation{
		Rule: 10, What: "the guard forgets to look after a write",
		Old: "	e.look = gr.Late\n", New: "",
		Tests: []string{"TestALateMutationIsToldAndReported"},
	}),
	in("gate/late.go", mutation{
		Rule: 10, What: "a late write is counted but the keeper is not told",
		Old: "	no.err = errors.Join(why, g.keeper.Late(w))\n", New: "	no.err = errors.Join(why)\n",
		Tests: []string{"TestALateMutationIsToldAndReported"},
	}),
	in("lease/late.go", mutation{
		Rule: 10, What: "on a store of several hosts the keeper offers no late look",
		Old: "	if !c.store.dir.tier.looksAgain() {", New: "	if true {",
		Tests: []string{"TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal"},
	}, mutation{
		Rule: 10, What: "the late look finds nothing",
		Old: "		_, err := c.successor()\n		return err\n", New: "		return nil\n",
		Tests: []string{"TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal"},
	}),
	in("lease/pendingreports.go", mutation{
		Rule: 10, What: "a late write leaves no taint",
		Old: "errs[0] = k.store.taint(r.write)", New: "errs[0] = nil",
		Tests: []string{"TestALateWriteLeavesATaintAndAnEvent"},
	}, mutation{
		Rule: 10, What: "a late write is not audited",
		Old: "errs[1] = k.tell.Now(r.event)", New: "errs[1] = nil",
		Tests: []string{"TestALateWriteLeavesATaintAndAnEvent"},
	}, mutation{
		Rule: 10, What: "a late write that cannot be told is forgotten",
		Old: "	u.reports = append(u.reports, r)\n", New: "",
		Tests: []string{"TestALateWriteThatCannotBeToldIsToldLater"},
	}, mutation{
		Rule: 10, What: "of the late writes that cannot be told again some are forgotten",
		Old: "k.pending.back(all[i:], ", New: "k.pending.back(all[i:][:0], ",
		Tests: []string{"TestALateWriteThatCannotBeToldIsToldLater"},
	}),
	in("lease/keeper_run.go", mutation{
		Rule: 10, What: "a keeper that holds nothing does not wake to tell of a late write again",
		Old: "	return min(k.nextStep(), k.pending.wait(k.cfg.Clock.Boot()))\n", New: "	return k.nextStep()\n",
		Tests: []string{"TestALateWriteThatCannotBeToldIsToldLater"},
	}),
	in("lease/sharedlook.go", mutation{
		Rule: 10, What: "a look that is under way answers for a write that ends after it began",
		Old: "	if r := s.next; r != nil {\n", New: "	r := s.next\n	if r == nil {\n		r = s.now\n	}\n	if r != nil {\n",
		Tests: []string{"TestASharedLookForASuccessorMissesNone"},
	}, mutation{
		Rule: 10, What: "who comes later joins a look that has begun",
		Old: "		s.next = nil // from here on nobody joins\n", New: "",
		Tests: []string{"TestASharedLookForASuccessorMissesNone"},
	}, mutation{
		Rule: 10, What: "a look that did not return finds nothing",
		Old: ", err: errNoAnswer}", New: "}",
		Tests: []string{"TestALookThatPanicsServesNobody"},
	}),
	in("fusefs/dirty.go", mutation{
		Rule: 9, What: "nobody notes what has not reached the store",
		Old: "	if f.relies {\n		h.dirty.any.Store(true)", New: "	if false {\n		h.dirty.any.Store(true)",
		Tests: []string{"TestWrittenFilesAreSyncedAtTheEndOfTheLease"},
	}, mutation{
		Rule: 9, What: "what the store did not take counts as synced",
		Old: "	if err != nil {\n		h.dirty.any.Store(true)", New: "	if false {\n		h.dirty.any.Store(true)",
		Tests: []string{"TestAFailedSyncIsToldWithTokenAndFile"},
	}, mutation{
		Rule: 9, What: "a lease ends before what was written has reached the store",
		Old: "	return func() { _ = f.syncWritten(", New: "	return func() {}\n	return func() { _ = f.syncWritten(",
		Tests: []string{"TestWrittenFilesAreSyncedAtTheEndOfTheLease"},
	}),
	in("fusefs/late.go", mutation{
		Rule: 10, What: "a late write is acknowledged",
		Old: "			*st = fuse.EIO\n", New: "",
		Tests: []string{"TestLateMutationsAreNotAcknowledged"},
	}, mutation{
		Rule: 10, What: "a write that failed late is not told",
		Old: "why = g.LateFailed(pass)", New: "why = nil",
		Tests: []string{"TestAWriteThatFailedLateIsTold"},
	}),
)

var releasing = slices.Concat(
	in("lease/release.go", mutation{
		Rule: 11, What: "the view goes before the claim is marked released",
		Old:   "	pause(\"release.before_write\")\n",
		New:   "	if err := c.withdraw(pause); err != nil {\n		return err\n	}\n	pause(\"release.before_write\")\n",
		Tests: []string{"TestTheClaimIsMarkedBeforeTheViewGoes"},
	}, mutation{
		Rule: 11, What: "the claim is not marked released",
		Old: "	if err := c.rewrite(rec); err != nil {", New: "	if err := error(nil); err != nil {",
		Tests: []string{"TestTheClaimIsMarkedBeforeTheViewGoes"},
	}, mutation{
		Rule: 11, What: "the claim is marked released, but not expired",
		Old: "		rec.LeaseExpiresAt = now.UTC()\n", New: "		_ = now\n",
		Tests: []string{"TestTheClaimIsMarkedBeforeTheViewGoes"},
	}, mutation{
		Rule: 11, What: "the view stays",
		Old: "	pause(\"release.before_withdraw\")\n	return c.withdraw(pause)\n", New: "	return nil\n",
		Tests: []string{"TestTheNextTokenFollowsTheReleasedOne"},
	}, mutation{
		Rule: 11, What: "who holds nothing releases",
		Old:   "	if k.cur == nil {\n		return k.store.notHeld()\n	}\n	if !kind.gives() {",
		New:   "	if k.cur == nil {\n		return nil\n	}\n	if !kind.gives() {",
		Tests: []string{"TestTheNextTokenFollowsTheReleasedOne"},
	}),
	in("lease/ending.go", mutation{
		Rule: 11, What: "a release on purpose, or one that other hosts see, is not waited for on the disk",
		Old: "	return e.kind == LossHolderGone && h.holder.Auto && e.k.store.tier().endsWithKernel()\n", New: "	return true\n",
		Tests: []string{"TestAReleaseWaitsForTheDiskUnlessAnAutomaticHolderEnded"},
	}),
	in("lease/view.go", mutation{
		Rule: 11, What: "a view that is not ours is taken away",
		Old: "	if id, err := s.lookup(aside); err != nil || id != c.file {", New: "	if false {",
		Tests: []string{"TestAViewOfAnotherIsPutBack"},
	}, mutation{
		Rule: 11, What: "an old view is put back over a newer one",
		Old:   "return unix.Linkat(s.dir.fd, aside, s.dir.fd, s.viewName(), 0) })",
		New:   "return unix.Renameat(s.dir.fd, aside, s.dir.fd, s.viewName()) })",
		Tests: []string{"TestAViewOfAnotherIsPutBack"},
	}),
	in("lease/audit/queue.go", mutation{
		Rule: 12, What: "an event is told of before those that were noted earlier",
		Old: "	q.noted()\n	return q.cfg.Audit(q.cfg.Stamp(e))", New: "	return q.cfg.Audit(q.cfg.Stamp(e))",
		Package: "./lease",
		Tests:   []string{"TestAuditEventsOfPassedLeasesAreInOrder"},
	}),
	in("lease/orphan.go", mutation{
		Rule: 11, What: "a command releases a lease that was released, or has a successor",
		Old: "	rec, err := own.unreleased()\n	if err != nil {\n		return nil, err\n	}\n	if err := own.release", New: "	rec, err := own.check()\n	if err != nil {\n		return nil, err\n	}\n	if err := own.release",
		Tests: []string{"TestAnOrphanThatChangedHandsIsLeftAlone"},
	}),
)

var stealing = slices.Concat(
	in("lease/record/birth.go", mutation{
		Rule: 12, What: "acquire_seq stands still",
		Old: "NextCount(before.AcquireSeq)", New: "before.AcquireSeq",
		Package: "./lease",
		Tests:   []string{"TestTheNextTokenFollowsTheReleasedOne", "TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "the token stands still",
		Old: "FencingToken: prev + 1,", New: "FencingToken: max(prev, 1),",
		Package: "./lease",
		Tests:   []string{"TestTheNextTokenFollowsTheReleasedOne"},
	}),
	in("lease/steal.go", mutation{
		Rule: 12, What: "a steal happens without its audit event",
		Old: "	if e.Kind == EventAcquire {\n", New: "	if e.Kind == EventAcquire || e.Kind == EventSteal {\n",
		Tests: []string{"TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "a steal happens though its audit failed",
		Old: "	if err != nil {\n		return tk.k.store.refuse(ClassAuditFailed,", New: "	if false {\n		return tk.k.store.refuse(ClassAuditFailed,",
		Tests: []string{"TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "the audit event comes after the claim",
		Old: `	if err == nil {
		err = tk.auditSteal()
	}
	if err == nil {
		err = tk.inTime() // before the link: a claim that must run out keeps everybody waiting
	}
	if err != nil {
		c.Discard()
		return err
	}
	k.cfg.Pause("claim.before_link")
	claiming(c.Record())
	won, err := c.Win(tk.event())
`,
		New: `	if err != nil {
		c.Discard()
		return err
	}
	k.cfg.Pause("claim.before_link")
	claiming(c.Record())
	won, err := c.Win(tk.event())
	if err == nil && won {
		if err := tk.auditSteal(); err != nil {
			tk.undo(c)
			return err
		}
	}
`,
		Tests: []string{"TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "a takeover without proof of a drain is called clean",
		Old: "e.Unclean = !tk.k.store.tier().gateProvesEnd() && !tk.cut || tk.head.Foreign", New: "e.Unclean = false",
		Tests: []string{"TestAStealIsAuditedBeforeItHappens", "TestATakeoverOfAForeignLeaseIsUnclean"},
	}, mutation{
		Rule: 12, What: "a takeover from a foreign tool is called clean",
		Old: "e.Unclean = !tk.k.store.tier().gateProvesEnd() && !tk.cut || tk.head.Foreign", New: "e.Unclean = !tk.k.store.tier().gateProvesEnd() && !tk.cut",
		Tests: []string{"TestATakeoverOfAForeignLeaseIsUnclean"},
	}),
)

var handingOver = slices.Concat(
	in("gate/wait/limit.go", mutation{
		Rule: 13, What: "any number of mutations wait",
		Old: "	if l.waiting.Add(1) > Max {", New: "	if l.waiting.Add(1) < 0 {",
		Package: "./gate",
		Tests:   []string{"TestTheNumberOfMutationsThatWaitUnderAFreezeIsBounded"},
	}, mutation{
		Rule: 13, What: "who waits keeps its reader",
		Old: "	if l.onWait != nil {", New: "	if false {",
		Package: "./gate",
		Tests:   []string{"TestAMutationThatWaitsSaysSo"},
	}),
	in("gate/epoch_freeze.go", mutation{
		Rule: 13, What: "mutations wait for as long as the freeze lasts",
		Old: "r.waiter(), s.left(), nil", New: "r.waiter(), never, nil",
		Tests: []string{"TestEveryMutationUnderAFreezeIsAnsweredSoon"},
	}, mutation{
		Rule: 13, What: "whoever comes late waits anew",
		Old: "r.waiter(), s.left(), nil", New: "r.waiter(), 30*time.Millisecond, nil",
		Tests: []string{"TestAMutationThatComesLateInAFreezeDoesNotWait"},
	}, mutation{
		Rule: 13, What: "a freeze keeps nobody out",
		Old: "	if !e.stopped.CompareAndSwap(nil, s) {", New: "	if e.stopped.Load() != nil {",
		Tests: []string{"TestAFrozenHolderWaitsAndGoesOn"},
	}, mutation{
		Rule: 13, What: "a freeze does not wait for what is in flight",
		Old: "	if err := e.drain(ctx); err != nil {\n		e.thaw(s)\n		return nil, err\n	}\n", New: "",
		Tests: []string{"TestTheFreezeOfAnEpochWaitsForWhatIsInFlight"},
	}, mutation{
		Rule: 13, What: "a freeze that is given up goes on",
		Old: "		e.thaw(s)\n		return nil, err\n", New: "		return nil, err\n",
		Tests: []string{"TestAFreezeThatIsGivenUpChangesNothing"}, Hangs: true,
	}, mutation{
		Rule: 13, What: "a freeze succeeds though the epoch was closed meanwhile",
		Old: "	if e.stopped.Load() != s {\n		return nil, errEpochOver\n	}\n", New: "",
		Tests: []string{"TestACloseEndsAFreezeThatIsDraining"},
	}, mutation{
		Rule: 13, What: "the end of one freeze ends the next",
		Old: "return func() { e.thaw(s) }, nil", New: "return func() {\n		_ = s\n		if e := g.last.Load(); e.frozen() != nil {\n			e.thaw(e.frozen())\n		}\n	}, nil",
		Tests: []string{"TestAFreezeIsEndedByItsOwnThawOnly"},
	}),
	in("lease/transfer.go", mutation{
		Rule: 13, What: "the next token is claimed though what is in flight did not end",
		Old: "		return nil, g.k.store.refuse(ClassLockConflict, fmt.Sprintf(\"what is in flight", New: "		return func() {}, nil\n		return nil, g.k.store.refuse(ClassLockConflict, fmt.Sprintf(\"what is in flight",
		Tests: []string{"TestAHandoverThatIsNotInTimeChangesNothing"},
	}, mutation{
		Rule: 13, What: "the next token is claimed though nothing is durable",
		Old: "	if err := settle(ctx); err != nil {\n", New: "	if err := settle(ctx); err != nil && false {\n",
		Tests: []string{"TestAHandoverThatIsNotInTimeChangesNothing"},
	}, mutation{
		Rule: 13, What: "an epoch that was closed and opened anew counts as frozen",
		Old: "	if (uninterrupted{k.cur, g.was.token, k.cur.interrupts}) != g.was {", New: "	if false {",
		Tests: []string{"TestAHandoverWhoseFreezeWasBrokenClaimsNothing"},
	}),
	in("lease/handover.go", mutation{
		Rule: 13, What: "a handover happens though its audit failed",
		Old: "		return k.store.refuse(ClassAuditFailed, \"the handover could not", New: "		_ = k.store.refuse(ClassAuditFailed, \"the handover could not",
		Tests: []string{"TestAHandoverThatCannotBeAuditedDoesNotHappen"},
	}, mutation{
		Rule: 13, What: "whoever took the token first is overlooked",
		Old: "	if err == nil && !won {\n		err = (&taking{k: k}).beaten()\n	}\n", New: "	_ = won\n",
		Tests: []string{"TestAHandoverThatLosesTheNextTokenOpensNothing"},
	}, mutation{
		Rule: 13, What: "the new epoch opens over the old one",
		Old: "	k.cfg.Fence.Close(cur.loss(LossHandedOver, nil))\n", New: "",
		Tests: []string{"TestAHandoverGivesTheNextToken", "TestAHandoverKeepsTheGate"},
	}),
	in("lease/offer.go", mutation{
		Rule: 14, What: "an offer is withdrawn while somebody has the gate",
		Old: "		if !k.gate.hasShared() {", New: "		if k.gate.shared(); false {",
		Tests: []string{"TestAnOfferIsNotWithdrawnUnderATaker"},
	}, mutation{
		Rule: 14, What: "the gate is not taken again",
		Old: "		if !k.gate.hasShared() {", New: "		if false {",
		Tests: []string{"TestAnOfferThatNobodyTakesChangesNothing"},
	}, mutation{
		Rule: 14, What: "an offer stays in the record",
		Old: "		h.offer = nil\n", New: "",
		Tests: []string{"TestAnOfferThatNobodyTakesChangesNothing"},
	}, mutation{
		Rule: 14, What: "who saw the offer before it was withdrawn is not waited for",
		Old: "	if k.offerStands(h) {\n", New: "	if false {\n",
		Tests: []string{"TestAnOfferIsWaitedOutWhereTheGateProvesNothing"},
	}, mutation{
		Rule: 14, What: "a lease that expired while it was offered goes on",
		Old: "_ = k.expire(nil) // that is why", New: "_ = h // that is why",
		Tests: []string{"TestALeaseThatExpiresDuringAnOfferIsClosed"},
	}, mutation{
		Rule: 14, What: "any host takes what is offered to one",
		Old: "r.OfferedTo == record.Clip(record.Named(h.Host), record.MaxText) && ", New: "",
		Tests: []string{"TestAnOfferIsTakenByItsHost"},
	}, mutation{
		Rule: 14, What: "a write takes what is offered",
		Old: "!h.Auto && r.OfferedTo", New: "r.OfferedTo",
		Tests: []string{"TestAnOfferIsTakenByItsHost"},
	}),
	in("lease/steal.go", mutation{
		Rule: 14, What: "a slow taker holds",
		Old: "		err = k.gate.downgrade()\n	}\n	if err == nil {", New: "		err = k.gate.downgrade()\n	}\n	if false {",
		Tests: []string{"TestASlowTakerOfAnOfferDoesNotHold"},
	}, mutation{
		Rule: 14, What: "a taker that is too late claims all the same",
		Old: "		err = tk.inTime() // before the link", New: "		// before the link",
		Tests: []string{"TestATakerThatIsTooLateClaimsNothing"},
	}, mutation{
		Rule: 14, What: "a slow taker gives back what its holder may still write under",
		Old: "	if tk.tooLate(tk.k.cfg.Clock.Boot()) {", New: "	if false {",
		Tests: []string{"TestASlowTakerOfAnOfferDoesNotHold"},
	}, mutation{
		Rule: 14, What: "the end of an offer counts as skew",
		Old: "	case !offered && before.Token", New: "	case (offered || true) && before.Token",
		Tests: []string{"TestAnOfferThatIsOverBetweenTwoLooksIsNoSkew"},
	}),
	in("lease/renewal.go", mutation{
		Rule: 14, What: "a repaired renewal overlooks an offer",
		Old: "	if stands {\n", New: "	if stands && false {\n",
		Tests: []string{"TestARepairedRenewalDoesNotOverlookAnOffer"},
	}, mutation{
		Rule: 14, What: "a repaired renewal looks first and waits afterwards",
		Old: "	if stands {\n", New: "	if stands = !h.open && k.offerStands(h); stands {\n",
		Tests: []string{"TestARepairedRenewalLooksAfterTheWait"},
	}, mutation{
		Rule: 14, What: "the record forgets an offer before all who saw it must have come",
		Old: "	case !h.handing || !k.store.tier().takersUnseen():\n", New: "	default:\n",
		Tests: []string{"TestAnOfferedLeaseIsNotAdoptedWhileItMayBeTaken"},
	}, mutation{
		Rule: 14, What: "an offer outlives the epoch that it was made in",
		Old: "			h.handing, h.renewAt = false, r.t0.boot\n", New: "			h.renewAt = r.t0.boot\n",
		Tests: []string{"TestARepairedRenewalDoesNotOverlookAnOffer"},
	}),
)
