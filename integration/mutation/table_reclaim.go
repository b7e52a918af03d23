package main

import "slices"

// reclaimMutations remove clauses of rule 18: which lease a host takes back that it had left.
var reclaimMutations = slices.Concat(in("lease/reclaim.go", mutation{
	Rule: 18, What: "a host takes back what another host has left",
	Old: "	return k.cfg.CutOff.isOwn(r)\n", New: "	return true\n",
	Tests: []string{"TestNoOtherLeaseIsTakenBack"},
}, mutation{
	Rule: 18, What: "a lease is taken back where the gate proves that nobody is left",
	Old: "h.Foreign || k.store.tier().gateProvesEnd() {", New: "h.Foreign {",
	Tests: []string{"TestNoOtherLeaseIsTakenBack"},
}, mutation{
	Rule: 18, What: "a foreign tool's lease is taken back",
	Old: "r.Released || h.Foreign ||", New: "r.Released ||",
	Tests: []string{"TestNoOtherLeaseIsTakenBack"},
}, mutation{
	Rule: 18, What: "what was taken back is not released",
	Old: "	return k.ReleaseToken(ctx, g.Token, LossReleased)\n", New: "	_ = g\n	return nil\n",
	Tests: []string{"TestALeftLeaseIsTakenBackAndIsFree"},
}, mutation{
	Rule: 18, What: "another lease is taken than the one that was left",
	Old: "now.Token == h.Token && now.Sum == h.Sum }", New: "true }",
	Tests: []string{"TestALeaseThatChangedMeanwhileIsNotTakenBack"},
}, mutation{
	Rule: 18, What: "a lease is taken back although something may reach the store yet",
	Old: "w.Unsure && (r == nil ||", New: "false && (r == nil ||",
	Tests: []string{"TestNoLeaseIsTakenBackWhileItsWritesMayLand"},
}, mutation{
	Rule: 18, What: "what the store has refused keeps a lease from being taken back",
	Old: "w.Unsure && (r == nil ||", New: "(r == nil ||",
	Tests: []string{"TestNoLeaseIsTakenBackWhileItsWritesMayLand"},
}), in("lease/steal.go", mutation{
	Rule: 18, What: "the lease that is taken back is not looked at under the gate",
	Old: "tk.left != nil && !tk.left.unchanged(h):", New: "tk.left != nil && before.Token == 0 && !tk.left.unchanged(h):",
	Tests: []string{"TestALeaseThatChangedMeanwhileIsNotTakenBack"},
}))
