package lease

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

func TestRaiseNeverLowersTheToken(t *testing.T) {
	dir, err := OpenDir(t.TempDir() + "/locks")
	require.NoError(t, err)
	defer dir.Close()
	s := dir.Store("w")
	for _, c := range []struct{ to, want Token }{{0, 0}, {5, 5}, {4, 5}, {5, 5}, {9, 9}} {
		require.NoError(t, s.Raise(t.Context(), SystemClock(), record.Policy{}, c.to))
		h, err := s.Head()
		require.NoError(t, err)
		require.NoError(t, h.Unreadable)
		require.Equal(t, c.want, h.Token)
		require.Equal(t, Free, Judge(SystemClock().Wall(), h, record.Policy{}).State)
	}
}
