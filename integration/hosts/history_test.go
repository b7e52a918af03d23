//go:build jvsfs_hosts

package hosts

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A record is one line of a file to which hosts append under the lease: token, host, the host's number of it. All are equally long, so
// a write that lands over another one leaves a whole record or a torn line, and the checker tells which.
const recordSize = 32

// appender appends records to $5 until it has written $3 of them or one fails. $1 is the host, $2 the first number, $4 the file of what
// was acknowledged: a line is put there when write(2) of its record has returned. The directory is in the store alone: where no mount
// is, the file cannot be made.
const appender = `exec 3>>"$5" || exit 1
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

// history is what the hosts were acknowledged, what the store has, and which late writes they have reported.
type history struct {
	acknowledged map[record]bool
	stored       []string       // lines, in the store's order
	reported     map[uint64]int // late writes by the token under which they were let in
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

// reportedBy adds the late writes that taints tell of, a line each.
func (h *history) reportedBy(t testing.TB, taints string) {
	t.Helper()
	for _, line := range linesOf(taints) {
		var w struct{ Token uint64 }
		require.NoError(t, json.Unmarshal([]byte(line), &w), "%s", line)
		h.reported[w.Token]++
	}
}
