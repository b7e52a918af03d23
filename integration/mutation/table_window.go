package main

import "slices"

// windows are the parts that make a snapshot one state, or say that it is not.
var windows = slices.Concat(
	in("gate/window.go", mutation{
		Rule: 9, What: "a window opens beside a write in flight",
		Old: "{w.drain, g.runYield, w.bar, g.runYield, w.drain}", New: "{g.runYield, w.bar}",
		Tests: []string{"TestNoWritePassesInAWindow", "TestEverythingGoesOnWhereNoWindowCanBeHad"},
	}, mutation{
		Rule: 9, What: "a window opens before stores through mappings have landed",
		Old: "{w.drain, g.runYield, w.bar, g.runYield, w.drain}", New: "{w.drain, w.bar, w.drain}",
		Tests: []string{"TestNoWritePassesInAWindow"},
	}, mutation{
		Rule: 9, What: "what was refused while a window settled stays in the kernel's pages",
		Old: "{w.drain, g.runYield, w.bar, g.runYield, w.drain}", New: "{w.drain, g.runYield, w.bar, w.drain}",
		Tests: []string{"TestNoWritePassesInAWindow"},
	}, mutation{
		Rule: 9, What: "stores through mappings pass while a window is open",
		Old: "return r.Stored && w.state.phase == windowSettling", New: "return r.Stored",
		Tests: []string{"TestAStoreBreaksTheWindow"},
	}, mutation{
		Rule: 9, What: "nobody looks for stores through mappings at the end of a window",
		Old: "if err := w.guard.runYield(ctx); err != nil {\n		w.breakOff(", New: "if err := error(nil); err != nil {\n		w.breakOff(",
		Tests: []string{"TestAStoreBreaksTheWindow"},
	}, mutation{
		Rule: 9, What: "a window where the lease is held elsewhere",
		Old: "e == nil && g.headState(head, j) == lease.Free", New: "e == nil && (true || g.headState(head, j) == lease.Free)",
		Tests: []string{"TestEverythingGoesOnWhereNoWindowCanBeHad"},
	}, mutation{
		Rule: 9, What: "a window has no end of its own",
		Old: "w.breakOff(errWindowElapsed) })", New: "})",
		Tests: []string{"TestAWindowEndsAfterItsTime"},
	}, mutation{
		Rule: 9, What: "the command of a window waits for itself",
		Old: "return !w.isOwn(r.Caller) && f.await(f.of, r)", New: "return f.await(f.of, r)",
		Tests: []string{"TestTheCommandOfAWindowIsRefusedAtOnce"},
	}),
	in("gate/window_state.go", mutation{
		Rule: 9, What: "a store through a mapping does not break a window",
		Old: "return s.breaks(errWindowStored)", New: "return s",
		Tests: []string{"TestEachEventThatBreaksAWindowIsTold", "TestAWindowIsKeptOnlyIfNobodyWrote"},
	}, mutation{
		Rule: 9, What: "a lease elsewhere does not break a window",
		Old: "	if head != s.token {", New: "	if false {",
		Tests: []string{"TestEachEventThatBreaksAWindowIsTold", "TestAWindowIsKeptOnlyIfNobodyWrote"},
	}, mutation{
		Rule: 9, What: "a lease after one elsewhere makes up for it",
		Old: "t == s.token+1", New: "t > s.token",
		Tests: []string{"TestEachEventThatBreaksAWindowIsTold"},
	}, mutation{
		Rule: 9, What: "a loss does not break a window",
		Old: "return s.breaks(fmt.Errorf(\"the lease was lost: %v\", k))", New: "return s",
		Tests: []string{"TestEachEventThatBreaksAWindowIsTold"},
	}),
	in("fusefs/write.go", mutation{
		Rule: 9, What: "a store of a former holder does not break a window, because it never lands",
		Old: "	f.showedStore(h.node)\n", New: "",
		Tests: []string{"TestAnOpenFileMovedIntoAWorktreeIsRefusedByIt"},
	}),
	in("gate/refuse.go", mutation{
		Rule: 9, What: "a store that the mount only observes does not break a window",
		Old: "Request{Op: OpWrite, Stored: true}", New: "Request{Op: OpWrite}",
		Tests: []string{"TestARefusedStoreBreaksTheWindow"}, Hangs: true,
	}),
	in("fusefs/invalidate.go", mutation{
		Rule: 9, What: "what is mapped in a tree that became the worktree is not flushed for a window",
		Old: "		return h.mapped\n	}\n	var buf", New: "		return h.mapped\n	} else if h.mapped {\n		return false\n	}\n	var buf",
		Tests: []string{"TestAnOpenFileMovedIntoAWorktreeIsRefusedByIt"},
	}),
	in("fusefs/admit_handle.go", mutation{
		Rule: 9, What: "what was open in a tree that became the worktree is not judged by it",
		Old: "		if r.Kind != layout.Guarded || on.claimedBy(f, r) {", New: "		if r != nil {",
		Tests: []string{"TestAnOpenFileMovedIntoAWorktreeIsRefusedByIt"},
	}),
	in("gate/freeze.go", mutation{
		Rule: 9, What: "who waits for a window keeps a directory locked",
		Old: "if f.window != nil && a.EstaleRetry && a.sendForWindow(f) {", New: "if f.window != nil && a.EstaleRetry && false {",
		Tests: []string{"TestACallThatWaitsForAWindowLocksNoDirectory"},
	}),
)
