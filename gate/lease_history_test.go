package gate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// The records alone say who is revoked.
func TestRecordsAloneSayWhoIsRevoked(t *testing.T) {
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
		"its time is over":       {[]lease.Past{{Token: 1, Holder: a, End: lease.PastLasts}}, true, map[lease.Token]Reason{1: reasonRevokedExpired}},
		"taken":                  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: b, End: lease.PastGiven}}, false, map[lease.Token]Reason{1: reasonRevokedStolen}},
		"on purpose afterwards":  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: session(1, false), End: lease.PastGiven}}, false, nil},
		"its leader afterwards":  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: tree(1), End: lease.PastGiven}}, false, nil},
		"on purpose before":      {[]lease.Past{{Token: 1, Holder: session(1, false), End: lease.PastGiven}, {Token: 2, Holder: a, End: lease.PastTaken}}, false, map[lease.Token]Reason{2: reasonRevokedStolen}},
		"by writing afterwards":  {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: a, End: lease.PastGiven}}, false, map[lease.Token]Reason{1: reasonRevokedStolen}},
		"another afterwards":     {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: tree(2), End: lease.PastGiven}}, false, map[lease.Token]Reason{1: reasonRevokedStolen}},
		"again after on purpose": {[]lease.Past{{Token: 1, Holder: a, End: lease.PastTaken}, {Token: 2, Holder: tree(1), End: lease.PastTaken}}, false, map[lease.Token]Reason{2: reasonRevokedStolen}},
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

// counting counts how often the records are read.
type counting struct {
	*keeper
	reads int
}

func (c *counting) Past(from, head lease.Token) ([]lease.Past, error) {
	c.reads++
	return c.keeper.Past(from, head)
}

// If only the head was given back there is nothing to read. Anything else is a reason to read.
func TestRecordsAreReadAgainUnlessOnlyTheHeadWasGivenBack(t *testing.T) {
	k := &counting{keeper: &keeper{past: []lease.Past{{Token: 1, End: lease.PastLasts}}}}
	g := NewGuard(GuardConfig{Resolver: NewResolver(lease.SystemClock()), Clock: lease.SystemClock()})
	g.Bind(k)
	for _, step := range []struct {
		what  string
		key   headKey
		reads int
	}{
		{"somebody holds", headKey{token: 1, auto: true}, 1},
		{"the same", headKey{token: 1, auto: true}, 1},
		{"and gave it back", headKey{token: 1, auto: true, released: true}, 1},
		{"it was taken on purpose meanwhile", headKey{token: 1, released: true}, 2},
		{"its time is over", headKey{token: 1, expired: true}, 3},
		{"and it was given back", headKey{token: 1, released: true}, 4},
		{"another holder gave back", headKey{token: 2, released: true}, 5},
	} {
		g.learnHistory(step.key)
		require.Equal(t, step.reads, k.reads, step.what)
		require.True(t, g.hasLearnt(step.key), step.what)
	}
}
