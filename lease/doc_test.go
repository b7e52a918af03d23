package lease

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files that doc.go sends a reader to are there, and every rule has one.
func TestTheTableOfRulesNamesFiles(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for _, name := range regexp.MustCompile(`[a-z_/]+\.go\b`).FindAllString(string(text), -1) {
		require.FileExists(t, name)
	}
	var rules []string
	for _, row := range regexp.MustCompile(`(\d+) [a-z ]+[a-z] +[a-z_/]+\.go`).FindAllStringSubmatch(string(text), -1) {
		rules = append(rules, row[1])
	}
	require.Len(t, rules, 18)
	slices.Sort(rules)
	require.Len(t, slices.Compact(rules), 18, "each rule once")
}
