//go:build jvsfs_hosts

package hosts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// verdict is what a history says.
type verdict struct {
	acknowledged, unacknowledged int // records
	epochs, changes              int // of acknowledged records, in the store's order: tokens, and changes of host between them
	torn, late                   int // lines that are no record; records behind those of a later token, which nobody acknowledged
	over, reported               int // acknowledged records where one of an earlier token lies, which was reported; late writes that were
	stale, lost                  int // acknowledged records behind those of a later token; such that are not there
	wrong                        []string
}

func (v verdict) String() string {
	return fmt.Sprintf("%d epochs, %d changes of host, %d acknowledged records: %d stale, %d lost; %d more stored, %d of them late, %d over acknowledged ones; "+
		"%d late writes reported; %d torn lines", v.epochs, v.changes, v.acknowledged, v.stale, v.lost, v.unacknowledged, v.late, v.over, v.reported, v.torn)
}

// add adds what the history of another worktree says.
func (v *verdict) add(other verdict, name string) {
	v.acknowledged, v.unacknowledged = v.acknowledged+other.acknowledged, v.unacknowledged+other.unacknowledged
	v.epochs, v.changes = v.epochs+other.epochs, v.changes+other.changes
	v.torn, v.late = v.torn+other.torn, v.late+other.late
	v.over, v.reported = v.over+other.over, v.reported+other.reported
	v.stale, v.lost = v.stale+other.stale, v.lost+other.lost
	for _, what := range other.wrong {
		v.wrong = append(v.wrong, name+": "+what)
	}
}

// trial is a history that is being judged.
type trial struct {
	history
	verdict
	at      map[record]int    // the line of each record, as it was seen first
	hosts   map[uint64]string // of tokens
	numbers map[string]int    // the last of each host
	last    record
}

func (t *trial) bad(format string, args ...any) {
	t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
}

// judge checks a history: each acknowledged record is stored, once; a token is of one host; in the store's order the tokens of
// acknowledged records never go back, nor do a host's numbers. A record that nobody acknowledged may be there or not. If it is late, or
// lies where an acknowledged one was, it was reported.
func (h history) judge() verdict {
	t := trial{history: h, at: map[record]int{}, hosts: map[uint64]string{}, numbers: map[string]int{}}
	t.verdict.acknowledged = len(h.acknowledged)
	for at, line := range h.stored {
		r, ok := parseRecord(line)
		switch {
		case !ok:
			t.torn++
		case h.acknowledged[r]:
			t.landed(at, r)
		default:
			t.left(at, r)
		}
	}
	t.epochs = len(t.hosts)
	for r := range h.acknowledged {
		if _, is := t.at[r]; !is {
			t.missing(r)
		}
	}
	for _, n := range h.reported {
		t.verdict.reported += n
	}
	slices.Sort(t.wrong)
	return t.verdict
}

// landed judges a record that was acknowledged.
func (t *trial) landed(at int, r record) {
	if _, is := t.at[r]; is {
		t.bad("line %d: %v is stored twice", at, r)
	} else {
		t.at[r] = at
	}
	if other := t.hosts[r.token]; other != "" && other != r.host {
		t.bad("line %d: %v: the token was acknowledged to %s", at, r, other)
	}
	t.hosts[r.token] = r.host
	if r.token < t.last.token {
		t.stale++
		t.bad("line %d: %v is behind %v: a stale record was acknowledged", at, r, t.last)
	}
	if n, known := t.numbers[r.host]; known && r.number <= n {
		t.bad("line %d: %v is behind number %d of its host", at, r, n)
	}
	if r.host != t.last.host && t.last.host != "" {
		t.changes++
	}
	t.numbers[r.host], t.last = r.number, r
}

// left judges a record that nobody acknowledged.
func (t *trial) left(at int, r record) {
	t.unacknowledged++
	if r.token >= t.last.token {
		return
	}
	t.late++
	if t.history.reported[r.token] == 0 {
		t.bad("line %d: %v is behind %v, and no late write was reported", at, r, t.last)
	}
}

// missing judges an acknowledged record that is not stored. On a store that fences nobody another one may lie over it, of a host whose
// token was over, and which has reported that.
func (t *trial) missing(r record) {
	at, line := t.placeOf(r), ""
	if at >= 0 && at < len(t.stored) {
		line = t.stored[at]
	}
	if u, ok := parseRecord(line); ok && !t.history.acknowledged[u] && u.token < r.token && t.history.reported[u.token] > 0 {
		t.over++
		return
	}
	t.lost++
	t.bad("%v was acknowledged and is lost; at its place, line %d: %q; reported late: %v", r, at, line, t.history.reported)
}

// placeOf is the line where a record of the holder should be, by others of the same token. -1: there is none.
func (t *trial) placeOf(r record) int {
	for d := 1; d < 100; d++ {
		if at, is := t.at[record{r.token, r.host, r.number - d}]; is {
			return at + d
		}
		if at, is := t.at[record{r.token, r.host, r.number + d}]; is {
			return at - d
		}
	}
	return -1
}

// The checker finds what it is for.
func TestQuickHistoriesAreJudged(t *testing.T) {
	say := func(tokensAndHosts ...string) (lines []string) {
		for i, s := range tokensAndHosts {
			token, err := strconv.ParseUint(s[2:], 10, 64)
			require.NoError(t, err)
			lines = append(lines, record{token, s[:2], i}.String())
		}
		return lines
	}
	of := func(stored []string, acknowledged ...string) history {
		h := history{acknowledged: map[record]bool{}, stored: stored}
		for _, line := range acknowledged {
			r, ok := parseRecord(line)
			require.True(t, ok)
			h.acknowledged[r] = true
		}
		return h
	}
	good := say("h11", "h11", "h22", "h13")
	require.Equal(t, verdict{acknowledged: 4, epochs: 3, changes: 2}, of(good, good...).judge())
	require.Equal(t, verdict{acknowledged: 3, unacknowledged: 1, epochs: 3, changes: 2}, of(good, good[1:]...).judge())
	late := say("h11", "h22", "h11")
	told := func(h history) history { h.reported = map[uint64]int{1: 1}; return h }
	require.Equal(t, verdict{acknowledged: 2, unacknowledged: 1, epochs: 2, changes: 1, late: 1, reported: 1, torn: 1},
		told(of(append(late, "0000"), late[:2]...)).judge())
	over := []string{good[0], say("h11", "h11", "h11")[2], record{2, "h2", 4}.String()}
	require.Equal(t, verdict{acknowledged: 3, unacknowledged: 1, epochs: 2, changes: 1, over: 1, reported: 1},
		told(of(over, good[0], record{2, "h2", 3}.String(), over[2])).judge())
	for name, c := range map[string]struct {
		stored, acknowledged []string
		says                 string
	}{
		"late":         {late, late[:2], "no late write was reported"},
		"over":         {over, []string{good[0], record{2, "h2", 3}.String(), over[2]}, "is lost; at its place"},
		"lost":         {good[:3], good, "is lost"},
		"twice":        {append(good[:4:4], good[3]), good, "is stored twice"},
		"stale":        {late, late, "a stale record was acknowledged"},
		"two holders":  {say("h11", "h21"), say("h11", "h21"), "was acknowledged to h1"},
		"numbers back": {[]string{good[1], good[0]}, good[:2], "is behind number 1"},
	} {
		require.Contains(t, strings.Join(of(c.stored, c.acknowledged...).judge().wrong, "\n"), c.says, name)
	}
}
