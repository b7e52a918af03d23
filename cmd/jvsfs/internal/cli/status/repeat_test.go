package status

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"
)

func TestScreenOfWatchFits(t *testing.T) {
	text := screen("head\n\n"+strings.Repeat("a long line of text\n", 30), 8, 5)
	lines := strings.Split(text, "\r\n")
	require.Len(t, lines, 5)
	for _, line := range lines {
		require.LessOrEqual(t, ansi.StringWidth(line), 8)
	}
	require.Contains(t, lines[4], "28 more")
}
