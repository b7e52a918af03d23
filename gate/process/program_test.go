package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheArgumentsAndProgramOfAProcessAreRead(t *testing.T) {
	c := exec.Command("sleep", "60")
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	require.Eventually(t, func() bool {
		args, err := Arguments(c.Process.Pid)
		return err == nil && len(args) == 2 && filepath.Base(args[0]) == "sleep" && args[1] == "60"
	}, eventually, tick)
	_, err := Arguments(1 << 30)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, "git", ProgramName("/usr/bin/git (deleted)"))
	require.Empty(t, Program(Caller{TID: 1 << 30}))
}

func TestAFieldOfTheStatusIsFoundByItsWholeName(t *testing.T) {
	s := Status("Name:\tUid:\nUmask:\t0022\nTgid:\t7\nUid:\t1\t2\t3\t4\n")
	for name, want := range map[string]string{"Name": "Uid:", "Tgid": "7", "Uid": "1\t2\t3\t4"} {
		v, ok := s.Field(name)
		require.True(t, ok, name)
		require.Equal(t, want, v)
	}
	for _, name := range []string{"Um", "Gid", "Tgid:\t7\nUid"} {
		_, ok := s.Field(name)
		require.False(t, ok, name)
	}
}
