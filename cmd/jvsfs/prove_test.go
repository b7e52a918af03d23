package main

import (
	"os"
	"testing"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/stretchr/testify/require"
)

func TestProveRefuses(t *testing.T) {
	main, locks := repository(t)
	daemon := holdingExec(t, main)
	pid := daemon.Process.Pid
	dir, err := lease.OpenDir(locks)
	require.NoError(t, err)
	defer dir.Close() //nolint:errcheck // only read from
	store, uid := dir.Store("main"), uint32(os.Getuid())

	s, err := prove(store, pid, uid)
	require.NoError(t, err, "it is what it is")
	require.Equal(t, "running", s.what)
	closeFile(s.fd)
	for name, c := range map[string]struct {
		pid  int
		by   uint32
		id   lease.WorktreeID
		says string
	}{
		"another user's":     {pid, uid + 1, "main", "belongs to user"},
		"another worktree's": {pid, uid, "other", "let the gate go"},
		"this process":       {os.Getpid(), uid, "main", "this very process"},
		"not to be seen":     {0, uid, "main", "pid namespace"},
		"gone":               {1<<22 - 1, uid, "main", ""},
	} {
		s, err := prove(dir.Store(c.id), c.pid, c.by)
		require.ErrorContains(t, err, c.says, name)
		require.True(t, s.fd == nil || s.fd.Close() != nil, "%s: the descriptor is not left open", name)
	}
	s.fd, err = openPidfd(pid)
	require.NoError(t, err)
	defer closeFile(s.fd)
	require.ErrorContains(t, s.check(store, 1, uid), "just ended", "another start time is another process")
	require.True(t, pidfdAlive(s.fd))
}
