package gate

import (
	"context"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// ender tells of ends until the test is over.
func ender(t *testing.T) *process.ExitWatch {
	t.Helper()
	exits, err := process.NewExitWatch()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- exits.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-done) })
	return exits
}

// shell is a process that runs a shell's command until the end is closed.
func shell(t *testing.T, command string) (is process.ID, end io.Closer) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", command)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	st, err := process.ReadStat(cmd.Process.Pid)
	require.NoError(t, err)
	return process.ID{PID: cmd.Process.Pid, Start: st.Start}, in
}

// Who takes locks is known for as long as it is the same; its program may be another one.
func TestTheHolderOfALockIsTheSameForEachLock(t *testing.T) {
	exits := ender(t)
	is, end := shell(t, "echo; read x; exec sed s/a/b/")
	r := NewResolver(lease.SystemClock())
	r.Hear(exits)
	defer r.Close()
	c := process.Caller{TID: uint32(is.PID)}
	first, err := r.LockHolder(c, lockfile.Tree)
	require.NoError(t, err)
	require.Equal(t, "sh", first.Purpose)
	require.Equal(t, is, process.ID{PID: first.PID, Start: first.StartTime})
	session, err := r.LockHolder(c, lockfile.Session)
	require.NoError(t, err)
	require.Equal(t, string(ScopeSession), session.Scope)
	other, err := r.LockHolder(process.Caller{TID: c.TID, UID: 4711}, lockfile.Tree)
	require.NoError(t, err)
	require.Equal(t, uint32(4711), other.UID)
	_, err = io.WriteString(end.(io.Writer), "x\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		h, err := r.LockHolder(c, lockfile.Tree)
		return err == nil && h.Purpose == "sed"
	}, time.Minute, time.Millisecond)
}
