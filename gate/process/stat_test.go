package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseStatSurvivesHostileNames(t *testing.T) {
	tail := " S 10 11 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 4242 1 2 3"
	for _, name := range []string{"sh", "a b", "x) R 1 1 1 (y", ")", "("} {
		s, err := parseStat([]byte("77 (" + name + ")" + tail))
		require.NoError(t, err, name)
		require.Equal(t, Stat{Comm: name, State: 'S', PPID: 10, Group: 11, Session: 12, Threads: 3, Start: 4242, Processor: -1}, s)
		s, err = parseStat([]byte("77 (" + name + ")" + tail + " 4 5 6 7 8 9 10 11 12 13 14 15 16 96 18"))
		require.NoError(t, err, name)
		require.Equal(t, 96, s.Processor)
	}
	for _, bad := range []string{"", "77", "77 (sh", "77 (sh) S 1", ")(", "77 (sh) S x 11 12 0 -1 1 1 2 3 4 5 6 7 8 20 0 3 0 4242"} {
		_, err := parseStat([]byte(bad))
		require.Error(t, err, bad)
	}
}
