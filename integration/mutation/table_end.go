package main

import "slices"

// endMutations remove clauses of rules 9 to 12: how a lease ends, and how the next one begins.
var endMutations = slices.Concat(losing, lateWrites, releasing, stealing)

var losing = slices.Concat(
	in("gate/epoch.go", mutation{
		Rule: 9, What: "a mutation is judged first and counted in flight afterwards",
		Old: "	e.inflight.Add(1)\n	if e.ended.Load() {\n		e.leave()\n		return false\n	}\n",
		New: `	if e.ended.Load() || int64(clock.Boot()) >= e.deadline.Load() {
		return false
	}
	e.inflight.Add(1)
`,
		Tests: []string{"TestAMutationIsCountedBeforeItIsJudged"},
	}, mutation{
		Rule: 9, What: "what enters after the end is let in",
		Old: "	if e.ended.Load() {\n		e.leave()\n		return false\n	}\n", New: "",
		Tests: []string{"TestAMutationIsCountedBeforeItIsJudged"},
	}, mutation{
		Rule: 9, What: "the end does not wait for what is in flight",
		Old: "	<-e.idle\n", New: "",
		Tests: []string{"TestAMutationIsCountedBeforeItIsJudged", "TestCloseWaitsForWhatIsInFlight"},
	}, mutation{
		Rule: 9, What: "the first to leave ends the wait, not the last",
		Old: "if e.inflight.Add(-1) == 0 && e.ended.Load() && e.inflight.Load() == 0 {", New: "if e.inflight.Add(-1) >= 0 && e.ended.Load() {",
		Tests: []string{"TestTheLastToLeaveEndsTheWait"},
	}, mutation{
		Rule: 9, What: "the last to leave wakes nobody",
		Old: "if e.inflight.Add(-1) == 0 && e.ended.Load() && e.inflight.Load() == 0 {", New: "if e.inflight.Add(-1); false {",
		Tests: []string{"TestTheLastToLeaveEndsTheWait"}, Hangs: true,
	}, mutation{
		Rule: 9, What: "a deadline that passed refuses nobody by itself",
		Old: "now >= d && !ruleOff(\"deadline\")", New: "false",
		Tests: []string{"TestTheDeadlineRefusesByItself"},
	}),
	in("gate/guard.go", mutation{
		Rule: 9, What: "a close refuses, but drains nothing",
		Old: "		e.end()\n		g.runHooks(l)\n", New: "		e.ended.Store(true)\n		g.runHooks(l)\n",
		Tests: []string{"TestCloseWaitsForWhatIsInFlight"},
	}, mutation{
		Rule: 9, What: "the kernel's caches are dropped before the drain",
		Old: "		e.end()\n		g.runHooks(l)\n", New: "		e.ended.Store(true)\n		g.runHooks(l)\n		e.end()\n",
		Tests: []string{"TestCachesAreDroppedAfterTheDrainAndBeforeTheCloseReturns"},
	}, mutation{
		Rule: 9, What: "the kernel's caches are not dropped",
		Old: "		e.end()\n		g.runHooks(l)\n", New: "		e.end()\n",
		Tests: []string{"TestCachesAreDroppedAfterTheDrainAndBeforeTheCloseReturns"},
	}, mutation{
		Rule: 9, What: "what was written without a lease is not drained before one opens",
		Old: "		f.end()\n", New: "",
		Tests: []string{"TestALeaseOpensAfterWhatWasWrittenWithoutOneIsDrained"},
	}),
	in("lease/release.go", mutation{
		Rule: 9, What: "the loss is reported before the drain",
		Old: "	k.cfg.Pause(\"lose.before_close\")\n", New: "	k.report(kind, h, why)\n",
		Tests: []string{"TestALossIsReportedAfterTheDrain"},
	}, mutation{
		Rule: 9, What: "a failed renewal is reported before the drain",
		Old:   "	k.cfg.Fence.Close(Loss{Kind: LossRenewFailed, Token: h.token(), Holder: h.holder, Err: why})\n	k.report(LossRenewFailed, h, why)\n",
		New:   "	k.report(LossRenewFailed, h, why)\n	k.cfg.Fence.Close(Loss{Kind: LossRenewFailed, Token: h.token(), Holder: h.holder, Err: why})\n",
		Tests: []string{"TestALossIsReportedAfterTheDrain"},
	}, mutation{
		Rule: 9, What: "the record is given back before the drain",
		Old: "	k.cfg.Pause(\"lose.before_close\")\n", New: "	if kind.gives() {\n		k.markReleased(h.claim)\n	}\n",
		Tests: []string{"TestALossIsReportedAfterTheDrain"},
	}, mutation{
		Rule: 9, What: "the epoch is not closed at its deadline",
		Old: "	return boot >= k.cur.deadline-k.cfg.Policy.closeLead()\n", New: "	return boot >= k.cur.deadline+time.Hour\n",
		Tests: []string{"TestStoppedIsNotRenewedGoneReleases"},
	}, mutation{
		Rule: 9, What: "the close begins at the deadline, when it should be over",
		Old: "	return boot >= k.cur.deadline-k.cfg.Policy.closeLead()\n", New: "	return boot >= k.cur.deadline\n",
		Tests: []string{"TestTheCloseBeginsShortlyBeforeTheDeadline"},
	}),
	in("lease/clock.go", mutation{
		Rule: 9, What: "the clock of the deadlines stands still in suspend",
		Old: "unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)", New: "unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)",
		Tests: []string{"TestTheBootClockCountsSuspend"},
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
	in("gate/enter.go", mutation{
		Rule: 10, What: "a late write is counted but the keeper is not told",
		Old: "	no.Err = errors.Join(why, g.keeper.Late(w))\n", New: "	no.Err = errors.Join(why)\n",
		Tests: []string{"TestALateMutationIsToldAndReported"},
	}),
	in("lease/late.go", mutation{
		Rule: 10, What: "on a store of several hosts the keeper offers no late look",
		Old: "	if c.store.dir.tier == tierA {", New: "	if true {",
		Tests: []string{"TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal"},
	}, mutation{
		Rule: 10, What: "the late look finds nothing",
		Old: "		_, err := c.successor()\n		return err\n", New: "		return nil\n",
		Tests: []string{"TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal"},
	}, mutation{
		Rule: 10, What: "a late write leaves no taint",
		Old: "	err := k.cfg.Store.taint(w)\n", New: "	var err error\n",
		Tests: []string{"TestALateWriteLeavesATaintAndAnEvent"},
	}, mutation{
		Rule: 10, What: "a late write is not audited",
		Old: "return errors.Join(err, k.audit(Event{Kind: \"late_write\", Token: w.Token, Previous: w.Token, Holder: holder, Reason: reason}))", New: "_, _ = holder, reason\n	return err",
		Tests: []string{"TestALateWriteLeavesATaintAndAnEvent"},
	}),
	in("fusefs/admit.go", mutation{
		Rule: 10, What: "a late write is acknowledged",
		Old: "				*st = fuse.EIO\n", New: "",
		Tests: []string{"TestLateMutationsAreNotAcknowledged"},
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
		Old: "	return c.withdraw(pause)\n", New: "	return nil\n",
		Tests: []string{"TestAcquireConflictReleaseKeepsToken"},
	}, mutation{
		Rule: 11, What: "who holds nothing releases",
		Old:   "	if k.cur == nil {\n		return k.notHeld()\n	}\n	if !kind.gives() {",
		New:   "	if k.cur == nil {\n		return nil\n	}\n	if !kind.gives() {",
		Tests: []string{"TestAcquireConflictReleaseKeepsToken"},
	}),
	in("lease/view.go", mutation{
		Rule: 11, What: "a view that is not ours is taken away",
		Old: "	if id, err := s.lookup(aside); err != nil || id != c.file {", New: "	if false {",
		Tests: []string{"TestAViewThatIsNotOursIsPutBack"},
	}, mutation{
		Rule: 11, What: "an old view is put back over a newer one",
		Old:   "return unix.Linkat(s.dir.fd, aside, s.dir.fd, s.viewName(), 0) })",
		New:   "return unix.Renameat(s.dir.fd, aside, s.dir.fd, s.viewName()) })",
		Tests: []string{"TestAViewThatIsNotOursIsPutBack"},
	}),
	in("lease/left.go", mutation{
		Rule: 11, What: "a command releases a lease that was released, or has a successor",
		Old: "	rec, err := own.unreleased()\n	if err != nil {\n		return nil, err\n	}\n	if err := own.release", New: "	rec, err := own.check()\n	if err != nil {\n		return nil, err\n	}\n	if err := own.release",
		Tests: []string{"TestALeftLeaseThatChangedHandsIsLeftAlone"},
	}),
)

var stealing = slices.Concat(
	in("lease/acquire.go", mutation{
		Rule: 12, What: "acquire_seq stands still",
		Old: "prev.Record.AcquireSeq + 1", New: "prev.Record.AcquireSeq",
		Tests: []string{"TestAcquireConflictReleaseKeepsToken", "TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "the token stands still",
		Old: "FencingToken: prev.Token + 1,", New: "FencingToken: max(prev.Token, 1),",
		Tests: []string{"TestAcquireConflictReleaseKeepsToken"},
	}),
	in("lease/steal.go", mutation{
		Rule: 12, What: "a steal happens without its audit event",
		Old: "	if tk.kind() != \"steal\" {\n		return nil\n	}\n", New: "	return nil\n",
		Tests: []string{"TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "a steal happens though its audit failed",
		Old: "	if err != nil && !unaudited() {\n		return tk.k.fail(ClassAuditFailed,", New: "	if false {\n		return tk.k.fail(ClassAuditFailed,",
		Tests: []string{"TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "the audit event comes after the claim",
		Old: `	if err == nil {
		err = tk.auditSteal()
	}
	if err != nil {
		c.discard()
		return err
	}
	k.cfg.Pause("claim.before_link")
	claiming(c.rec)
	won, err := c.link()
`,
		New: `	if err != nil {
		c.discard()
		return err
	}
	k.cfg.Pause("claim.before_link")
	claiming(c.rec)
	won, err := c.link()
	if err == nil && won {
		if err := tk.auditSteal(); err != nil {
			k.giveBack(c)
			return err
		}
	}
`,
		Tests: []string{"TestAStealIsAuditedBeforeItHappens"},
	}, mutation{
		Rule: 12, What: "a takeover without proof of a drain is called clean",
		Old: "tk.k.cfg.Store.dir.tier != tierA || tk.head.Foreign}", New: "false}",
		Tests: []string{"TestAStealIsAuditedBeforeItHappens", "TestATakeoverOfAForeignLeaseIsUnclean"},
	}, mutation{
		Rule: 12, What: "a takeover from a foreign tool is called clean",
		Old: "tk.k.cfg.Store.dir.tier != tierA || tk.head.Foreign}", New: "tk.k.cfg.Store.dir.tier != tierA}",
		Tests: []string{"TestATakeoverOfAForeignLeaseIsUnclean"},
	}),
)
