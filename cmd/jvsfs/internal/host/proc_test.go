package host

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate/process"
)

func TestShellAboveSkipsSudo(t *testing.T) {
	table := map[int]process.Stat{
		50: {Comm: "sudo", PPID: 49}, 49: {Comm: "sudo", PPID: 48},
		48: {Comm: "bash", PPID: 1}, 60: {Comm: "su", PPID: 1},
	}
	stat := func(pid int) (process.Stat, error) {
		s, ok := table[pid]
		if !ok {
			return s, os.ErrNotExist
		}
		return s, nil
	}
	pid, err := shellAbove(50, 2, stat)
	require.NoError(t, err)
	require.Equal(t, 48, pid)
	pid, err = shellAbove(48, 2, stat)
	require.NoError(t, err)
	require.Equal(t, 48, pid)
	table[1] = process.Stat{Comm: "sh"}
	pid, err = shellAbove(60, 1, stat)
	require.NoError(t, err)
	require.Equal(t, 1, pid, "the shell of a container")
	_, err = shellAbove(60, 2, stat)
	require.Equal(t, api.ExitUsage, api.AsFailure(err).Exit())
	_, err = shellAbove(99, 2, stat)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPidfdKnowsTheEnd(t *testing.T) {
	f, err := process.OpenPidfd(os.Getpid())
	require.NoError(t, err)
	defer CloseFile(f)
	require.True(t, process.PidfdAlive(f))
	pid, err := process.PIDOfPidfd(f)
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), pid)
}
