package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A changelog that Debian's tools do not take would be found by whoever reads it, at an upgrade.
func TestChangelogIsDebians(t *testing.T) {
	text, err := os.ReadFile("../../scripts/debian/changelog")
	require.NoError(t, err)
	header := regexp.MustCompile(`^jvsfs \(\d+\.\d+\.\d+\) (?:unstable|UNRELEASED); urgency=\w+$`)
	entries := regexp.MustCompile(`(?m)^ -- The jvsfs authors <\S+@\S+>  (.*)\n`).FindAllStringSubmatchIndex(string(text), -1)
	require.NotEmpty(t, entries)
	from, newest := 0, time.Time{}
	for i, m := range entries {
		first, _, _ := strings.Cut(strings.TrimPrefix(string(text[from:m[0]]), "\n"), "\n")
		require.Regexp(t, header, first)
		if i > 0 {
			require.NotContains(t, first, "UNRELEASED", "only the newest may be")
		}
		at, err := time.Parse(time.RFC1123Z, string(text[m[2]:m[3]]))
		require.NoError(t, err)
		require.True(t, i == 0 || at.Before(newest), "the newest comes first")
		from, newest = m[1], at
	}
	require.Equal(t, len(text), from, "text after the last entry")
	for line := range strings.Lines(string(text)) {
		require.LessOrEqual(t, len(line), 81, line)
	}
}
