// Package history judges what hosts have appended to a file under leases: numbered records with tokens.
package history

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Appender appends records to $5 until it has written $3 of them or one fails. $1 is the host, $2 the first number, $4 the file of what
// was acknowledged: a line is put there when write(2) of its record has returned. The directory of $5 must not be there where no mount
// is: then the file cannot be made.
const Appender = `exec 3>>"$5" || exit 1
n=$2
while [ "$n" -lt $(($2 + $3)) ]; do
  printf -v line '%010d %-8s %-11d' "$JVSFS_TOKEN" "$1" "$n"
  printf '%s\n' "$line" >&3 || exit 1
  printf '%s\n' "$line" >>"$4" || exit 1
  n=$((n + 1))
  sleep 0.02
done`

// SyncingAppender is Appender, but a record is acknowledged when fsync(2) has returned: what a program does that wants to be sure, where a
// write is answered before it has reached the store.
var SyncingAppender = strings.Replace(Appender, `printf '%s\n' "$line" >&3`, `printf '%s\n' "$line" | dd conv=fsync status=none >&3`, 1)

// size is that of a line, and the same for all: a write that lands over another one leaves a whole record or a torn line, and the judge
// tells which.
const size = 32

// Record is one line of the file: token, host, the host's number of it.
type Record struct {
	Token  uint64
	Host   string
	Number int
}

// Parse is the record of a line. Not ok: the line is torn.
func Parse(line string) (r Record, ok bool) {
	n, err := fmt.Sscanf(line, "%d %s %d", &r.Token, &r.Host, &r.Number)
	return r, err == nil && n == 3 && len(line)+1 == size && line == r.String()
}

func (r Record) String() string { return fmt.Sprintf("%010d %-8s %-11d", r.Token, r.Host, r.Number) }

// History is what the hosts were acknowledged, what the store has, and which late writes they have reported.
type History struct {
	Acknowledged map[Record]bool
	Stored       []string                // lines, in the store's order
	Reported     map[uint64]int          // late writes by the token under which they were let in
	ReportedAt   map[uint64]map[int]bool // the lines where they were to land
}

// New is an empty history.
func New() History {
	return History{Acknowledged: map[Record]bool{}, Reported: map[uint64]int{}, ReportedAt: map[uint64]map[int]bool{}}
}

// Lines are the lines of a text that ends with a newline; what is behind the last newline is a torn line. A write that was cut off may have
// made the file longer and not have written: each record of zeros is a line of its own, which is torn, so that what follows is at its place.
func Lines(text string) (lines []string) {
	if text == "" {
		return nil
	}
	hole := strings.Repeat("\x00", size)
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		for len(line) >= size && strings.HasPrefix(line, hole) {
			lines, line = append(lines, hole), line[size:]
		}
		lines = append(lines, line)
	}
	return lines
}

// AcknowledgedTo adds what a host was acknowledged.
func (h *History) AcknowledgedTo(t testing.TB, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return
	}
	require.NoError(t, err)
	for _, line := range Lines(string(text)) {
		r, ok := Parse(line)
		require.True(t, ok, "%s: %q", file, line)
		h.Acknowledged[r] = true
	}
}

// ReportedBy adds the late writes that taints tell of, a line each.
func (h *History) ReportedBy(t testing.TB, taints string) {
	t.Helper()
	for _, line := range Lines(taints) {
		var w struct {
			Token  uint64
			Offset int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &w), "%s", line)
		h.Reported[w.Token]++
		if h.ReportedAt[w.Token] == nil {
			h.ReportedAt[w.Token] = map[int]bool{}
		}
		h.ReportedAt[w.Token][w.Offset/size] = true
	}
}
