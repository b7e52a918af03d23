package main

import "slices"

// lossMutations remove what rule 9 says of those who lost a lease against their will, and of those who did not.
var lossMutations = slices.Concat(
	in("lease/past.go", mutation{
		Rule: 9, What: "who was superseded has given its lease",
		Old: "	return PastTaken\n", New: "	return PastGiven\n",
		Tests: []string{"TestTheNextRecordSaysHowAClaimEnded"},
	}, mutation{
		Rule: 9, What: "who handed its lease over was robbed",
		Old: "next.HandedOver:", New: "false:",
		Tests: []string{"TestTheNextRecordSaysHowAClaimEnded", "TestTheNextRecordSaysWhetherALeaseWasGivenOrLost"},
	}, mutation{
		Rule: 9, What: "who went on by itself was robbed",
		Old: "case next != nil && next.Holder().Same(r.Holder()):", New: "case false:",
		Tests: []string{"TestTheNextRecordSaysHowAClaimEnded"},
	}),
	in("lease/handover.go", mutation{
		Rule: 13, What: "the record does not say that the lease was given",
		Old: "	rec.HandedOver, rec.StoreClient = true,", New: "	_, rec.StoreClient = true,",
		Tests: []string{"TestTheNextRecordSaysWhetherALeaseWasGivenOrLost"},
	}),
	in("lease/acquire.go", mutation{
		Rule: 9, What: "a writer's request closes the fence",
		Old: "		if h.Auto {\n			k.wake.poke()\n			return Grant{}, k.store.busy(nil)\n		}\n		_ = k.lose(LossHolderGone", New: "		_ = k.lose(LossHolderGone",
		Tests: []string{"TestTheLeaseOfAnEndedHolderPassesOnAtOnce"},
	}, mutation{
		Rule: 11, What: "the lease of who has ended keeps others out",
		Old: "	if tk.passesOn() {\n", New: "	if false {\n",
		Tests: []string{"TestTheLeaseOfAnEndedHolderPassesOnAtOnce"},
	}),
	in("gate/lease_history.go", mutation{
		Rule: 9, What: "who was robbed elsewhere is not known",
		Old: "		case p.End == lease.PastTaken:\n", New: "		case false:\n",
		Tests: []string{"TestRecordsAloneSayWhoIsRevoked"},
	}, mutation{
		Rule: 9, What: "who let its lease end elsewhere is not known",
		Old: "		case p.End == lease.PastLasts && expired:\n", New: "		case false:\n",
		Tests: []string{"TestRecordsAloneSayWhoIsRevoked"},
	}, mutation{
		Rule: 9, What: "acquiring by writing lets in again",
		Old: "p.Token > token && !p.Holder.Auto && admits", New: "p.Token > token && admits",
		Tests: []string{"TestRecordsAloneSayWhoIsRevoked"},
	}),
)
