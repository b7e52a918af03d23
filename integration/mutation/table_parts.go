package main

import "slices"

// partMutations remove what keeps directories with leases of their own (rules with taken_by: lease) apart: two files under
// one lease, or one under two.
var partMutations = slices.Concat(
	in("gate/lockfile/lease.go", mutation{
		What: "two rules make worktrees of one directory",
		Old:  `a != b && a != "" && b != ""`, New: "a != b",
		Tests: []string{"TestPatternsOfLeasesThatOverlapAreFound", "TestNoNameHasTwoLeases"},
	}, mutation{
		What: "what a rule excepts is a worktree",
		Old:  "len(not) <= len(names) && not.begins", New: "len(not) < len(names) && not.begins",
		Tests: []string{"TestOnlyRulesOfLeasesGiveDirectoriesALease"},
	}),
	in("gate/layout/parts.go", mutation{
		What: "two parts have one lease",
		Old:  "			b.WriteByte(partEscape)\n			b.WriteByte(c)\n", New: "			b.WriteByte(c)\n",
		Tests: []string{"TestTheIDOfAPartIsFitForARecordAndTellsWhereItLies", "TestTwoPartsHaveTwoIDs"},
	}, mutation{
		What: "a part has the lease of the tree",
		Old:  "if id := PartID(i); id != l.tree {", New: "if id := PartID(i); true {",
		Tests: []string{"TestTheIDOfAPartIsFitForARecordAndTellsWhereItLies", "TestTwoPartsHaveTwoIDs"},
	}),
	in("fusefs/rename.go", mutation{
		Rule: 9, What: "the root of a part that another holds gets another name",
		Old: "	rules = f.partRules(rules, r)\n", New: "",
		Tests: []string{"TestWhoJudgesTheNameOfAPart"},
	}, mutation{
		Rule: 9, What: "a directory moves with the parts below it",
		Old: " && !f.movesParts(r)", New: "",
		Tests: []string{"TestWhoJudgesTheNameOfAPart"},
	}),
	in("fusefs/move.go", mutation{
		Rule: 9, What: "a part is not frozen while its root gets another name",
		Old: " && by.Kind != layout.Unheld {", New: " {",
		Tests: []string{"TestWhoJudgesTheNameOfAPart"},
	}),
	in("fusefs/place.go", mutation{
		Rule: 9, What: "the root of a part that another holds is removed",
		Old: "; isDir && e.Part != nil {", New: "; isDir && false {",
		Tests: []string{"TestWhoJudgesTheNameOfAPart"},
	}),
	in("cmd/jvsfs/internal/place/treelock.go", mutation{
		What: "two mounts of a directory have other parts",
		Old:  "	text += p.PartsText()\n", New: "",
		Tests: []string{"TestOtherPartsHaveOtherRecords"},
	}),
)
