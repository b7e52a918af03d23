package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryThemeHasItsTurn(t *testing.T) {
	for tier, turn := range turns {
		for _, one := range themes {
			require.Contains(t, turn, one, tier)
		}
		of := &options{tier: tier}
		require.Equal(t, turn[3], of.themeOf(3+7*len(turn)))
		of.theme = holds
		require.Equal(t, holds, of.themeOf(0))
		of.mutant = "no_drain"
		require.Equal(t, evenly, of.themeOf(0), "a mutant has a focus")
	}
	var one theme
	require.NoError(t, one.Set("kills"))
	require.Equal(t, kills, one)
	require.Error(t, one.Set("none"))
}

// Every host numbers its processes by itself.
func TestAHolderIsMatchedByHostAndProcess(t *testing.T) {
	r := claimRecord{Holder: "torture-1:root:21:777"}
	require.True(t, r.is("torture-1", 21))
	require.False(t, r.is("torture-2", 21))
	require.False(t, r.is("torture-1", 2))
	require.False(t, claimRecord{}.is("", 0))
}

// A path where nothing is mounted leads to no socket, and one that is not there to none at all.
func TestNoSocketIsNamedWhereNothingIsMounted(t *testing.T) {
	dir := t.TempDir()
	require.NoFileExists(t, control{mountpoint: dir}.socket())
	require.Empty(t, control{mountpoint: dir + "/none"}.socket())
	require.Zero(t, control{mountpoint: dir}.pid())
	_, err := control{mountpoint: dir}.ask(map[string]any{"op": "lock_status"})
	require.ErrorIs(t, err, os.ErrNotExist)
}
