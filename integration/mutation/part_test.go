package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The parts together are the whole, and no mutation is in two.
func TestPartsAreTheWhole(t *testing.T) {
	for index := range 7 {
		in := 0
		for i := 1; i <= 3; i++ {
			if (part{i, 3}).has(index) {
				in++
			}
		}
		require.Equal(t, 1, in, index)
		require.True(t, part{1, 1}.has(index))
	}
	var p part
	require.NoError(t, p.UnmarshalText([]byte("2/3")))
	require.Equal(t, part{2, 3}, p)
	for _, bad := range []string{"", "2", "0/2", "3/2", "1/0", "a/b"} {
		require.Error(t, p.UnmarshalText([]byte(bad)), bad)
	}
}
