package main

import "slices"

// etcdMutations remove what makes etcd an authority: package lease/etcd has rules of its own.
var etcdMutations = slices.Concat(
	in("lease/etcd/win.go", mutation{
		What: "etcd: a claim wins over a head that has changed",
		Old:  "		clientv3.Compare(clientv3.ModRevision(t.keys.head), \"=\", t.saw.head),\n", New: "",
		Tests: []string{"TestAClaimOverWhatHasChangedNeverWins"},
	}, mutation{
		What: "etcd: a claim wins below a floor that was set after its look",
		Old:  "\"=\", t.saw.alive),\n		clientv3.Compare(clientv3.ModRevision(t.keys.floor), \"=\", t.saw.floorAt))", New: "\"=\", t.saw.alive))",
		Tests: []string{"TestAClaimOverWhatHasChangedNeverWins"},
	}, mutation{
		What: "etcd: a grant whose answer was lost stays",
		Old:  "	t.s.unsettle(t, releases)\n	return false, t.a.failure(", New: "	return false, t.a.failure(",
		Tests: []string{"TestAGrantWhoseAnswerIsLostIsGivenBack"},
	}, mutation{
		What: "etcd: a release whose answer was lost is forgotten",
		Old:  "		t.s.unsettle(t, releases)\n		return err\n", New: "		return err\n",
		Tests: []string{"TestAReleaseWhoseAnswerIsLostIsDoneLater"},
	}, mutation{
		What: "etcd: an epoch that ends alone keeps its proof of life",
		Old:  "func (t *tenure) Lapse() { t.s.unsettle(t, lapses) }", New: "func (t *tenure) Lapse() {}",
		Tests: []string{"TestAStoppedHolderDoesNotKeepItsLease"},
	}),
	in("lease/etcd/tenure.go", mutation{
		What: "etcd: a late write of the head goes over another's",
		Old:  "still := clientv3.Compare(clientv3.ModRevision(t.keys.head), \"=\", t.revision)\n", New: "still := clientv3.Compare(clientv3.ModRevision(t.keys.head), \">\", 0)\n",
		Tests: []string{"TestALateWriteOfTheHeadChangesNothing"},
	}, mutation{
		What: "etcd: the proof of life has no TTL",
		Old:  "clientv3.OpPut(t.keys.alive, t.rec.HolderNonce, clientv3.WithLease(g.id))", New: "clientv3.OpPut(t.keys.alive, t.rec.HolderNonce)",
		Tests: []string{"TestAHolderThatEtcdHearsNoMoreIsClosedBeforeItsSuccessorHolds"},
	}, mutation{
		What: "etcd: a claim that is over is not late",
		Old:  "		return t.over // the fence looks at its deadline itself; until then nobody else can hold\n", New: "		return nil\n",
		Tests: []string{"TestARoundFindsAHeadThatIsAnothersNow"},
	}),
	in("lease/etcd/round.go", mutation{
		What: "etcd: the deadline counts from after the keepalive",
		Old:  "	g.from = max(g.from, sent)\n", New: "	g.from = max(g.from, sent, s.cfg.Clock.Boot())\n",
		Tests: []string{"TestAKeepaliveCountsFromBeforeItWasSent"},
	}, mutation{
		What: "etcd: a renewal does not compare the heads",
		Old:  "		if err := s.prove(ctx, held[:n]); err != nil {\n", New: "		if err := ctx.Err(); err != nil {\n",
		Tests: []string{"TestARoundFindsAHeadThatIsAnothersNow"},
	}, mutation{
		What: "etcd: a session goes on without its etcd lease",
		Old:  "			s.now = nil // its tenures", New: "			// its tenures",
		Tests: []string{"TestARevokedSessionGoesOnIfNobodyCame"},
	}),
	in("lease/etcd/session.go", mutation{
		What: "etcd: an etcd lease counts from when it was granted",
		Old:  "ttl: time.Duration(got.TTL) * time.Second, from: sent}", New: "ttl: time.Duration(got.TTL) * time.Second, from: max(sent, s.cfg.Clock.Boot())}",
		Tests: []string{"TestAnEtcdLeaseCountsFromBeforeItWasAskedFor"},
	}, mutation{
		What: "etcd: the deadline is all of the TTL",
		Old:  "window-g.ttl*2/3", New: "window-g.ttl",
		Tests: []string{"TestADeadlineIsTwoThirdsOfTheTTL"},
	}, mutation{
		What: "etcd: a restore goes unnoticed",
		Old:  "if before.cluster != 0 && (h.ClusterId != before.cluster || h.Revision < before.revision) {", New: "if before.cluster != 0 && false {",
		Tests: []string{"TestAnAnswerFromThePastEndsWhatIsHeld"},
	}),
	in("lease/etcd/authority.go", mutation{
		What: "etcd: a holder that lives is robbed",
		Old:  "	case st.alive != 0:\n", New: "	case st.alive != 0 && false:\n",
		Tests: []string{"TestAnEtcdLeaseIsTakenRefusedHandedOverAndReleased"},
	}, mutation{
		What: "etcd: a silent watch says that nothing has changed",
		Old:  "r != nil && now-r.at < remembers {", New: "r != nil {",
		Tests: []string{"TestASilentWatchSaysNothing"},
	}, mutation{
		What: "etcd: a token that etcd has forgotten is given twice",
		Old:  "	if st.floor >= shown || shown < known || shown == known && same {", New: "	if st.floor >= shown || shown < known || shown >= known || same {",
		Tests: []string{"TestARestoredEtcdGrantsNothingBeforeAnAdminHasSetTheFloor"},
	}),
)
