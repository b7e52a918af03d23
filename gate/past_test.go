package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// Who is revoked follows from the records alone.
func TestLostBy(t *testing.T) {
	session := func(pid int, auto bool) lease.Holder {
		return lease.Holder{BootID: "b", PID: pid, Scope: string(ScopeSession), ScopeKey: string(rune('0' + pid)), Auto: auto}
	}
	tree := func(pid int) lease.Holder {
		return lease.Holder{BootID: "b", PID: pid, Scope: string(ScopeTree)}
	}
	a, b := session(1, true), session(2, true)
	for name, c := range map[string]struct {
		past    []lease.Past
		expired bool
		lost    map[lease.Token]Reason
	}{
		"nothing":                {nil, false, nil},
		"given back":             {[]lease.Past{{Token: 1, Holder: a, End: lease.PastGiven}}, true, nil},
		"it lasts":               {[]lease.Past{{Token: 1, Holder: a, End: lease.PastLasts}}, false, nil},
		"its time is over":       {[]lease.Past{{Token: 1, Holder: a, End: lease.PastLasts}}, true, map[lease.Token]Reason{1: ReasonRevokedExpired}},
		"taken":                  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: b, End: lease.PastGiven}}, false, map[lease.Token]Reason{1: ReasonRevokedStolen}},
		"on purpose afterwards":  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: session(1, false), End: lease.PastGiven}}, false, nil},
		"its leader afterwards":  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: tree(1), End: lease.PastGiven}}, false, nil},
		"on purpose before":      {[]lease.Past{{Token: 1, Holder: session(1, false), End: lease.PastGiven}, {Token: 2, Holder: a, End: lease.PastTaken}}, false, map[lease.Token]Reason{2: ReasonRevokedStolen}},
		"by writing afterwards":  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: a, End: lease.PastGiven}}, false, map[lease.Token]Reason{1: ReasonRevokedStolen}},
		"another afterwards":     {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: tree(2), End: lease.PastGiven}}, false, map[lease.Token]Reason{1: ReasonRevokedStolen}},
		"again after on purpose": {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: tree(1), End: lease.PastTaken}}, false, map[lease.Token]Reason{2: ReasonRevokedStolen}},
	} {
		t.Run(name, func(t *testing.T) {
			var lost map[lease.Token]Reason
			for _, v := range lostBy(c.past, c.expired) {
				if lost == nil {
					lost = map[lease.Token]Reason{}
				}
				lost[v.token] = v.why
			}
			require.Equal(t, c.lost, lost)
		})
	}
}
