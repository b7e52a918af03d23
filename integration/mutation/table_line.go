package main

import "slices"

// lineMutations break the order in which those who wait get the lease.
var lineMutations = slices.Concat(
	in("lease/release.go", mutation{
		What: "who gives a lease back that is over gives back that of the next holder",
		Old:  "if k.cur != nil && t != 0 && k.cur.token() != t {", New: "if false {",
		Tests: []string{"TestOnlyTheLeaseThatIsMeantIsReleased"},
	}),
	in("gate/wait/queue.go", mutation{
		What: "whoever stands last in line has the turn as well",
		Old:  "if q.now != nil {", New: "if false {",
		Tests: []string{"TestTheFirstInTheQueueHasTheTurn"},
	}, mutation{
		What: "who leaves takes the turn along",
		Old:  "t.queue.now = nil\n\t\tt.queue.advance()\n", New: "t.queue.now = nil\n",
		Tests: []string{"TestTheFirstInTheQueueHasTheTurn"}, Hangs: true,
	}),
	in("gate/writer.go", mutation{
		What: "a writer that comes just now overtakes those who wait",
		Old:  "if a.outOfTurn() {", New: "if false {",
		Tests: []string{"TestAFreeLeaseGoesToTheWriterWhoAskedFirst"},
	}),
	in("gate/enter.go", mutation{
		What: "a lease that is taken on the way counts as a write",
		Old:  "if !r.probe {", New: "if true {",
		Tests: []string{"TestACallMadeAgainWaitsOnTheWayAndThenHasTheLease"},
	}),
	in("gate/conflict.go", mutation{
		What: "who may not write waits for the lease",
		Old:  "if a.May != nil && !a.May() {", New: "if false {",
		Tests: []string{"TestOnlyWhoMayWriteWaits"}, Hangs: true,
	}, mutation{
		What: "nobody waits",
		Old:  "if a.cfg.WaitOnConflict <= 0 || a.mode != Enforcing", New: "if true || a.mode != Enforcing",
		Tests: []string{"TestAWriterWaitsForWhoHolds", "TestACallMadeAgainWaitsOnTheWayAndThenHasTheLease"}, Hangs: true,
	}, mutation{
		What: "the holder's own writers wait for the end of their lease",
		Old:  "left, opened, w.ticket.Stand", New: "left, nil, w.ticket.Stand",
		Tests: []string{"TestWritersOfTheNewHolderLeaveTheQueue"}, Hangs: true,
	}),
	in("gate/wait/estale_retry.go", mutation{
		What: "a caller is sent round again, though the kernel makes its call again once",
		Old:  "if s.all[tid] != nil || len(s.all) >= retriesMax {", New: "if len(s.all) >= retriesMax {",
		Tests: []string{"TestACallIsAnsweredWithESTALEOnce"},
	}, mutation{
		What: "who has waited for long enough waits once more",
		Old:  "case time.Now().Before(r.Until):", New: "case true:",
		Tests: []string{"TestACallerThatWaitedItsTimeWaitsNoLonger"},
	}, mutation{
		What: "who never comes back is waited for by all",
		Old:  "r.Ticket.Leave()", New: "_ = r.Ticket",
		Tests: []string{"TestWhoNeverComesBackIsForgottenAndLosesItsTurn"},
	}),
)
