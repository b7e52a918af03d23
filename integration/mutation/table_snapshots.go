package main

import "slices"

// snapshotMutations remove what keeps READY snapshots of JVS as they are. No rule of the lease is concerned.
var snapshotMutations = slices.Concat(
	in("gate/layout/jvs_snapshot.go", mutation{
		What: "a snapshot is not known by what lies in it",
		Old:  "		id, _, _ = strings.Cut(in, \"/\")\n", New: "		id = in\n",
		Tests: []string{"TestAPathIsFoundToBelongToItsSnapshot"},
	}, mutation{
		What: "the descriptor of a snapshot is anybody's",
		Old:  "return id, id != \"\"\n}\n\n// ReadyMarks", New: "return id, false\n}\n\n// ReadyMarks",
		Tests: []string{"TestAPathIsFoundToBelongToItsSnapshot"},
	}, mutation{
		What: "what restore makes beside main has no guard",
		Old:  "ok && of != \"\" && after != \"\"", New: "!ok && of != \"\" && after != \"\"",
		Tests: []string{"TestEachPathIsGuardedByTheRuleOfItsLayout"},
	}, mutation{
		What: "every plan names every snapshot",
		Old:  "slices.Contains(plan.ToDelete, id)", New: "(len(plan.ToDelete) > 0 || slices.Contains(plan.ToDelete, id))",
		Tests: []string{"TestAPlanOfACollectionNamesWhatItRemoves"},
	}),
	in("gate/state_version.go", mutation{
		What: "a snapshot is published although its worktree has changed hands",
		Old:  "return g.StateVersion().token == was.token", New: "return true",
		Tests: []string{"TestAWorktreeIsUnchangedUntilSomebodyElseMayHaveWritten"},
	}, mutation{
		What: "a snapshot is published after its window was broken",
		Old:  "return !wait.Happened(was.window.Over())", New: "return true || wait.Happened(was.window.Over())",
		Tests: []string{"TestAWorktreeIsUnchangedInAWindowWhateverItsToken"},
	}, mutation{
		What: "a holder that went on after a pause is another one",
		Old:  "s.token = lease.Token(e.since)", New: "s.token = head.Token",
		Tests: []string{"TestAWorktreeIsUnchangedUntilSomebodyElseMayHaveWritten"},
	}),
	in("gate/policy/jvs/jvs.go", mutation{
		What: "whoever removes may remove READY snapshots",
		Old:  "(!removes || !s.collects(c, id))", New: "!removes",
		Tests: []string{"TestAReadySnapshotAllowsNoChangeOfNames"},
	}, mutation{
		What: "all snapshots are moved away at once",
		Old:  "return layout.Publishes(rel) && s.someReady()", New: "return false",
		Tests: []string{"TestAReadySnapshotAllowsNoChangeOfNames"},
	}, mutation{
		What: "every program is JVS",
		Old:  "	if process.Program(c) != program {", New: "	if false {",
		Tests: []string{"TestAReadySnapshotAllowsNoChangeOfNames"},
	}),
	in("fusefs/begin.go", mutation{
		What: "a change of names or of an inode asks no policy",
		Old:  "		if len(f.policies) > 0 {\n			m := c.about()", New: "		if false {\n			m := c.about()",
		Tests: []string{"TestEveryChangeAsksThePolicies"},
	}, mutation{
		What: "what a policy refuses to anybody is not asked first",
		Old:  "	if len(f.policies) == 0 {\n		return fuse.OK", New: "	if true {\n		return fuse.OK",
		Tests: []string{"TestEveryChangeAsksThePolicies"},
	}),
	in("fusefs/admit_handle.go", mutation{
		What: "a change through a handle asks no policy",
		Old:  "		if len(f.policies) > 0 {", New: "		if false {",
		Tests: []string{"TestEveryChangeAsksThePolicies"},
	}),
	in("fusefs/late.go", mutation{
		What: "no policy is told what was made",
		Old:  "		if made {\n			by.Done()", New: "		if false {\n			by.Done()",
		Tests: []string{"TestEveryChangeAsksThePolicies"},
	}),
	in("gate/engine/engine.go", mutation{
		What: "what is needed alone once is held with others",
		Old:  "p.locks[i].alone = p.locks[i].alone || alone", New: "p.locks[i].alone = p.locks[i].alone && alone",
		Tests: []string{"TestLocksAreTakenInTheWrittenOrder"},
	}, mutation{
		What: "locks are taken in the order in which policies ask",
		Old:  "return int(x.rank) - int(y.rank)", New: "return 0",
		Tests: []string{"TestLocksAreTakenInTheWrittenOrder"},
	}, mutation{
		What: "the last word of a policy does not count",
		Old:  "if err := word(); stops(err) {", New: "if err := word(); stops(err) && false {",
		Tests: []string{"TestOneRefusalIsEnough"},
	}),
	in("gate/policy/hardlink/names.go", mutation{
		What: "a name that another program has moved is not looked for",
		Old:  "(a.ctime.Load() == changed(&st) || n.changing.Load() > 0)", New: "true",
		Tests: []string{"TestOnlyChangesByOthersMakeNamesUnknown"},
	}, mutation{
		What: "a change of ours hides what somebody else has done before",
		Old:  "a.void.Store(true)", New: "a.void.Store(false)",
		Tests: []string{"TestOnlyChangesByOthersMakeNamesUnknown"},
	}),
)
