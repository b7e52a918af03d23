package main

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThemes(t *testing.T) {
	for tier, s := range shares {
		require.Len(t, s, len(themes))
		drawn, rng := map[theme]int{}, rand.New(rand.NewPCG(1, 2))
		for range 10000 {
			drawn[(&options{tier: tier}).themeOf(rng)]++
		}
		for i, one := range themes {
			require.InDelta(t, s[i]*1000, drawn[one], 300, "tier %s, %s", tier, one)
		}
		require.Equal(t, holds, (&options{tier: tier, theme: holds}).themeOf(rng))
		require.Equal(t, evenly, (&options{tier: tier, theme: holds, mutant: "no_drain"}).themeOf(rng), "a mutant has a focus")
	}
	var one theme
	require.NoError(t, one.Set("kills"))
	require.Equal(t, kills, one)
	require.Error(t, one.Set("none"))
}

// Every host numbers its processes by itself.
func TestHolderIsOfThisHost(t *testing.T) {
	r := claimRecord{Holder: "torture-1:root:21:777"}
	require.True(t, r.is("torture-1", 21))
	require.False(t, r.is("torture-2", 21))
	require.False(t, r.is("torture-1", 2))
	require.False(t, claimRecord{}.is("", 0))
}

// A path where nothing is mounted leads to no socket, and one that is not there to none at all.
func TestSocketOfNothing(t *testing.T) {
	dir := t.TempDir()
	require.NoFileExists(t, control{mountpoint: dir}.socket())
	require.Empty(t, control{mountpoint: dir + "/none"}.socket())
	require.Zero(t, control{mountpoint: dir}.pid())
	_, err := control{mountpoint: dir}.ask(map[string]any{"op": "lock_status"})
	require.ErrorIs(t, err, os.ErrNotExist)
}
