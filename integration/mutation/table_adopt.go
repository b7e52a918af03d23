package main

import "slices"

// adoptMutations remove what an adoption takes from rules 1, 4, 7, 8 and 17.
var adoptMutations = slices.Concat(in("lease/files.go", mutation{
	Rule: 1, What: "an adoption does not look for a successor or a release",
	Old: "rec, err := c.unreleased()", New: "rec, err := h.Record, error(nil)",
	Tests: []string{"TestOnlyTheVeryRecordIsAdopted"},
}), in("lease/adopt.go", mutation{
	Rule: 4, What: "an adoption does not wait for the dead daemon's lock",
	Old: "if err := k.gate.exclusive(ctx, k.cfg.GateWait); err != nil {", New: "if err := k.gate.shared(); err != nil {",
	Tests: []string{"TestALeaseIsNotAdoptedWhileAnotherHasTheGate"},
}, mutation{
	Rule: 4, What: "an adopted lease keeps no lock",
	Old: "if err := k.gate.downgrade(); err != nil {", New: "if err := k.gate.downgrade(); err != nil || func() bool { k.gate.unlock(); return false }() {",
	Tests: []string{"TestAdoptGoesOnUnderTheSameToken"},
}, mutation{
	Rule: 1, What: "a record with another nonce is adopted",
	Old: "|| rec.HolderNonce != b.Nonce ||", New: "||",
	Tests: []string{"TestOnlyTheVeryRecordIsAdopted"},
}, mutation{
	Rule: 1, What: "a record of another session is adopted",
	Old: " || rec.SessionID != b.SessionID:", New: ":",
	Tests: []string{"TestOnlyTheVeryRecordIsAdopted"},
}, mutation{
	Rule: 1, What: "a record that names another holder is adopted",
	Old: "	case !b.names(rec.Holder()):", New: "	case false && !b.names(rec.Holder()):",
	Tests: []string{"TestOnlyTheVeryRecordIsAdopted"},
}, mutation{
	Rule: 8, What: "a lease is adopted after its deadline",
	Old: "case k.expired(in.boot):", New: "case false:",
	Tests: []string{"TestALeaseIsAdoptedOnlyBeforeItsDeadline"},
}, mutation{
	Rule: 8, What: "an adoption makes the lease longer by itself",
	Old: "deadline: b.Deadline, renewAt:", New: "deadline: k.cfg.Clock.Boot() + k.cfg.Policy.Window(), renewAt:",
	Tests: []string{"TestAdoptGoesOnUnderTheSameToken", "TestALeaseIsAdoptedOnlyBeforeItsDeadline"},
}, mutation{
	Rule: 8, What: "a deadline on another boot's clock is believed",
	Old: "case in.boot < h.base.boot ||", New: "case",
	Tests: []string{"TestALeaseIsAdoptedOnlyBeforeItsDeadline"},
}, mutation{
	Rule: 7, What: "the clock may have been set since the last renewal",
	Old: "case off > divergenceBound(k.cfg.Policy):", New: "case false:",
	Tests: []string{"TestALeaseIsAdoptedOnlyBeforeItsDeadline"},
}, mutation{
	Rule: 11, What: "the lease of a holder that has ended goes on",
	Old: "if k.cfg.Liveness(h.holder) == Gone {", New: "if false {",
	Tests: []string{"TestAdoptReleasesForAHolderThatHasEnded"},
}, mutation{
	Rule: 17, What: "a lease that was held through another client of the store goes on",
	Old: "if err == nil && k.otherClient(rec) {", New: "if false && k.otherClient(rec) {",
	Tests: []string{"TestALeaseIsAdoptedOnlyThroughTheSameClient"},
}, mutation{
	Rule: 14, What: "what had been offered is adopted while it may be taken",
	Old: "case k.store.tier().takersUnseen() && !rec.OfferUntil.IsZero():", New: "case false:",
	Tests: []string{"TestAnOfferedLeaseIsNotAdoptedWhileItMayBeTaken"},
}))
