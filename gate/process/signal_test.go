package process

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPendingSignalCountsUnlessItIsBlocked(t *testing.T) {
	for _, c := range []struct {
		status string
		has    bool
	}{
		{"Name:\tSigPnd\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n", false},
		{"SigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\nSigBlk:\t0000000000000000\n", true}, // killed
		{"SigPnd:\t0000000000000000\nShdPnd:\t0000000000002000\nSigBlk:\t0000000000000000\n", true},
		{"SigPnd:\t0000000000000000\nShdPnd:\t0000000000002000\nSigBlk:\t0000000000002000\n", false}, // blocked
		{"", false},
	} {
		require.Equal(t, c.has, hasSignal([]byte(c.status)), c.status)
	}
}
