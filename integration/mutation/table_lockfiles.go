package main

import "slices"

// lockFileMutations remove what keeps the lock files of other programs, and what they guard. No rule of the lease is
// concerned.
var lockFileMutations = slices.Concat(
	in("gate/lockfile/judge.go", mutation{
		What: "anybody removes the lock file of a living holder",
		Old:  "	case f.Lives:\n		return Refused, HeldByOther\n", New: "	case f.Lives:\n		return Breaks, NoReason\n",
		Tests: []string{"TestEveryChangeUnderARuleIsJudgedByTheTable", "TestNobodyTakesALivingHoldersLock"},
	}, mutation{
		What: "a late release removes the lock file of the successor",
		Old:  "	case f.Robbed:\n		return Refused, RobbedBefore\n	case b.After > 0", New: "	case f.Robbed:\n		return Breaks, NoReason\n	case b.After > 0",
		Tests: []string{"TestEveryChangeUnderARuleIsJudgedByTheTable", "TestNobodyTakesALivingHoldersLock"},
	}, mutation{
		What: "a lock file that nobody was seen to take is broken at once",
		Old:  "b.Unknown > 0 && f.Seen >= b.Unknown", New: "b.Unknown > 0",
		Tests: []string{"TestEveryChangeUnderARuleIsJudgedByTheTable"},
	}, mutation{
		What: "a dead holder's lock file is broken where the rule keeps it",
		Old:  "case !f.Lives && b.Gone:", New: "case !f.Lives:",
		Tests: []string{"TestEveryChangeUnderARuleIsJudgedByTheTable"},
	}),
	in("gate/lockfile/judge.go", mutation{
		What: "in a maintenance window anybody removes the lock file",
		Old:  "	if f.Member {\n		return Passes, NoReason\n	}\n	return Refused, HeldByOther", New: "	return Passes, NoReason",
		Tests: []string{"TestEveryChangeUnderARuleIsJudgedByTheTable", "TestEveryChangeOfARecordIsJudgedByTheTable"},
	}),
	in("gate/tenure/windows.go", mutation{
		What: "a maintenance window is open while what others change there is in flight",
		Old:  "		case <-p.none:\n", New: "		case <-p.none:\n		default:\n",
		Tests: []string{"TestAWindowWaitsForWhatIsInFlight"},
	}, mutation{
		What: "a maintenance window is open while what was in flight before one that was given up still is",
		Old:  "append(slices.DeleteFunc(s.unended, (*Passing).over), before)", New: "[]*Passing{before}",
		Tests: []string{"TestAWindowWaitsForWhatIsInFlight"},
	}),
	in("gate/tenure/maintenance.go", mutation{
		What: "a maintenance window is open before that is recorded",
		Old:  "	if err = o.Record(w.View()); err != nil {\n		return nil, err\n	}\n	before = w.begin()\n", New: "	before = w.begin()\n	if err = o.Record(w.View()); err != nil {\n		return nil, err\n	}\n",
		Tests: []string{"TestAWindowIsRecordedBeforeItOpens"}, Hangs: true,
	}, mutation{
		What: "a maintenance window takes what a living holder holds",
		Old:  "if v := l.View(); v.State == StateHeld {", New: "if v := l.View(); v.State == StateGone {",
		Tests: []string{"TestAWindowTakesNothingFromAnybody"},
	}, mutation{
		What: "a maintenance window is over while a change in it is in flight",
		Old:  "	w.guard.Close(w.loss())\n	for _, l", New: "	go w.guard.Close(w.loss())\n	for _, l",
		Tests: []string{"TestAWindowWaitsForWhatIsInFlight"},
	}, mutation{
		What: "a lock that was taken in a maintenance window is nobody's after it",
		Old:  "	default:\n		l.open(h)\n", New: "",
		Tests: []string{"TestLocksAreThereAgainAfterAWindow"},
	}),
	in("gate/lockfile/record.go", mutation{
		What: "a record is taken over before it has expired",
		Old:  "next.Nonce != now.Nonce && over && next.Token", New: "next.Nonce != now.Nonce && next.Token",
		Tests: []string{"TestEveryChangeOfARecordIsJudgedByTheTable"},
	}, mutation{
		What: "two take over the same record",
		Old:  "over && next.Token == now.Token+1", New: "over",
		Tests: []string{"TestEveryChangeOfARecordIsJudgedByTheTable"},
	}, mutation{
		What: "a renewal gives the record another token",
		Old:  "next.Nonce == now.Nonce && next.Token == now.Token:", New: "next.Nonce == now.Nonce:",
		Tests: []string{"TestEveryChangeOfARecordIsJudgedByTheTable"},
	}),
	in("gate/lockfile/place.go", mutation{
		What: "the lock directory of jvsfs is under rules",
		Old:  "r == nil || ofRecords(path)", New: "r == nil",
		Tests: []string{"TestAPathIsFoundByTheRulesThatGuardOrLockIt"},
	}),
	in("gate/tenure/turn.go", mutation{
		What: "who was robbed writes on",
		Old:  "		l.end(lease.LossSuperseded)\n		l.book.tell(Event{Kind: Broken, Lock: l, Holder: h.holder", New: "		l.book.tell(Event{Kind: Broken, Lock: l, Holder: h.holder",
		Tests: []string{"TestALockThatIsTooOldIsBroken"}, Hangs: true,
	}),
	in("gate/tenure/judge.go", mutation{
		What: "a directory with a held lock below gets another name",
		Old:  "if h != nil && below", New: "if h == nil && below",
		Tests: []string{"TestADirectoryWithAHeldLockCannotBeMoved"},
	}, mutation{
		What: "a lock file that was replaced past the mount is its former holder's",
		Old:  "there && is.same(h.file)", New: "there || is.same(h.file)",
		Tests: []string{"TestALockReplacedPastTheMountIsNotItsHoldersAnyMore"},
	}),
	in("gate/tenure/lock.go", mutation{
		What: "the next tenure begins while a write of the former one is in flight",
		Old:  "	l.guard.Close(lease.Loss{", New: "	go l.guard.Close(lease.Loss{",
		Tests: []string{"TestABreakWaitsForWhatIsInFlight"},
	}, mutation{
		What: "the lock file of an ended holder is removed although it has not ended",
		Old:  "h == nil || !l.book.cfg.Resolver.Gone(h.holder)", New: "h == nil",
		Tests: []string{"TestALivingHolderIsLeftAlone"},
	}),
	in("gate/tenure/memory.go", mutation{
		What: "another daemon believes a note of a lock file that was replaced",
		Old:  "k.Held != nil && f.same(k.Held.File)", New: "k.Held != nil",
		Tests: []string{"TestAnotherDaemonKnowsTheHoldersOfTheSameLockFiles"},
	}, mutation{
		What: "another daemon believes that an older lock file is that of who was about to make one",
		Old:  "f.Birth == 0 || f.Birth >= ", New: "f.Birth == 0 || 0 <= ",
		Tests: []string{"TestTheNextDaemonKnowsATakerWhoseDaemonWasKilled"},
	}, mutation{
		What: "another daemon believes that a renewal was made that was not",
		Old:  "	return f.same(t.File)\n}\n\nconst", New: "	return true\n}\n\nconst",
		Tests: []string{"TestARenewalThatWasNotMadeGivesNobodyTheLock"},
	}),
	in("gate/tenure/intend.go", mutation{
		What: "who is about to take a lock is not kept",
		Old:  "	l.intends(next)\n", New: "",
		Tests: []string{"TestTheNextDaemonKnowsATakerWhoseDaemonWasKilled"},
	}),
	in("gate/tenure/turn.go", mutation{
		What: "who could not take a lock is kept",
		Old:  "			p.lock.intends(nil)\n", New: "",
		Tests: []string{"TestNothingIsKeptOfALockThatWasNotTaken"},
	}),
	in("gate/tenure/taken.go", mutation{
		What: "who has made a lock file that is gone is kept",
		Old:  "	l.checkFile()\n	l.intends(nil)\n", New: "	l.checkFile()\n",
		Tests: []string{"TestAnIntentionToTakeALockEndsWithItsCall"},
	}, mutation{
		What: "a holder whose lock file is gone writes beside the lock of a taker that cannot be identified",
		Old:  "	l.checkFile()\n	l.intends(nil)\n", New: "	l.intends(nil)\n",
		Tests: []string{"TestAHolderLosesALockThatAnUnknownProgramMadeAnew", "TestAHolderLosesALockThatWasMadeAnewAndRemovedAtOnce"}, Hangs: true,
	}),
	in("gate/tenure/lock.go", mutation{
		What: "who breaks a lock is not kept any more when the former holder is out",
		Old:  "	l.held, l.last = nil, l.book.now()\n", New: "	l.held, l.next, l.last = nil, nil, l.book.now()\n",
		Tests: []string{"TestTheNextDaemonKnowsABreakerWhoseDaemonWasKilled"},
	}),
	in("gate/tenure/turn.go", mutation{
		What: "after a wait, a change of a lock's name is judged by what was there before",
		Old:  "; waited {\n			_, n.Exists", New: "; waited && n.IsDir {\n			_, n.Exists",
		Tests: []string{"TestARemovalThatWaitedIsJudgedByTheLockThatIsThereThen"},
	}),
	in("gate/tenure/lock.go", mutation{
		What: "nobody looks after the lock of a taker that ended while it was made",
		Old:  "	if l.book.cfg.Resolver.Gone(h.holder) { // before", New: "	if false { // before",
		Tests: []string{"TestATakerThatEndsDuringItsCallLeavesAFreeLock"}, Hangs: true,
	}),
	in("gate/tenure/flock.go", mutation{
		What: "the flock of a file that has lost its name takes the lock",
		Old:  "!there || !file.same(of)", New: "!there && !file.same(of)",
		Tests: []string{"TestAFlockOfAFileThatLostItsNameHoldsNoLock"},
	}),
	in("gate/tenure/taken.go", mutation{
		What: "a write without the lock takes effect after somebody has taken it who cannot be identified",
		Old:  "	l.guard.EndFree()\n", New: "",
		Tests: []string{"TestWritesWithoutALockEndBeforeAnUnknownProgramTakesIt"},
	}),
	in("gate/tenure/memory.go", mutation{
		What: "who was robbed is forgotten with the daemon",
		Old:  "	l.robbed = robbed\n", New: "",
		Tests: []string{"TestTheNextDaemonRefusesAHolderWhoWasRobbed"},
	}, mutation{
		What: "who was robbed writes under the next daemon while nobody has the lock",
		Old:  "		l.guard.Bar(h)\n", New: "		_ = h\n",
		Tests: []string{"TestTheNextDaemonRefusesAHolderWhoWasRobbed"},
	}),
	in("gate/tenure/handover.go", mutation{
		What: "a tenure begins while a replaced daemon has something in flight under the lock",
		Old:  "	b.cfg.Loans.CallIn(id)\n", New: "",
		Tests: []string{"TestTheOldDaemonEndsItsUseOfALockBeforeItChangesHands"},
	}, mutation{
		What: "a replaced daemon lets anybody write where a lock was called in that nobody holds",
		Old:  "	l.over = true\n", New: "",
		Tests: []string{"TestTheOldDaemonEndsItsUseOfALockBeforeItChangesHands"},
	}),
	in("gate/tenure/lock.go", mutation{
		What: "a replaced daemon acts on the end of a holder",
		Old:  "l.book.is(leads) && l.afterTheEnd()", New: "l.afterTheEnd()",
		Tests: []string{"TestAReplacedDaemonDoesNotActOnTheEndOfAHolder"},
	}),
	in("gate/tenure/book.go", mutation{
		What: "a lock is forgotten while somebody rests on it",
		Old:  "l.users.Load() == 0 && l.isPlain()", New: "l.isPlain()",
		Tests: []string{"TestUnusedLocksAreForgotten"},
	}),
	in("fusefs/known_place.go", mutation{
		What: "below a directory that was renamed through the mount the rules of its old place count",
		Old:  "	if k != nil {\n		k.moves.Add(1)\n", New: "	if k == nil {\n		k.moves.Add(1)\n",
		Tests: []string{"TestARenameForgetsThePlacesBelowTheDirectory", "TestAnExchangeForgetsThePlacesBelowBothDirectories"},
	}, mutation{
		What: "below a directory that was renamed past the mount the rules of its old place count",
		Old:  "k.unwatched(e.Watch) {\n		k.moved()\n", New: "k.unwatched(e.Watch) {\n",
		Tests: []string{"TestARenamePastTheMountForgetsThePlacesBelow", "TestLostInotifyEventsForgetAllPlaces"},
	}, mutation{
		What: "a place is remembered though nobody hears of moves of the directories above it",
		Old:  " && (n == f.root || f.isRightBelow(n, at, moves))", New: "",
		Tests: []string{"TestARenamePastTheMountForgetsThePlacesBelow", "TestADirectoryMovedPastTheMountToAnUnknownPlaceIsAskedEachTime"},
	}, mutation{
		What: "a directory that has strayed is remembered by what is heard of the one that it has left",
		Old:  " && known.path == above", New: "",
		Tests: []string{"TestADirectoryMovedPastTheMountToAnUnknownPlaceIsAskedEachTime"},
	}, mutation{
		What: "a place is remembered by that of a directory above that does not count any more",
		Old:  "known != nil && known.moves == moves &&", New: "known != nil &&",
		Tests: []string{"TestForgottenDirectoriesAreNotWatched"},
	}, mutation{
		What: "a place is remembered below a directory that is not watched any more",
		Old:  "	if n.leansOn.Load() {", New: "	if false {",
		Tests: []string{"TestForgottenDirectoriesAreNotWatched"},
	}, mutation{
		What: "a place counts while a directory is just being renamed",
		Old:  "k == nil || k.moving.Load() > 0", New: "k == nil",
		Tests: []string{"TestNoPlaceIsRememberedWhileADirectoryMoves"},
	}, mutation{
		What: "a place that was asked in the middle of a rename counts after it",
		Old:  "	return func() {\n		k.moved()\n", New: "	return func() {\n",
		Tests: []string{"TestNoPlaceIsRememberedWhileADirectoryMoves"},
	}, mutation{
		What: "a place counts though the kernel has ended its watch",
		Old:  "e.Mask&unix.IN_IGNORED == 0 || k.unwatched(e.Watch)", New: "e.Mask&unix.IN_IGNORED == 0 || e.Watch == 0",
		Tests: []string{"TestLostInotifyEventsForgetAllPlaces"},
	}),
	in("cmd/jvsfs/internal/host/journal.go", mutation{
		What: "a daemon that is replaced goes on in a journal that nobody reads",
		Old:  "		err = takeRecords(j.path)\n", New: "		err = nil\n",
		Tests: []string{"TestTwoDaemonsNeverWriteToOneJournal"},
	}),
	in("cmd/jvsfs/internal/host/record_file.go", mutation{
		What: "a full run directory ends the daemon at a store",
		Old:  "switch err := unix.Fallocate(int(file.Fd()), 0, 0, int64(room)); {", New: "switch err := file.Truncate(int64(room)); {",
		Tests: []string{"TestAFullDiskIsAnErrorOfTheJournalAndNoSignal"},
	}),
	in("gate/process/proccache.go", mutation{
		What: "another process of the same number is taken for the one that held the lock",
		Old:  "err == nil && st.Start != p.Start", New: "err == nil && st.Start == 0",
		Tests: []string{"TestIdleProcessesAreDropped"},
	}, mutation{
		What: "of two locks of a process only the first is told of its end",
		Old:  "		w.wakes[by] = wake\n", New: "		w.wakes[nil] = wake\n",
		Tests: []string{"TestAProcessIsWatchedOnce"}, Hangs: true,
	}),
)
