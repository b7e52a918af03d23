package child

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASignalIsAnExitCodeOf128AndItsNumber(t *testing.T) {
	require.EqualValues(t, 7, ExitCodeOf(syscall.WaitStatus(7<<8)))
	require.EqualValues(t, 137, ExitCodeOf(syscall.WaitStatus(9)))
}
