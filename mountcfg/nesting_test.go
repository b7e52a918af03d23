package mountcfg

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file of a few KiB that is nested deep would keep the parser busy for minutes.
func TestDeepNestingIsRefusedBeforeItIsParsed(t *testing.T) {
	for name, text := range map[string]string{
		"lists":    "exempt: " + strings.Repeat("[", 20000),
		"closed":   "exempt: " + strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
		"mappings": "worktrees: " + strings.Repeat("{a: ", 20000),
		"dashes":   "exempt:\n  " + strings.Repeat("- ", 20000) + "a\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(writeConfig(t, text))
			require.ErrorContains(t, err, "nested more than")
		})
	}
}

// Neither many items on one level nor brackets in texts are deep.
func TestWideIsNotDeep(t *testing.T) {
	many := strings.Repeat("  - a\n", 60) + "  - '" + strings.Repeat("[", 3) + "x]]]'\n"
	_, err := Load(writeConfig(t, "# "+strings.Repeat("[", 100)+"\nexempt:\n"+many+"worktrees: {main: {exempt: [a, b]}}\n"))
	require.NoError(t, err)
}

// To some readers of YAML a leading zero means octal digits, and to others it does not.
func TestMillisecondsWithALeadingZero(t *testing.T) {
	for _, text := range []string{"030000", "-030000", "0o60000", "0_1"} {
		_, err := Load(writeConfig(t, "lease_duration_ms: "+text+"\n"))
		require.ErrorContains(t, err, "lease_duration_ms", text)
		require.ErrorContains(t, err, "without a zero in front", text)
	}
	_, err := Load(writeConfig(t, "max_clock_skew_ms: 0\n"))
	require.NoError(t, err)
}
