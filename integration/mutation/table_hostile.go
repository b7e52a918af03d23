package main

import "slices"

// hostileMutations let through what an enemy can put among the files.
var hostileMutations = slices.Concat(
	in("lease/record/bounds.go", mutation{
		Rule: 1, What: "a record may carry any number as its token",
		Old: "	case r.FencingToken > MostToken:\n", New: "	case false:\n",
		Tests: []string{"TestARecordBeyondABoundIsUnreadable"},
	}, mutation{
		Rule: 5, What: "a lease may last for as long as its record says",
		Old: "lasts < 0 || lasts > MaxSpan", New: "lasts < 0",
		Tests: []string{"TestARecordBeyondABoundIsUnreadable"},
	}),
	in("lease/tokenrange.go", mutation{
		Rule: 2, What: "a foreign view may use the tokens up",
		Old: "v.Record.FencingToken <= record.MostForeign ||", New: "v.Record.FencingToken <= record.MostToken ||",
		Package: "./lease/repair",
		Tests:   []string{"TestAForeignViewCannotUseUpTheTokens"},
	}),
	in("gate/epochid.go", mutation{
		Rule: 9, What: "a token with the highest bit is an epoch of mode shared",
		Old: "return Epoch{kindLease, uint64(t)}", New: "return Epoch{kindLease + 2*epochKind(t>>63), uint64(t)}",
		Tests: []string{"TestNoTokenIsAnotherKindOfEpoch"},
	}),
	in("lease/audit/end.go", mutation{
		Rule: 12, What: "an event does not look whether the one before is still there",
		Old: "why != \"\" {", New: "false && why != \"\" {",
		Tests: []string{"TestTheAuditAnchorTellsEveryChangeByOthers"},
	}),
	in("lease/repair/leftovers.go", mutation{
		Rule: 1, What: "a repair removes another's lock that stands under a temporary name",
		Old: "if alone && r.HolderNonce == nonce {", New: "if alone {",
		Tests: []string{"TestATemporaryNameIsRemovedOnlyIfItIsALeftover"},
	}),
)
