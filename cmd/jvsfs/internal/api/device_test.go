package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDevice(t *testing.T) {
	d, err := ParseDevice("0:51")
	require.NoError(t, err)
	require.Equal(t, Device{0, 51}, d)
	for _, bad := range []string{"", "0", "0:51x", "0:-1", "../0:5", "0: 5"} {
		_, err := ParseDevice(bad)
		require.Error(t, err, bad)
	}
}
