package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
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

func TestBadArgumentsOfStatusWatchAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"status", "5s"}, {"status", "--watch", "soon"}, {"status", "--watch=1ms"}, {"status", "--watch", "1ms"}, {"top", "--interval", "0s"}, {"status", "--watch", "1s", "2s"}} {
		exit, _, errs := command(args...)
		require.Equal(t, api.ExitUsage, exit, "%v %s", args, errs)
	}
	exit, _, errs := command("top")
	require.Equal(t, api.ExitUsage, exit)
	require.Contains(t, errs, "jvsfs status --watch")
}
