package main

import "slices"

// claimMutations remove clauses of rules 1 to 4: who holds, how a claim is made, and the gate.
var claimMutations = slices.Concat(authority, claiming, entitled, ownInode, theGate)

var entitled = slices.Concat(in("gate/writer.go", mutation{
	Rule: 2, What: "a write takes a lease for who could not make it without a fence",
	Old: "if a.May != nil && !a.May() {", New: "if false {",
	Tests: []string{"TestAUserWhoMayNotWriteTakesNoLease"},
}), in("gate/enter.go", mutation{
	Rule: 2, What: "what the file system forbids is counted as a refusal of the lease",
	Old: "if no.Reason == reasonNoRight {", New: "if false {",
	Tests: []string{"TestAUserWhoMayNotWriteTakesNoLease"},
}))

var authority = slices.Concat(
	in("lease/store.go", mutation{
		Rule: 1, What: "the view decides, not the highest claim",
		Old: "	} else if t > 0 {\n		h = s.readRecordFile(s.claimName(t))", New: "	} else if t > record.TooHigh-1 {\n		h = s.readRecordFile(s.claimName(t))",
		Tests: []string{"TestALeaseLastsWithoutItsView"},
	}, mutation{
		Rule: 1, What: "a claim that carries another token than its name is believed",
		Old: "if h.Record != nil && h.Record.FencingToken != t {", New: "if false {",
		Tests: []string{"TestAClaimWithAnotherTokenIsUnreadable"},
	}, mutation{
		Rule: 1, What: "a claim whose number does not fit is overlooked",
		Old: "			if t, ok := record.ParseDigits(string(rest)); ok {", New: "			if t, ok := record.ParseDigits(string(rest)); ok && t < record.TooHigh {",
		Tests: []string{"TestAClaimNumberBeyondAllTokensIsUnreadable"},
	}),
	in("lease/claim.go", mutation{
		Rule: 1, What: "the nonce, session and token on disk are not compared with the own ones",
		Old: "case r.HolderNonce != c.rec.HolderNonce || r.SessionID != c.rec.SessionID || r.FencingToken != c.rec.FencingToken:", New: "case false:",
		Tests: []string{"TestAClaimThatCarriesAnothersRecordIsLost"},
	}, mutation{
		Rule: 1, What: "the nonce alone is not compared",
		Old: "case r.HolderNonce != c.rec.HolderNonce || r.SessionID", New: "case r.SessionID",
		Tests: []string{"TestAClaimThatCarriesAnothersRecordIsLost"},
	}, mutation{
		Rule: 1, What: "a claim that somebody marked released is still held",
		Old: "case r.Released && !c.rec.Released:", New: "case false:",
		Tests: []string{"TestAClaimThatCarriesAnothersRecordIsLost"},
	}, mutation{
		Rule: 1, What: "the name may have become another file's",
		Old: "if id != c.file {\n		return nil, c.lost(\"the own claim was replaced\", nil)", New: "if id != c.file && false {\n		return nil, c.lost(\"the own claim was replaced\", nil)",
		Tests: []string{"TestAReplacedClaimClosesReopensOrExpires"},
	}),
	in("lease/successor.go", mutation{
		Rule: 1, What: "the next token's name is not looked at while the stamps stand still",
		Old:   "	if found, err := c.next(); found || err != nil {\n		return found, err\n	}\n	stamp, now",
		New:   "	stamp, now",
		Tests: []string{"TestTheNextTokensNameIsLookedAtWithOldStamps"},
	}, mutation{
		Rule: 1, What: "only the next token is looked at between renewals, so a gap hides a successor",
		Old:   "return c.above.unlessStill(stamp, now, c.anywhere)",
		New:   "return false, nil",
		Tests: []string{"TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal"},
	}, mutation{
		Rule: 1, What: "a listing under a stamp that is too young to prove anything saves the next",
		Old: "now-s.since >= stamp.window()", New: "true",
		Tests: []string{"TestListingsAreSavedWhileTheDirectoryStandsStill"},
	}, mutation{
		Rule: 1, What: "a stamp of whole seconds is trusted as one of ticks is",
		Old: "now-s.since >= stamp.window()", New: "now-s.since >= racy",
		Tests: []string{"TestAStampOfWholeSecondsIsTrustedLater"},
	}, mutation{
		Rule: 1, What: "right after a listing the view may be anybody's",
		Old: "stamp.window() > racy && viewIsOwn()", New: "stamp.window() > racy",
		Tests: []string{"TestTheViewSparesListingsOnAStoreOfWholeSeconds"},
	}, mutation{
		Rule: 1, What: "the view stands for a listing for ever",
		Old: "now-s.empty < racy\n", New: "true\n",
		Tests: []string{"TestTheViewSparesListingsOnAStoreOfWholeSeconds"},
	}, mutation{
		Rule: 1, What: "a listing that failed or found something saves the next",
		Old: "stamp != (stampOf{}) && !found && err == nil {", New: "stamp != (stampOf{}) {",
		Tests: []string{"TestListingsAreSavedWhileTheDirectoryStandsStill"},
	}, mutation{
		Rule: 1, What: "a foreign view above the own token does not end it",
		Old: "v.Record != nil {\n		top = max", New: "false {\n		top = max",
		Tests: []string{"TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal"},
	}),
	in("lease/steal.go", mutation{
		Rule: 1, What: "a claim is armed though a higher one is there",
		Old: "	_, err := c.Over(true) //", New: "	var err error //",
		Tests: []string{"TestAClaimWithASuccessorDoesNotOpenTheFence"},
	}),
	in("lease/keeper_run.go", mutation{
		Rule: 1, What: "nobody looks for a successor between renewals",
		Old: "if found, why := h.claim.Over(false); found {", New: "if found, why := false, error(nil); found {",
		Tests: []string{"TestAHigherClaimBeyondAGapIsSeenBeforeTheNextRenewal"},
	}),
)

var claiming = slices.Concat(
	in("lease/steal.go", mutation{
		Rule: 2, What: "no second look under the gate",
		Old:   "	if err := tk.look(); err != nil {\n		return Grant{}, err\n	}\n	if err := tk.stillCut(); err",
		New:   "	if err := tk.stillCut(); err",
		Tests: []string{"TestTheLookUnderTheGateSeesARenewal"},
	}, mutation{
		Rule: 2, What: "t0 is sampled after the link",
		Old: "g, err := tk.arm(c, in)", New: "g, err := tk.arm(c, readClocks(k.cfg.Clock))",
		Tests: []string{"TestDeadlinesCountFromBeforeTheRecordIsWritten"},
	}, mutation{
		Rule: 2, What: "a claim arms after it is too late",
		Old: "if err == nil && k.cfg.Clock.Boot() >= h.deadline-p.CloseLead() {", New: "if false {",
		Tests: []string{"TestAClaimThatTookLongerThanItLastsDoesNotOpenTheFence"},
	}, mutation{
		Rule: 2, What: "nothing is published",
		Old: "	if err := c.Publish(); err != nil {\n		tk.undo(c)", New: "	if err := error(nil); err != nil {\n		tk.undo(c)",
		Tests: []string{"TestViewIsTheHeadAndItsDeletionChangesNothing"},
	}),
	in("lease/claim.go", mutation{
		Rule: 2, What: "link's return code decides: a lost reply loses the claim",
		Old:   "	h := s.readRecordFile(name)\n	switch {",
		New:   "	h := s.readRecordFile(name)\n	switch {\n	case linked != nil && !errors.Is(linked, os.ErrExist):\n		return false, linked\n	case linked != nil:\n		return false, nil",
		Tests: []string{"TestALinkIsJudgedByTheNameNotByItsReply"},
	}, mutation{
		Rule: 2, What: "whatever record has the name is taken for the own one",
		Old: "case h.Record != nil && h.Record.HolderNonce == c.rec.HolderNonce && h.file == c.file:", New: "case h.Record != nil:",
		Tests: []string{"TestALinkIsJudgedByTheNameNotByItsReply"},
	}, mutation{
		Rule: 2, What: "the claim is renamed, not linked: it replaces a rival's",
		Old:   "return unix.Linkat(s.dir.fd, c.tmp, s.dir.fd, name, 0) })",
		New:   "return unix.Renameat(s.dir.fd, c.tmp, s.dir.fd, name) })",
		Tests: []string{"TestALinkIsJudgedByTheNameNotByItsReply"},
	}),
	in("lease/view.go", mutation{
		Rule: 2, What: "a late publisher leaves its view over its successor's",
		Old: "if err != nil || top <= t {", New: "if err != nil || top <= t || true {",
		Tests: []string{"TestALatePublisherPutsTheHeadsViewBack"},
	}),
	in("lease/store.go", mutation{
		Rule: 2, What: "a foreign view's token is not continued above",
		Old: "max(h.Token, h.ViewToken)", New: "h.Token",
		Tests: []string{"TestAForeignViewAboveTheHeadSupersedesTheHolder"},
	}, mutation{
		Rule: 2, What: "a foreign view above the head is overlooked",
		Old: "if h.ViewToken > h.Token || (", New: "if (",
		Tests: []string{"TestAForeignViewAboveTheHeadSupersedesTheHolder"},
	}, mutation{
		Rule: 2, What: "a view that cannot be read is taken for none",
		Old:   "	case v.Unreadable != nil:\n		v.Token = h.Token\n		return v",
		New:   "	case v.Unreadable != nil:\n		return h",
		Tests: []string{"TestAForeignViewAboveTheHeadSupersedesTheHolder"},
	}),
	in("lease/record/policy.go", mutation{
		Rule: 2, What: "the deadline is the whole lease, without the margin",
		Old: "{ return p.LeaseDuration - p.RenewInterval }", New: "{ return p.LeaseDuration }",
		Package: "./lease",
		Tests:   []string{"TestTheNextTokenFollowsTheReleasedOne"},
	}),
)

var ownInode = slices.Concat(
	in("lease/claim.go", mutation{
		Rule: 3, What: "a renewal writes to whatever <id>.lock is by now",
		Old: "		err = c.write(b)\n	}\n	if err != nil {\n		return c.store.failed(\"the own record cannot be written\"",
		New: `		own := c.fd
		if c.fd, err = openat(c.store.dir.fd, c.store.viewName(), unix.O_RDWR, 0); err == nil {
			err = c.write(b)
			unix.Close(c.fd)
		}
		c.fd = own
	}
	if err != nil {
		return c.store.failed("the own record cannot be written"`,
		Tests: []string{"TestLateRenewNeverOverwritesASuccessor"},
	}, mutation{
		Rule: 3, What: "a renewal renames a fresh record over its claim's name, as the spec has it",
		Old: "		err = c.write(b)\n	}\n	if err != nil {\n		return c.store.failed(\"the own record cannot be written\"",
		New: `		fresh := rec.Clone()
		fresh.HolderNonce = record.NewNonce() + rec.HolderNonce[:0]
		var n *claim
		if n, err = c.store.bear(fresh); err == nil {
			n.rec = rec
			if err = n.write(b); err == nil {
				err = unix.Renameat(c.store.dir.fd, n.tmp, c.store.dir.fd, c.name())
			}
			n.tmp = ""
			n.close()
		}
	}
	if err != nil {
		return c.store.failed("the own record cannot be written"`,
		Tests: []string{"TestViewIsTheHeadAndItsDeletionChangesNothing", "TestDeadlinesCountFromBeforeTheRecordIsWritten"},
	}),
)

var theGate = slices.Concat(
	in("lease/acquire.go", mutation{
		Rule: 4, What: "a taker does not ask for the gate",
		Old: "if err := k.gate.exclusive(ctx, k.cfg.GateWait); err != nil {", New: "if err := error(nil); err != nil {",
		Tests: []string{"TestATakerWithoutTheGateIsToldWhoHoldsIt"},
	}, mutation{
		Rule: 4, What: "Replace claims without the gate",
		Old: "if err := k.gate.takeGate(ctx, k.cfg.GateWait); err != nil {", New: "if err := error(nil); err != nil {",
		Tests: []string{"TestReplaceThatFailsSaysWhoHolds"},
	}),
	in("lease/steal.go", mutation{
		Rule: 4, What: "the gate is let go between the link and the view",
		Old:   "	k.cfg.Pause(\"claim.after_link\")\n	if err := c.Publish()",
		New:   "	k.gate.unlock()\n	k.cfg.Pause(\"claim.after_link\")\n	if err := c.Publish()",
		Tests: []string{"TestTheGateIsHeldFromTheSecondLookUntilTheViewIsThere"},
	}, mutation{
		Rule: 4, What: "the second look comes before the gate is had for good",
		Old:   "	k.cfg.Pause(\"claim.before_look\")\n",
		New:   "	k.gate.unlock()\n	k.cfg.Pause(\"claim.before_look\")\n",
		Tests: []string{"TestTheGateIsHeldFromTheSecondLookUntilTheViewIsThere"},
	}, mutation{
		Rule: 4, What: "the fence opens without LOCK_SH",
		Old: "		err = k.gate.downgrade()\n", New: "		k.gate.unlock()\n",
		Tests: []string{"TestCloseHoldsTheGateAndStaysObservable"},
	}),
	in("lease/ending.go", mutation{
		Rule: 4, What: "LOCK_SH is dropped before the fence is closed and drained",
		Old: "	k.cfg.Pause(\"lose.before_close\")\n", New: "	k.gate.unlock()\n	k.cfg.Pause(\"lose.before_close\")\n",
		Tests: []string{"TestCloseHoldsTheGateAndStaysObservable"},
	}, mutation{
		Rule: 4, What: "after a failed renewal LOCK_SH is dropped before the drain",
		Old: "	k.shown.set(nil)\n	e.close(h)\n", New: "	k.shown.set(nil)\n	k.gate.unlock()\n	e.close(h)\n",
		Tests: []string{"TestALossIsReportedAfterTheDrain"},
	}, mutation{
		Rule: 4, What: "LOCK_SH is kept for ever: nobody can take over",
		Old: "	if !e.keepGate {\n		k.gate.unlock()\n	}\n", New: "",
		Tests: []string{"TestCloseHoldsTheGateAndStaysObservable"},
	}),
	in("lease/renewal.go", mutation{
		Rule: 4, What: "an interrupted epoch reopens without LOCK_SH",
		Old: "	return r.k.gate.shared()\n", New: "	return nil\n",
		Tests: []string{"TestNoEpochReopensWhileATakerHasTheGate"},
	}, mutation{
		Rule: 8, What: "a lock that the store has lost is not asked for",
		Old: "		return r.k.gate.proven()\n", New: "		return r.k.gate.intact()\n",
		Tests: []string{"TestAGateThatTheStoreGaveAwayIsALoss", "TestAGateThatTheStoreForgotIsTakenAgain"},
	}, mutation{
		Rule: 14, What: "who offers the lease must have the lock that it has dropped",
		Old: "	case r.h.open && r.h.handing:\n", New: "	case false:\n",
		Tests: []string{"TestAnOfferThatIsOverBetweenTwoLooksIsNoSkew"},
	}),
	in("lease/gatelock.go", mutation{
		Rule: 4, What: "a gate file that was removed under the holder is not noticed",
		Old: "	if err := g.intact(); err != nil || ", New: "	if err := error(nil); err != nil || ",
		Tests: []string{"TestAGateFileThatWasRemovedFailsClosed"},
	}, mutation{
		Rule: 8, What: "a lock that the store has forgotten is no loss",
		Old: "	case gone:\n", New: "	case gone && false:\n",
		Tests: []string{"TestAGateThatTheStoreForgotIsTakenAgain"},
	}, mutation{
		Rule: 8, What: "a lock that the store gave away is no loss",
		Old: "	case !shared:\n", New: "	case !shared && false:\n",
		Tests: []string{"TestAGateThatTheStoreGaveAwayIsALoss"},
	}, mutation{
		Rule: 4, What: "a lock file that cannot be locked is tried for ever",
		Old: "		l.close() // the next try opens it anew", New: "		// the next try opens it anew",
		Tests: []string{"TestALockFileIsOpenedAnewAfterAFailure"},
	}, mutation{
		Rule: 4, What: "a lock on a file that has no name any more counts",
		Old: "	if !s.isCurrent(l) {", New: "	if false {",
		Tests: []string{"TestATakerLocksTheFileThatHasTheGatesName"},
	}, mutation{
		Rule: 4, What: "takers do not queue for the turn",
		Old:   "	if err := g.poll(ctx, deadline, &g.turn, unix.LOCK_EX); err != nil {\n		return err\n	}\n",
		New:   "",
		Tests: []string{"TestATakerIsNotStarvedByHolders"},
	}, mutation{
		Rule: 4, What: "the wait for the gate has no end",
		Old: "		if left <= 0 {\n", New: "		if left < -time.Hour {\n",
		Tests: []string{"TestATakerIsNotStarvedByHolders"}, Hangs: true,
	}, mutation{
		Rule: 4, What: "nobody says who has the gate",
		Old: "	by := lockHolders(l.file)\n", New: "	by := lockOwners{}\n",
		Tests: []string{"TestATakerWithoutTheGateIsToldWhoHoldsIt"},
	}),
	in("lease/orphan.go", mutation{
		Rule: 4, What: "a command renews while a taker has the gate",
		Old: "	if err := g.sharedWithin(ctx, orphanWait); err != nil {", New: "	if err := error(nil); err != nil {",
		Tests: []string{"TestALeaseWithAKeeperIsNotReleasedBehindItsBack"},
	}, mutation{
		Rule: 4, What: "a command releases what a running keeper holds",
		Old: "	if err := g.exclusive(ctx, orphanWait); err != nil {", New: "	if err := error(nil); err != nil {",
		Tests: []string{"TestALeaseWithAKeeperIsNotReleasedBehindItsBack"},
	}),
)
