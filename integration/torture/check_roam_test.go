package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// The second name's tokens are above roamBase.
const second = roamBase

func named(kind byte, name uint64) plan.Record {
	return plan.Record{Kind: kind, Token: name * roamBase}
}

func TestTheCheckFollowsWorktreesThatAreRenamed(t *testing.T) {
	for name, c := range map[string]struct {
		log   []plan.Record
		late  bool
		on    wentOn
		want  []string
		moved int
	}{
		"there and back": {log: []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1), begin(second+1, 0, ann), named('m', 0), named('M', 1), wrote(second+1, 0, ann, 2),
			named('m', 1), named('M', 0), begin(2, 1, bob), wrote(2, 1, bob, 1)}, moved: 2},
		"a write that was in flight over the rename": {log: []plan.Record{begin(1, 0, ann), named('m', 0), named('M', 1), wrote(1, 0, ann, 1)},
			want: []string{badRoot}, moved: 1},
		"the same where there is no gate": {log: []plan.Record{begin(1, 0, ann), named('m', 0), named('M', 1), wrote(1, 0, ann, 1)}, late: true,
			want: []string{badRoot}, moved: 1},
		"another mount goes on under the former name": {log: []plan.Record{begin(1, 0, ann), named('m', 0), named('M', 1), begin(2, 1, bob), wrote(2, 1, bob, 1)},
			want: []string{badRoot}, moved: 1},
		"before the rename was answered": {log: []plan.Record{begin(1, 0, ann), named('m', 0), wrote(1, 0, ann, 1), named('M', 1)}, moved: 1},
		"a rename that was refused":      {log: []plan.Record{begin(1, 0, ann), named('m', 0), named('s', 0), wrote(1, 0, ann, 1)}},
		"under the new name, though it was refused": {log: []plan.Record{begin(1, 0, ann), begin(second+1, 0, ann), named('m', 0), named('s', 0), wrote(second+1, 0, ann, 1)},
			want: []string{badRoot}},
		"nobody knows whether it was renamed": {log: []plan.Record{begin(1, 0, ann), begin(second+1, 0, ann), named('m', 0), wrote(second+1, 0, ann, 1), wrote(1, 0, ann, 2)}},
		"stale":                               {log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 1)}, want: []string{badStale}},
		"by a holder that went on after a pause": {log: []plan.Record{begin(1, 0, ann), begin(2, 0, ann), wrote(1, 0, ann, 1),
			begin(second+1, 0, ann), begin(second+2, 0, ann), named('m', 0), named('M', 1), wrote(second+1, 0, ann, 2)}, on: wentOn{2: true, second + 2: true}, moved: 1},
		"granted twice":               {log: []plan.Record{begin(1, 0, ann), begin(1, 1, bob)}, want: []string{badTwice}},
		"under somebody else's token": {log: []plan.Record{begin(1, 1, bob), wrote(1, 0, ann, 1)}, want: []string{badUnknown}},
		"under readonly":              {log: []plan.Record{begin(1, 0, ann), of('Z', 0), wrote(1, 0, ann, 1)}, want: []string{badSealed}},
		"by observing":                {log: []plan.Record{begin(1, 0, ann), named('m', 0), named('M', 1), of('L', 0), wrote(1, 0, ann, 1), of('S', 0)}, moved: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bad, moved, _ := checkRoam(c.log, c.on, c.late)
			var kinds []string
			for _, b := range bad {
				kinds = append(kinds, b.Kind)
			}
			require.Equal(t, c.want, kinds, "%v", bad)
			require.Equal(t, c.moved, moved)
		})
	}
}
