package main

import "slices"

// renameMutations remove the parts that keep rule 9 true when a worktree gets another name: writes under the
// one name have ended before somebody holds the other.
var renameMutations = slices.Concat(freezing, movingRoots, windows)

var freezing = slices.Concat(
	in("gate/freeze.go", mutation{
		Rule: 9, What: "a freeze does not wait for what is in flight",
		Old: "for _, e := range f.epochs() {", New: "for _, e := range f.epochs()[:0] {",
		Tests: []string{"TestAFreezeWaitsForWhatIsInFlight"},
	}, mutation{
		Rule: 9, What: "a freeze overlooks what no guard is asked about",
		Old: "r.observed, r.outside)", New: "r.observed)",
		Tests: []string{"TestAFreezeWaitsForWhatIsInFlight"},
	}, mutation{
		Rule: 9, What: "two freezes at a time",
		Old: "	if !f.begin() {", New: "	if !f.begin() && false {",
		Tests: []string{"TestOneFreezeAtATime"},
	}),
	in("gate/enter.go", mutation{
		Rule: 9, What: "a frozen guard lets in",
		Old: "if f := g.frozen.Load().bars(r); f != nil {", New: "if f := (*Freeze)(nil); f != nil {",
		Tests: []string{"TestAFreezeWaitsForWhatIsInFlight"},
	}),
	in("gate/refuse.go", mutation{
		Rule: 9, What: "a frozen guard lets in what is only observed",
		Old: "if f := a.frozen.Load().bars(a.Request); f != nil {", New: "if f := (*Freeze)(nil); f != nil {",
		Tests: []string{"TestAFreezeWaitsForWhatIsInFlight"},
	}),
	in("gate/exempt.go", mutation{
		Rule: 9, What: "a frozen guard lets in by the place",
		Old: "f := g.frozen.Load().bars(r)", New: "var f *Freeze",
		Tests: []string{"TestAFreezeWaitsForWhatIsInFlight"},
	}),
)

var movingRoots = slices.Concat(
	in("fusefs/move.go", mutation{
		Rule: 9, What: "files that are open below what moves do not count",
		Old: "if !slices.Contains(all, c.guard) {", New: "if false {",
		Tests: []string{"TestARenameOfARootWaitsForWhatIsInFlight"},
	}),
	in("fusefs/admit_handle.go", mutation{
		Rule: 9, What: "a handle is looked at before it is counted",
		Old: "if on.revoked.Load() == revoked {", New: "if true {",
		Tests: []string{"TestAWriteIsJudgedAgainWhenARenameCameBetween"},
	}),
	in("fusefs/admit.go", mutation{
		Rule: 9, What: "a path is judged by the rule that it had",
		Old: "if f.moves.Load() == moves {", New: "if f.moves.Load() >= moves {",
		Tests: []string{"TestAPathOperationIsJudgedAgainWhenARenameCameBetween"},
	}),
	in("fusefs/serving.go", mutation{
		Rule: 9, What: "who renames a root does not look for other mounts",
		Old: "if s.others(byteServing) {", New: "if false {",
		Tests: []string{"TestARootIsRenamedByTheOnlyMount"},
	}, mutation{
		Rule: 9, What: "who mounts does not wait for a rename",
		Old: "!s.blind && s.others(byteRenaming);", New: "!s.blind && false;",
		Tests: []string{"TestAMountWaitsForARename"},
	}, mutation{
		Rule: 9, What: "a worktree that was renamed meanwhile is served as what it was",
		Old: "return isWorktree(repo, root, o.Layout.Tree())", New: "return nil",
		Tests: []string{"TestAWorktreeThatWasRenamedMeanwhileIsNotServed"},
	}, mutation{
		Rule: 9, What: "daemons that know only flock do not count",
		Old: "return retry(func() error { return unix.Flock(s.old, unix.LOCK_EX|unix.LOCK_NB) }) == nil", New: "return true",
		Tests: []string{"TestARenameRespectsDaemonsThatKnowOnlyFlock"},
	}),
)
