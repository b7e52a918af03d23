package harness

import (
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"
)

// AuditLine is what the tests need of a line of the audit chain.
type AuditLine struct {
	Type     string         `json:"event_type"`
	Worktree string         `json:"worktree_name"`
	Details  map[string]any `json:"details"`
}

// AuditTail is the end of the audit chain of the worktree at path.
func (m *Mount) AuditTail(path string) []AuditLine {
	m.T.Helper()
	var lines []AuditLine
	for text := range strings.Lines(m.MustCLI("audit", "tail", "--json", "-n", "1000", path)) {
		var l AuditLine
		require.NoError(m.T, json.Unmarshal([]byte(text), &l), text)
		lines = append(lines, l)
	}
	return lines
}

// EventTypes counts the lines of the audit chain by type.
func (m *Mount) EventTypes(path string) map[string]int {
	m.T.Helper()
	n := map[string]int{}
	for _, l := range m.AuditTail(path) {
		n[l.Type]++
	}
	return n
}
