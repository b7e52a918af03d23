//go:build jvsfs_hosts

package hosts

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A record is one line of a file to which hosts append under the lease: token, host, the host's number of it. All are equally long, so
// a write that lands over another one leaves a whole record or a torn line, and the checker tells which.
const recordSize = 32

// appender appends records until it has written $3 of them or one fails. $1 is the host, $2 the first number, $4 the file of what
// was acknowledged: a line is put there when write(2) of its record has returned. The directory is in the store alone: where no mount
// is, the file cannot be made.
const appender = `exec 3>>` + viewDir + `/records/log || exit 1
n=$2
while [ "$n" -lt $(($2 + $3)) ]; do
  printf -v line '%010d %-8s %-11d' "$JVSFS_TOKEN" "$1" "$n"
  printf '%s\n' "$line" >&3 || exit 1
  printf '%s\n' "$line" >>"$4" || exit 1
  n=$((n + 1))
  sleep 0.02
done`

type record struct {
	token  uint64
	host   string
	number int
}

// parseRecord is the record of a line. Not ok: the line is torn.
func parseRecord(line string) (r record, ok bool) {
	n, err := fmt.Sscanf(line, "%d %s %d", &r.token, &r.host, &r.number)
	return r, err == nil && n == 3 && len(line)+1 == recordSize && line == r.String()
}

func (r record) String() string { return fmt.Sprintf("%010d %-8s %-11d", r.token, r.host, r.number) }

// history is what the hosts were acknowledged, and what the store has.
type history struct {
	acknowledged map[record]bool
	stored       []string // lines, in the store's order
}

// verdict is what a history says.
type verdict struct {
	acknowledged, unacknowledged int // records
	epochs, changes              int // of acknowledged records, in the store's order: tokens, and changes of host between them
	torn, late                   int // lines that are no record; records behind those of a later token, which nobody acknowledged
	wrong                        []string
}

// judge checks a history: each acknowledged record is stored, once; a token is of one host; in the store's order the tokens of
// acknowledged records never go back, nor do a host's numbers. A record that nobody acknowledged may be there or not.
func (h history) judge() (v verdict) {
	v.acknowledged = len(h.acknowledged)
	seen, hosts := map[record]int{}, map[uint64]string{}
	numbers, last := map[string]int{}, record{}
	bad := func(format string, args ...any) { v.wrong = append(v.wrong, fmt.Sprintf(format, args...)) }
	for at, line := range h.stored {
		r, ok := parseRecord(line)
		switch {
		case !ok:
			v.torn++
			continue
		case !h.acknowledged[r] && r.token < last.token:
			v.late++
			fallthrough
		case !h.acknowledged[r]:
			v.unacknowledged++
			continue
		}
		if seen[r]++; seen[r] > 1 {
			bad("line %d: %v is stored twice", at, r)
		}
		if other := hosts[r.token]; other != "" && other != r.host {
			bad("line %d: %v: the token was acknowledged to %s", at, r, other)
		}
		hosts[r.token] = r.host
		if r.token < last.token {
			bad("line %d: %v is behind %v: a stale record was acknowledged", at, r, last)
		}
		if n, known := numbers[r.host]; known && r.number <= n {
			bad("line %d: %v is behind number %d of its host", at, r, n)
		}
		if r.host != last.host && last.host != "" {
			v.changes++
		}
		numbers[r.host], last = r.number, r
	}
	v.epochs = len(hosts)
	for r := range h.acknowledged {
		if seen[r] == 0 {
			bad("%v was acknowledged and is lost", r)
		}
	}
	slices.Sort(v.wrong)
	return v
}

// linesOf are the lines of a text that ends with a newline; what is behind the last newline is a torn line.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// acknowledgedTo adds what a host was acknowledged.
func (h *history) acknowledgedTo(t testing.TB, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(t, err)
	for _, line := range linesOf(string(text)) {
		r, ok := parseRecord(line)
		require.True(t, ok, "%s: %q", file, line)
		h.acknowledged[r] = true
	}
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
	require.Equal(t, verdict{acknowledged: 2, unacknowledged: 1, epochs: 2, changes: 1, late: 1, torn: 1}, of(append(late, "0000"), late[:2]...).judge())
	for name, c := range map[string]struct {
		stored, acknowledged []string
		says                 string
	}{
		"lost":         {good[:3], good, "is lost"},
		"twice":        {append(good[:4:4], good[3]), good, "is stored twice"},
		"stale":        {late, late, "a stale record was acknowledged"},
		"two holders":  {say("h11", "h21"), say("h11", "h21"), "was acknowledged to h1"},
		"numbers back": {[]string{good[1], good[0]}, good[:2], "is behind number 1"},
	} {
		require.Contains(t, strings.Join(of(c.stored, c.acknowledged...).judge().wrong, "\n"), c.says, name)
	}
}
