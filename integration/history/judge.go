package history

import (
	"fmt"
	"slices"
)

// Verdict is what a history says.
type Verdict struct {
	Acknowledged, Unacknowledged int // records
	Epochs, Changes              int // of acknowledged records, in the store's order: tokens, and changes of host between them
	Torn, Late                   int // lines that are no record; records behind those of a later token, which nobody acknowledged
	Over, Reported               int // acknowledged records where one of an earlier token lies, which was reported; late writes that were
	Stale, Lost                  int // acknowledged records behind those of a later token; such that are not there
	Wrong                        []string
}

func (v Verdict) String() string {
	return fmt.Sprintf("%d epochs, %d changes of host, %d acknowledged records: %d stale, %d lost; %d more stored, %d of them late, %d over acknowledged ones; "+
		"%d late writes reported; %d torn lines", v.Epochs, v.Changes, v.Acknowledged, v.Stale, v.Lost, v.Unacknowledged, v.Late, v.Over, v.Reported, v.Torn)
}

// Add adds what the history of another worktree says.
func (v *Verdict) Add(other Verdict, name string) {
	v.Acknowledged, v.Unacknowledged = v.Acknowledged+other.Acknowledged, v.Unacknowledged+other.Unacknowledged
	v.Epochs, v.Changes = v.Epochs+other.Epochs, v.Changes+other.Changes
	v.Torn, v.Late = v.Torn+other.Torn, v.Late+other.Late
	v.Over, v.Reported = v.Over+other.Over, v.Reported+other.Reported
	v.Stale, v.Lost = v.Stale+other.Stale, v.Lost+other.Lost
	for _, what := range other.Wrong {
		v.Wrong = append(v.Wrong, name+": "+what)
	}
}

// trial is a history that is being judged.
type trial struct {
	h       History
	v       Verdict
	at      map[Record]int    // the line of each record, as it was seen first
	hosts   map[uint64]string // of tokens
	numbers map[string]int    // the last of each host
	covers  map[int]bool      // lines of late writes over acknowledged records
	last    Record
}

func (t *trial) bad(format string, args ...any) {
	t.v.Wrong = append(t.v.Wrong, fmt.Sprintf(format, args...))
}

// Judge checks a history: each acknowledged record is stored, once; a token is of one host; in the store's order the tokens of
// acknowledged records never go back, nor do a host's numbers. A record that nobody acknowledged may be there or not. If it is late, or
// lies where an acknowledged one was, it was reported.
func (h History) Judge() Verdict {
	t := trial{h: h, at: map[Record]int{}, hosts: map[uint64]string{}, numbers: map[string]int{}, covers: map[int]bool{}}
	t.v.Acknowledged = len(h.Acknowledged)
	for at, line := range h.Stored {
		r, ok := Parse(line)
		switch {
		case !ok:
			t.v.Torn++
		case h.Acknowledged[r]:
			t.landed(at, r)
		default:
			t.left(at, r)
		}
	}
	t.v.Epochs = len(t.hosts)
	for r := range h.Acknowledged {
		if _, is := t.at[r]; !is {
			t.missing(r)
		}
	}
	for _, n := range h.Reported {
		t.v.Reported += n
	}
	slices.Sort(t.v.Wrong)
	return t.v
}

// landed judges a record that was acknowledged.
func (t *trial) landed(at int, r Record) {
	if _, is := t.at[r]; is {
		t.bad("line %d: %v is stored twice", at, r)
	} else {
		t.at[r] = at
	}
	if other := t.hosts[r.Token]; other != "" && other != r.Host {
		t.bad("line %d: %v: the token was acknowledged to %s", at, r, other)
	}
	t.hosts[r.Token] = r.Host
	if r.Token < t.last.Token {
		t.v.Stale++
		t.bad("line %d: %v is behind %v: a stale record was acknowledged", at, r, t.last)
	}
	if n, known := t.numbers[r.Host]; known && r.Number <= n {
		t.bad("line %d: %v is behind number %d of its host", at, r, n)
	}
	if r.Host != t.last.Host && t.last.Host != "" {
		t.v.Changes++
	}
	t.numbers[r.Host], t.last = r.Number, r
}

// left judges a record that nobody acknowledged.
func (t *trial) left(at int, r Record) {
	t.v.Unacknowledged++
	if r.Token >= t.last.Token {
		return
	}
	t.v.Late++
	if t.h.Reported[r.Token] == 0 {
		t.bad("line %d: %v is behind %v, and no late write was reported", at, r, t.last)
	}
}

// missing judges an acknowledged record that is not stored. On a store that fences nobody another one may lie over it, of a host whose
// token was over, and which has reported that.
func (t *trial) missing(r Record) {
	at := t.placeOf(r)
	if t.over(at, r) && !t.covers[at] { // a line covers one record
		t.covers[at] = true
		t.v.Over++
		return
	}
	t.v.Lost++
	t.bad("%v was acknowledged and is lost; at its place, line %d: %q; reported late: %v, to lines %v", r, at,
		t.h.Stored[max(0, at):min(len(t.h.Stored), at+1)], t.h.Reported, t.h.ReportedAt)
}

// over is whether a late write that was reported lies at a line where an acknowledged record was.
func (t *trial) over(at int, r Record) bool {
	if at < 0 || at >= len(t.h.Stored) {
		return false
	}
	u, ok := Parse(t.h.Stored[at])
	return ok && !t.h.Acknowledged[u] && u.Token < r.Token && t.h.Reported[u.Token] > 0
}

// placeOf is the line where a record of the holder should be, by others of the same token. One that is alone was the first of its token,
// behind all of earlier ones: the late write over it must have been reported for this very line. -1: there is none.
func (t *trial) placeOf(r Record) int {
	for d := 1; d < 100; d++ {
		if at, is := t.at[Record{r.Token, r.Host, r.Number - d}]; is {
			return at + d
		}
		if at, is := t.at[Record{r.Token, r.Host, r.Number + d}]; is {
			return at - d
		}
	}
	first := 0
	for other, at := range t.at {
		if other.Token < r.Token {
			first = max(first, at+1)
		}
	}
	if first < len(t.h.Stored) {
		if u, ok := Parse(t.h.Stored[first]); ok && t.h.ReportedAt[u.Token][first] {
			return first
		}
	}
	return -1
}
