package main

import "slices"

// cutOffMutations remove clauses of rule 17: who is cut off the store, when, and what follows from it.
var cutOffMutations = slices.Concat(in("lease/late.go", mutation{
	Rule: 17, What: "who relies on the fence relies on a record that names no agent",
	Old: "k.cfg.fences() && h.claim.Record().Fence", New: "true",
	Tests: []string{"TestRelianceOnAFenceLooksForNoSuccessor"},
}, mutation{
	Rule: 17, What: "who relies on the fence asks for no deadline",
	Old: "		return func() error { return nil } // the fence", New: "		return nil // the fence",
	Tests: []string{"TestRelianceOnAFenceLooksForNoSuccessor"},
}, mutation{
	Rule: 17, What: "nobody is relied on",
	Old: "	return k.cfg.RelyOnFence &&", New: "	return false &&",
	Tests: []string{"TestRelianceOnAFenceLooksForNoSuccessor"},
}, mutation{
	Rule: 17, What: "a keeper forgets that something may reach the store yet",
	Old: "		k.unsure.Store(true)\n", New: "",
	Tests: []string{"TestALeaseWhoseWritesMayReachTheStoreYetIsNotGivenBack"},
}, mutation{
	Rule: 17, What: "what the store has refused keeps a lease",
	Old: "	if w.Unsynced && w.Unsure {\n", New: "	if w.Unsynced {\n",
	Tests: []string{"TestALeaseWhoseWritesMayReachTheStoreYetIsNotGivenBack"},
}), in("lease/ending.go", mutation{
	Rule: 17, What: "a lease is given back although something may reach the store yet",
	Old: "	if err := e.k.keeps(h.claim.Record()); err != nil {\n", New: "	if err := error(nil); err != nil {\n",
	Tests: []string{"TestALeaseWhoseWritesMayReachTheStoreYetIsNotGivenBack"},
}), in("lease/offer.go", mutation{
	Rule: 17, What: "a lease is offered although something may reach the store yet",
	Old: "	if err := k.keeps(k.cur.claim.Record()); err != nil {\n", New: "	if err := error(nil); err != nil {\n",
	Tests: []string{"TestALeaseWhoseWritesMayReachTheStoreYetIsNotGivenBack"},
}), in("lease/authority.go", mutation{
	Rule: 17, What: "a claim that never opened is given back although something may reach the store yet",
	Old: "	if k.keeps(c.Record()) == nil {\n", New: "	{\n",
	Tests: []string{"TestAClaimThatNeverOpenedIsNotGivenBackWhileWritesMayLand"},
}), in("lease/adopt.go", mutation{
	Rule: 17, What: "who relies on the fence goes on with a record that names no agent",
	Old: "k.cfg.RelyOnFence && !rec.Fence {", New: "false {",
	Tests: []string{"TestARecordWithoutAnAgentIsNotReliedOn"},
}), in("lease/cutclients.go", mutation{
	Rule: 17, What: "a record that another user has written names a client that was cut off",
	Old: "h.uid != uint32(os.Geteuid()) {", New: "os.Geteuid() < 0 {",
	Tests: []string{"TestClientsThatWereCutOffAreRememberedInABoundedNumber"},
}, mutation{
	Rule: 17, What: "a client of another host was cut off",
	Old: "cutClient{h.Record.Holder().Host,", New: "cutClient{\"h1\",",
	Tests: []string{"TestClientsThatWereCutOffAreRememberedInABoundedNumber"},
}, mutation{
	Rule: 17, What: "a client that has renewed since it was cut off is taken for gone",
	Old: "is && h.Record.LastRenewedAt.Add(skew).Before(at)", New: "is && !at.IsZero()",
	Tests: []string{"TestAClientThatIsThereAgainIsCutOffAgain"},
}, mutation{
	Rule: 17, What: "clocks that differ are not allowed for when a client was cut off",
	Old: "LastRenewedAt.Add(skew)", New: "LastRenewedAt.Add(0*skew)",
	Tests: []string{"TestClientsThatWereCutOffAreRememberedInABoundedNumber"},
}), in("lease/fencing.go", mutation{
	Rule: 17, What: "an agent that failed has cut off its client",
	Old: "		c.cfg.CutOff.Clients.note(job.victim, job.at)\n	}\n", New: "	}\n	c.cfg.CutOff.Clients.note(job.victim, job.at)\n",
	Tests: []string{"TestAFailedFenceCutsOffNoClient"},
}, mutation{
	Rule: 17, What: "an agent that waited for another runs for the same client once more",
	Old: "if c.clientIsCut(job.head) {", New: "if false {",
	Tests: []string{"TestAnAgentThatWaitedFindsItsClientCutOff"},
}, mutation{
	Rule: 17, What: "the other host is not cut off",
	Old: "	return &uncut{tk.head}\n", New: "	return nil\n",
	Tests: []string{"TestAHostIsCutOffBeforeItsLeaseIsTakenOver", "TestAFailedFenceIsNoTakeover"},
}, mutation{
	Rule: 17, What: "a failed agent is a cut",
	Old: "c.last.over != nil && c.last.err == nil &&", New: "c.last.over != nil &&",
	Tests: []string{"TestAFailedFenceIsNoTakeover"},
}, mutation{
	Rule: 17, What: "a cut counts for ever",
	Old: "		c.cfg.Clock.Boot()-c.last.ended < lasts", New: "		c.cfg.Clock.Boot()-c.last.ended >= 0*lasts",
	Tests: []string{"TestACutOfAClientCountsForTheTimeOfOneLease"},
}, mutation{
	Rule: 17, What: "the head under the gate need not be the one whose host was cut off",
	Old: "tk.mustCut() && !tk.cut {", New: "false {",
	Tests: []string{"TestACutOfAClientMustStillCountUnderTheGate"},
}, mutation{
	Rule: 17, What: "an agent cuts off its own kernel",
	Old: "	if r.HostBootID != \"\" && r.HostBootID == c.BootID {\n", New: "	if false {\n",
	Tests: []string{"TestAnAgentCutsOffOnlyHoldersOfUnreleasedLeasesOfOtherHosts"},
}, mutation{
	Rule: 17, What: "an agent cuts off its own host after a restart",
	Old: "	return record.ParseHolderID(r.HolderID).Host == record.Named(c.Host)\n", New: "	return false\n",
	Tests: []string{"TestAnAgentCutsOffOnlyHoldersOfUnreleasedLeasesOfOtherHosts"},
}, mutation{
	Rule: 17, What: "who has no agent takes over from a host that has one",
	Old: "	if !c.fences() && !r.Fence {\n", New: "	if !c.fences() {\n",
	Tests: []string{"TestAHostWithoutAnAgentTakesNothingFromAHostThatHasOne"},
}, mutation{
	Rule: 17, What: "who may not run the agent takes over unfenced",
	Old: "(c.CutOff.Cut != nil || c.CutOff.Cannot != nil)", New: "c.CutOff.Cut != nil",
	Tests: []string{"TestAHostWithoutAnAgentTakesNothingFromAHostThatHasOne"},
}, mutation{
	Rule: 17, What: "a foreign tool's host is cut off",
	Old: "|| r.Released || h.Foreign ||", New: "|| r.Released ||",
	Tests: []string{"TestAForeignToolIsNotCutOff"},
}, mutation{
	Rule: 17, What: "an agent cuts off this host's own client",
	Old: "own != \"\" && own == h.Record.StoreClient {", New: "own == \"none\" {",
	Tests: []string{"TestAnAgentCutsOffOnlyHoldersOfUnreleasedLeasesOfOtherHosts"},
}, mutation{
	Rule: 17, What: "a stranger's record has a host cut off",
	Old: "	if h.uid != uint32(os.Geteuid()) {\n", New: "	if h.uid == uint32(os.Geteuid())+7 {\n",
	Tests: []string{"TestARecordOfAnotherUserCutsNobodyOff"},
}, mutation{
	Rule: 17, What: "an agent runs although the clocks contradict each other",
	Old: "	if err := tk.contradicted(c, in); err != nil {\n		return err\n	}\n	return &uncut", New: "	return &uncut",
	Tests: []string{"TestNoAgentRunsWhileTheClocksContradict"},
}, mutation{
	Rule: 17, What: "an agent that failed runs again at once",
	Old: "c.last.err != nil && left > 0 {", New: "c.last.err != nil && left > 0 && false {",
	Tests: []string{"TestAFailedFenceIsNoTakeover"},
}, mutation{
	Rule: 17, What: "the pause after a failure does not grow",
	Old: "cutPause<<min(max(c.tries-1, 0), 10)", New: "cutPause<<0",
	Tests: []string{"TestAFailedFenceIsNoTakeover"},
}, mutation{
	Rule: 17, What: "a host is cut off without an event",
	Old: "	case err != nil:\n		err = c.cfg.Store.refuse(ClassAuditFailed", New: "	case false:\n		err = c.cfg.Store.refuse(ClassAuditFailed",
	Tests: []string{"TestAFenceIsAuditedBeforeItHappens"},
}, mutation{
	Rule: 17, What: "a cut behind a locked chain counts without its event",
	Old: "told := c.tell.Now(e); told != nil {", New: "told := c.tell.Now(e); false && told != nil {",
	Tests: []string{"TestAHostThatKeepsTheChainLockedIsCutOff"},
}, mutation{
	Rule: 17, What: "who has the chain locked is never cut off",
	Old: "	case errors.Is(err, audit.ErrLocked):\n", New: "	case false:\n",
	Tests: []string{"TestAHostThatKeepsTheChainLockedIsCutOff"},
}, mutation{
	Rule: 17, What: "the head is not looked at again when the agent's turn has come",
	Old: "		err = c.unchanged(job.head)\n", New: "",
	Tests: []string{"TestTheHeadIsLookedAtAgainBeforeTheAgent"},
}, mutation{
	Rule: 17, What: "a writer waits for the agent",
	Old: "	if by.Auto {\n		t := time.NewTimer", New: "	if false {\n		t := time.NewTimer",
	Tests: []string{"TestAWriterDoesNotWaitForTheAgent"}, Hangs: true,
}), in("lease/observe.go", mutation{
	Rule: 17, What: "with an agent a record need not be watched",
	Old: "		return p.LeaseDuration - quiet\n", New: "		return 0\n",
	Tests: []string{"TestNoHostIsCutOffTooEarly"},
}, mutation{
	Rule: 17, What: "the short silence is for every lease",
	Old: "	if w.cfg.cutsOff(h) {\n", New: "	if true {\n",
	Tests: []string{"TestWithoutAnAgentTheWholeSilenceIsWaitedFor"},
}), in("lease/renewal.go", mutation{
	Rule: 17, What: "a renewal does not name the client that came back as another one",
	Old: "		rec.StoreClient = name\n", New: "",
	Tests: []string{"TestARenewalNamesTheClient"},
}, mutation{
	Rule: 17, What: "a renewal does not say that its host has an agent",
	Old: "	rec.Fence = k.cfg.fences()\n", New: "",
	Tests: []string{"TestARenewalSaysWhetherItsHostHasAnAgent"},
}), in("lease/handover.go", mutation{
	Rule: 17, What: "a handover does not say that its host has an agent",
	Old: "	rec.Fence = k.cfg.fences()\n", New: "",
	Tests: []string{"TestAHandoverSaysThatItsHostHasAnAgent"},
}), in("lease/steal.go", mutation{
	Rule: 17, What: "a record does not say that its host has an agent",
	Old: "	rec.Fence = k.cfg.fences()\n", New: "",
	Tests: []string{"TestAHostWithoutAnAgentTakesNothingFromAHostThatHasOne"},
}, mutation{
	Rule: 12, What: "the takeover after a cut is audited unclean",
	Old: "gateProvesEnd() && !tk.cut || tk.head.Foreign", New: "gateProvesEnd() || tk.head.Foreign",
	Tests: []string{"TestAHostIsCutOffBeforeItsLeaseIsTakenOver"},
}))
