package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPendingKillIsReadFromTheStatus(t *testing.T) {
	require.False(t, killPending([]byte("Name:\tx\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000010000\n")))
	require.True(t, killPending([]byte("SigPnd:\t0000000000000100\n")))
	require.True(t, killPending([]byte("ShdPnd:\t0000000000000100\n")))
	require.False(t, Dying(uint32(os.Getpid())))
	require.False(t, Dying(0), "one that cannot be seen")
	require.True(t, Dying(1<<30), "one that is gone")
}
