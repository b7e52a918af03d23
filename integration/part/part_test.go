package part

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The parts together are the whole, and no mutation is in two.
func TestPartsAreTheWhole(t *testing.T) {
	for index := range 7 {
		in := 0
		for i := 1; i <= 3; i++ {
			if (Part{i, 3}).Has(index) {
				in++
			}
		}
		require.Equal(t, 1, in, index)
		require.True(t, Part{1, 1}.Has(index))
	}
	var p Part
	require.NoError(t, p.UnmarshalText([]byte("2/3")))
	require.Equal(t, Part{2, 3}, p)
	for _, bad := range []string{"", "2", "0/2", "3/2", "1/0", "a/b"} {
		require.Error(t, p.UnmarshalText([]byte(bad)), bad)
	}
}
