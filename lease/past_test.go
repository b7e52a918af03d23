package lease

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// How a claim ended follows from its record and the next one's.
func TestPastEnd(t *testing.T) {
	a, b := Holder{Host: "h", User: "u", PID: 1, BootID: "b", Scope: "tree"}, Holder{Host: "h", User: "u", PID: 2, BootID: "b", Scope: "tree"}
	rec := func(tok Token, h Holder, change func(*Record)) *Record {
		r := &Record{FencingToken: tok, HolderID: h.ID(), HostBootID: h.BootID, Scope: h.Scope}
		if change != nil {
			change(r)
		}
		return r
	}
	released := func(r *Record) { r.Released = true }
	handed := func(r *Record) { r.HandedOver = true }
	for name, c := range map[string]struct {
		rec, next *Record
		head      bool
		want      PastEnd
	}{
		"released":               {rec(1, a, released), rec(2, b, nil), false, PastGiven},
		"released head":          {rec(1, a, released), nil, true, PastGiven},
		"head":                   {rec(1, a, nil), nil, true, PastLasts},
		"taken":                  {rec(1, a, nil), rec(2, b, nil), false, PastTaken},
		"handed over":            {rec(1, a, nil), rec(2, b, handed), false, PastGiven},
		"handed over later":      {rec(1, a, nil), rec(3, b, handed), false, PastTaken},
		"continued":              {rec(1, a, nil), rec(2, a, nil), false, PastGiven},
		"followed by unreadable": {rec(1, a, nil), nil, false, PastTaken},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, c.rec.end(c.next, c.head)) })
	}
}
