package main

import "slices"

// clockMutations remove clauses of rules 5 to 8: what time proves, and what it does not.
var clockMutations = slices.Concat(expired, stopped, skewed, renewing)

var expired = slices.Concat(
	in("lease/judge.go", mutation{
		Rule: 5, What: "the clock skew is not waited for",
		Old: "Add(p.MaxClockSkew + p.StealGrace)", New: "Add(p.StealGrace)",
		Tests: []string{"TestAHeadIsHeldExpiredOrStealableByTheTable"},
	}, mutation{
		Rule: 5, What: "the grace is not waited for",
		Old: "Add(p.MaxClockSkew + p.StealGrace)", New: "Add(p.MaxClockSkew)",
		Tests: []string{"TestAHeadIsHeldExpiredOrStealableByTheTable"},
	}, mutation{
		Rule: 5, What: "a lease may be robbed at the very end of grace, not only after it",
		Old: "case !now.After(stealable):", New: "case now.Before(stealable):",
		Tests: []string{"TestAHeadIsHeldExpiredOrStealableByTheTable"},
	}, mutation{
		Rule: 5, What: "the thief's policy counts, not the larger of both",
		Old: "	p = p.Stricter(r.Policy())\n", New: "",
		Tests: []string{"TestAHeadIsHeldExpiredOrStealableByTheTable"},
	}, mutation{
		Rule: 5, What: "a released record must run out first",
		Old: "	case r.Released:\n", New: "	case false:\n",
		Tests: []string{"TestAHeadIsHeldExpiredOrStealableByTheTable", "TestTheNextTokenFollowsTheReleasedOne"},
	}, mutation{
		Rule: 5, What: "an unreadable record is a free one",
		Old: "return Judgement{State: Unreadable, Reason: h.Unreadable.Error()}", New: "return Judgement{State: Free, Reason: h.Unreadable.Error()}",
		Tests: []string{"TestAHeadIsHeldExpiredOrStealableByTheTable", "TestHostileClaimsAreUnreadableAndStay"},
	}),
	in("lease/observe.go", mutation{
		Rule: 5, What: "the clock is sampled after the record is read",
		Old: "	j := w.judge(before, after, h)\n", New: "	j := w.judge(readClocks(w.cfg.Clock), after, h)\n",
		Tests: []string{"TestTheClockIsReadBeforeTheRecord"},
	}),
	in("lease/acquire.go", mutation{
		Rule: 5, What: "a holder that lost its lease robs it back at once with steal",
		Old: "	return k.take(ctx, h, false)\n", New: "	return k.take(ctx, h, true)\n",
		Tests: []string{"TestAStoppedHolderIsNotRenewedAndAnEndedOneReleases"},
	}),
	in("lease/steal.go", mutation{
		Rule: 5, What: "another holder goes on from what this one lost",
		Old: "l != nil && l.holder.Same(tk.holder) && l.claim", New: "l != nil && l.claim",
		Tests: []string{"TestAStoppedHolderIsNotRenewedAndAnEndedOneReleases"},
	}),
)

var stopped = slices.Concat(
	in("lease/observe.go", mutation{
		Rule: 6, What: "where flock proves nothing, a record need not be watched",
		Old: "j.State == Stealable && left > 0 {", New: "false && left > 0 {",
		Tests: []string{"TestRemoteStoreNeedsSilence"},
	}, mutation{
		Rule: 6, What: "silence counts from before the first read",
		Old: "	w.since = readClocks(w.cfg.Clock)\n", New: "	w.since = before\n",
		Tests: []string{"TestSilenceCountsFromAfterTheFirstRead"},
	}, mutation{
		Rule: 6, What: "silence goes on though the record changed",
		Old: "w.token == h.Token && w.sum == h.Sum {", New: "w.token == h.Token {",
		Tests: []string{"TestATakerWhoseClockIsAheadNeverRobsALivingHolder"},
	}, mutation{
		Rule: 6, What: "silence lasts by the thief's own policy",
		Old: "		need = need.Stricter(h.Record.Policy())\n", New: "",
		Tests: []string{"TestSilenceLastsByTheLongerPolicy"},
	}),
	in("lease/record/policy.go", mutation{
		Rule: 6, What: "silence of a lease is enough, without skew and grace",
		Old: "{ return p.LeaseDuration + p.MaxClockSkew + p.StealGrace }", New: "{ return p.LeaseDuration }",
		Package: "./lease",
		Tests:   []string{"TestRemoteStoreNeedsSilence", "TestSilenceLastsByTheLongerPolicy"},
	}),
	in("lease/tier.go", mutation{
		Rule: 6, What: "an unknown file system is taken for one of this kernel alone",
		Old: "		return tierA\n	}\n	return tierRemote\n", New: "		return tierA\n	}\n	return tierA\n",
		Tests: []string{"TestAnUnknownFileSystemCountsAsShared"},
	}),
)

var skewed = slices.Concat(
	in("lease/judge.go", mutation{
		Rule: 7, What: "a record from the future is judged like any",
		Old: "ahead > p.MaxClockSkew {", New: "false {",
		Tests: []string{"TestAHeadIsHeldExpiredOrStealableByTheTable", "TestAClockStepOfATakerTakesNoLease"},
	}, mutation{
		Rule: 7, What: "a store that stalls is taken for a wrong clock",
		Old: "r.LastRenewedAt.Sub(after)", New: "r.LastRenewedAt.Sub(before)",
		Tests: []string{"TestAReadThatTheStoreDelaysIsNoWrongClock"},
	}),
	in("lease/observe.go", mutation{
		Rule: 7, What: "a record that changes after it was called expired makes nobody doubt the clock",
		Old: "h.Record != nil && !h.Record.Released && w.judgedOver() {", New: "false {",
		Tests: []string{"TestATakerWhoseClockIsAheadNeverRobsALivingHolder"},
	}, mutation{
		Rule: 7, What: "a step of the wall clock while watching is believed",
		Old: "off > divergenceBound(w.cfg.Policy) {", New: "false && off > 0 {",
		Tests: []string{"TestClockStepWhileWatchingRefusesTheSteal"},
	}, mutation{
		Rule: 7, What: "doubt of the clock ends at once",
		Old: "if w.suspect != \"\" && now.boot < w.until {", New: "if false {",
		Tests: []string{"TestClockStepWhileWatchingRefusesTheSteal"},
	}),
	in("lease/clock.go", mutation{
		Rule: 7, What: "the whole bound may be used up by one step, not half",
		Old: "max(p.MaxClockSkew/2,", New: "max(p.MaxClockSkew,",
		Tests: []string{"TestAClockStepOfHalfTheBoundIsTolerated"},
	}, mutation{
		Rule: 7, What: "a step back of the wall clock is no step",
		Old: "(in.boot - base.boot)).Abs()", New: "(in.boot - base.boot))",
		Tests: []string{"TestAClockStepOfHalfTheBoundIsTolerated"},
	}),
	in("lease/renewal.go", mutation{
		Rule: 7, What: "a renewal is written by a wall clock that was set",
		Old: "off > divergenceBound(k.cfg.Policy) {", New: "false && off > 0 {",
		Tests: []string{"TestClockStepFailsTheRenewal"},
	}),
	in("lease/steal.go", mutation{
		Rule: 7, What: "the store's stamps may contradict the record",
		Old: "	if off <= max(bound, 10*time.Millisecond) {", New: "	if off <= max(bound, 10*time.Millisecond) || true {",
		Tests: []string{"TestRemoteStoreNeedsSilence"},
	}, mutation{
		Rule: 7, What: "stamps that contradict the record are forgiven without one more silence",
		Old: ">= k.cfg.Policy.Stricter(r.Policy()).Silence() {", New: "> 0 {",
		Tests: []string{"TestRemoteStoreNeedsSilence"},
	}),
	in("lease/orphan.go", mutation{
		Rule: 7, What: "a command renews by a clock that contradicts the record",
		Old: "	case Skewed:\n		return &Error", New: "	case Skewed:\n		return nil\n	case State(99):\n		return &Error",
		Tests: []string{"TestAnOrphanIsRenewedOnlyInTime"},
	}),
	in("cmd/jvsfs/internal/doctor/system.go", mutation{
		Rule: 7, What: "doctor warns at the whole bound, not at half",
		Old: "	case off > max(bound/2, lockdir.ClockNoise):\n", New: "	case off > max(bound, lockdir.ClockNoise):\n",
		Tests: []string{"TestDoctorWarnsAtHalfTheSkewBoundAndFailsAboveIt"},
	}),
)

var renewing = slices.Concat(
	in("lease/renewal.go", mutation{
		Rule: 8, What: "a renewal counts though the old deadline passed while it was written",
		Old:   "	if k.expired(k.cfg.Clock.Boot()) {\n		return false, k.store.refuse(ClassLockExpired, \"the renewal ended",
		New:   "	if false {\n		return false, k.store.refuse(ClassLockExpired, \"the renewal ended",
		Tests: []string{"TestARenewalThatEndsAfterTheOldDeadlineDoesNotCount"},
	}, mutation{
		Rule: 8, What: "a renewal counts though a successor is there",
		Old: "	if lost, err := r.h.claim.Over(true); err != nil {", New: "	if lost, err := false, error(nil); err != nil {",
		Tests: []string{"TestASuccessorClosesTheFenceAtOnce"},
	}, mutation{
		Rule: 8, What: "a failed renewal leaves the fence open",
		Old: "	ending{k: k, kind: LossRenewFailed, why: err}.interrupt()\n", New: "",
		Tests: []string{"TestAReplacedClaimClosesReopensOrExpires"},
	}, mutation{
		Rule: 8, What: "the new deadline counts from the end of the renewal",
		Old: "	r.extend()\n	return false, nil\n", New: "	r.t0 = readClocks(k.cfg.Clock)\n	r.extend()\n	return false, nil\n",
		Tests: []string{"TestDeadlinesCountFromBeforeTheRecordIsWritten"},
	}, mutation{
		Rule: 8, What: "nothing is written, the deadline moves all the same",
		Old: "	if err := h.claim.Write(r.renewed(rec)); err != nil {", New: "	if err := error(nil); rec == nil {",
		Tests: []string{"TestRunRenewsExpiresAndJoins"},
	}, mutation{
		Rule: 8, What: "a lease lost to a successor can be renewed into again",
		Old: "	case lost:\n", New: "	case lost && false:\n",
		Tests: []string{"TestASuccessorClosesTheFenceAtOnce"},
	}),
	in("lease/keeper_run.go", mutation{
		Rule: 8, What: "a stopped holder is renewed",
		Old: "	case live == Stopped:\n", New: "	case false:\n",
		Tests: []string{"TestAStoppedHolderIsNotRenewedAndAnEndedOneReleases"},
	}, mutation{
		Rule: 8, What: "nothing is renewed in time",
		Old: "	case now < h.renewAt:\n", New: "	case now < h.deadline:\n",
		Tests: []string{"TestSuspendWithinTheLeaseIsRenewed"},
	}),
	in("lease/orphan.go", mutation{
		Rule: 8, What: "a command's renewal counts though the lease ended while it was written, by the wall clock",
		Old: "clock.Wall().After(old) || ", New: "",
		Tests: []string{"TestAnOrphanIsRenewedOnlyInTime"},
	}, mutation{
		Rule: 8, What: "a command's renewal counts though the lease ended while it was written, by the boot clock",
		Old: " || clock.Boot() > end {", New: " || clock.Boot() > end && false {",
		Tests: []string{"TestAnOrphanIsRenewedOnlyInTime"},
	}),
)
