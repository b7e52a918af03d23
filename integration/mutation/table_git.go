package main

import "slices"

// gitMutations remove the parts of rule 9 that keep the checkouts of a git repository apart: who writes to
// one of them holds its lease, wherever in the repository that lies.
var gitMutations = slices.Concat(
	in("gate/layout/git.go", mutation{
		Rule: 9, What: "whoever takes the lock of a HEAD may write into it",
		Old: "var headLock = Entry{Change: Common}", New: "var headLock = Entry{Change: Common, Own: Common}",
		Tests: []string{"TestEachPathOfARepositoryIsGuardedByTheRuleOfItsPlace"},
	}, mutation{
		Rule: 9, What: "the lease of the main checkout is that of all administrations",
		Old: "r := guarded(l.LinkedID(name))", New: "r := guarded(l.tree)",
		Tests: []string{"TestEachPathOfARepositoryIsGuardedByTheRuleOfItsPlace"},
	}, mutation{
		Rule: 9, What: "branches are everybody's",
		Old: "return Entry{Change: Common, Own: Heads}", New: "return Entry{Change: Common}",
		Tests: []string{"TestEachPathOfARepositoryIsGuardedByTheRuleOfItsPlace"},
	}, mutation{
		Rule: 9, What: "anything may be put in the place of packed-refs",
		Old: "return slices.Contains(lockedFiles, to) && (from", New: "return slices.Contains(lockedFiles, to) || (from",
		Tests: []string{"TestAFileIsReplacedOnlyByItsOwnLockFile"},
	}, mutation{
		Rule: 9, What: "a worktree called as the main checkout has its lease",
		Old: "err == nil && id != l.tree && len", New: "err == nil && len",
		Tests: []string{"TestTwoWorktreesOfGitNeverShareAnId"},
	}),
	in("gate/layout/git_checkout.go", mutation{
		Rule: 9, What: "a note makes the repository a checkout",
		Old: "if root == taken || strings", New: "if strings",
		Tests: []string{"TestNoCheckoutLiesInTheRepositorysOwnDirectories"},
	}, mutation{
		Rule: 9, What: "a note makes a part of the repository a checkout",
		Old: "return root != \"\" && (l.git.Common == \"\" || !strings.HasPrefix(root, l.git.Common+\"/\"))", New: "return root != \"\"",
		Tests: []string{"TestNoCheckoutLiesInTheRepositorysOwnDirectories"},
	}, mutation{
		Rule: 9, What: "any .git leads to the administration that a note is of",
		Old: "return path.Join(root, to) == l.AdminOf(name)", New: "return true",
		Tests: []string{"TestTheGitFileOfACheckoutPointsToItsAdministration"},
	}, mutation{
		Rule: 9, What: "a branch that is being rebased is nobody's",
		Old: `"rebase-merge/head-name", `, New: "",
		Tests: []string{"TestABranchIsItsCheckouts"},
	}, mutation{
		Rule: 9, What: "anybody moves what a checked out branch stands for",
		Old: "for range symrefDepth {", New: "for range 1 {",
		Tests: []string{"TestABranchThatStandsForAnotherIsItsCheckouts"},
	}, mutation{
		Rule: 9, What: "a link takes the place of a directory of somebody's branch",
		Old: ` || strings.HasPrefix(used, branch+"/")`, New: "",
		Tests: []string{"TestAFileInThePlaceOfADirectoryOfBranchesConcernsThem"},
	}, mutation{
		Rule: 9, What: "whoever locks a branch may write its next value",
		Old: "		rel = strings.TrimSuffix(rel, lockSuffix)\n", New: "",
		Tests: []string{"TestALockOfABranchIsTakenByEverybodyAndWrittenByItsHolder"},
	}, mutation{
		Rule: 9, What: "the repository may get another name",
		Old: "	if rel == l.git.Common || rel == l.git.Main {\n", New: "	if false {\n",
		Tests: []string{"TestDirectoriesOfGitCannotBeMoved"},
	}),
	in("gate/layout/git_locks.go", mutation{
		Rule: 9, What: "a yarn.lock in a worktree below the repository goes with the process that made it",
		Old: "	return slices.Contains(lockedDirs,", New: "	return name != \"\" || slices.Contains(lockedDirs,",
		Tests: []string{"TestALockFileOfGitIsToldByItsPath"},
	}, mutation{
		Rule: 9, What: "what lies below modules counts as a submodule's",
		Old: " && isGitDir(rel[:i]) {", New: " {",
		Tests: []string{"TestALockFileOfGitIsToldByItsPath"},
	}),
	in("gate/layout/git_compact.go", mutation{
		Rule: 9, What: "a log may be tidied into another one",
		Old: "			if bytes.Equal(bytes", New: "			if true || bytes.Equal(bytes",
		Tests: []string{"TestAnExpiryOfALogIsToldFromOtherChanges"},
	}, mutation{
		Rule: 9, What: "a ref may be twice in packed-refs",
		Old: "bytes.Compare(last, ref) < 0", New: "true",
		Tests: []string{"TestPackedRefsThatGitReadsOtherwiseAreNotCanonical"},
	}, mutation{
		Rule: 9, What: "a file of a branch that says nothing covers what packed-refs says of it",
		Old: "return isHash([]byte(strings", New: "return true || isHash([]byte(strings",
		Tests: []string{"TestAValueOfABranchIsAWholeHash"},
	}),
	in("gate/policy/git/notes.go", mutation{
		Rule: 9, What: "a note takes a directory that has something in it",
		Old: " && g.source.isEmpty(at.fd) ||", New: " ||",
		Tests: []string{"TestAGitNoteGivesOnlyAnEmptyDirectoryForCheckouts"},
	}, mutation{
		Rule: 9, What: "a note takes any empty directory",
		Old: "g.source.isPlace(old.layout, parentOf(at.root)) && g", New: "g",
		Tests: []string{"TestAGitNoteGivesOnlyAnEmptyDirectoryForCheckouts"},
	}),
	in("gate/policy/git/git.go", mutation{
		Rule: 9, What: "a checkout stays known by an inode that is another directory's",
		Old: " || st.Nlink == 0 {", New: " {",
		Tests: []string{"TestARemovedCheckoutHasNoRoot"},
	}),
	in("gate/policy/git/rules.go", mutation{
		Rule: 9, What: "a branch is nobody's while its HEAD cannot be read",
		Old: "[]error{unix.EMFILE, ", New: "[]error{",
		Tests: []string{"TestAHeadThatCannotBeReadJustNowStaysSomebodys"},
	}),
	in("gate/policy/git/lockfiles.go", mutation{
		Rule: 9, What: "the end of a maker removes the lock file of another",
		Old: "if was == nil || was.creator.Lives() {", New: "if was == nil {",
		Tests: []string{"TestTheEndOfAMakerRemovesNoLockFileOfAnother"},
	}, mutation{
		Rule: 9, What: "who looks for lock files that are gone forgets one that is there",
		Old: "if was.isGone(k) {", New: "if true {",
		Tests: []string{"TestASweepForgetsOnlyLockFilesThatAreGone"},
	}, mutation{
		Rule: 9, What: "a lock file of an ended maker is removed while nothing may change",
		Old: "	if !ok {\n		return nil, g.opts", New: "	if !ok && false {\n		return nil, g.opts",
		Tests: []string{"TestALockFileOfAnEndedMakerStaysWhileTheMountIsReadOnly"},
	}, mutation{
		Rule: 9, What: "a lock file of an ended maker stays when a freeze ends",
		Old: "if !g.remove(k) {", New: "if !g.remove(k) && false {",
		Tests: []string{"TestALockFileOfAnEndedMakerIsRemovedAfterAFreeze"},
	}, mutation{
		Rule: 9, What: "a lock file that is gone keeps others from what has its inode",
		Old: "return l.of[k] == kept && kept.isAt(k)", New: "return l.of[k] == kept",
		Tests: []string{"TestTheEndOfAMakerRemovesNoLockFileOfAnother"},
	}),
	in("gate/policy/git/policy.go", mutation{
		Rule: 9, What: "what was judged by the content is done when the content is another",
		Old: "now.Content != by.Content || !layout.SameRules(by.Rules, now.Rules)", New: "now.Content != by.Content && !layout.SameRules(by.Rules, now.Rules)",
		Tests: []string{"TestAJudgementByContentIsRepeatedWhenTheContentChanged"},
	}),
)
