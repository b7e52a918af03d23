package gate

import (
	"context"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
)

// ender tells of ends until the test is over.
func ender(t *testing.T) *Ends {
	t.Helper()
	ends, err := NewEnds()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- ends.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-done) })
	return ends
}

// shell is a process that runs a shell's command until the end is closed.
func shell(t *testing.T, command string) (is process, end io.Closer) {
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
	st, err := ReadStat(cmd.Process.Pid)
	require.NoError(t, err)
	return process{cmd.Process.Pid, st.Start}, in
}

func (s *watchedSet) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// A process is opened once for all that it holds. Everybody is told of its end, and it is closed then, but not under who uses it.
func TestAProcessIsWatchedOnce(t *testing.T) {
	ends := ender(t)
	is, end := shell(t, "echo; read x")
	r := NewResolver(lease.SystemClock())
	defer r.Close()
	told := make(chan string, 3)
	a, b := &life{}, &life{}
	one := r.watched.use(is, ends, a, func() { told <- "a" })
	require.NotNil(t, one)
	two := r.watched.use(is, ends, b, func() { told <- "b" })
	require.Same(t, one, two)
	require.True(t, r.watched.runs(is))
	third := &life{}
	require.Same(t, one, r.watched.use(is, ends, third, func() { told <- "of what is over" }))
	one.unuse(third)
	require.NoError(t, end.Close())
	require.ElementsMatch(t, []string{"a", "b"}, []string{<-told, <-told})
	require.Zero(t, r.watched.len())
	require.False(t, r.watched.runs(is))
	require.False(t, one.runs(), "its descriptor stays its own while it is used")
	one.unuse(a)
	two.unuse(b)
	require.Empty(t, told)
}

// What holds nothing is closed when there are too many, and by Close. Another process of the number is not taken for it.
func TestIdleProcessesAreDropped(t *testing.T) {
	ends := ender(t)
	is, _ := shell(t, "echo; read x")
	r := NewResolver(lease.SystemClock())
	require.Nil(t, r.watched.use(process{is.pid, is.start + 1}, ends, nil, nil))
	w := r.watched.use(is, ends, nil, nil)
	r.Close()
	require.Equal(t, 1, r.watched.len(), "in use")
	w.unuse(nil)
	require.Equal(t, 1, r.watched.len())
	r.Close()
	require.Zero(t, r.watched.len())
	require.Empty(t, ends.wake)
}

// Who takes locks is known for as long as it is the same; its program may be another one.
func TestTheHolderOfALockIsTheSameForEachLock(t *testing.T) {
	ends := ender(t)
	is, end := shell(t, "echo; read x; exec sed s/a/b/")
	r := NewResolver(lease.SystemClock())
	r.Hear(ends)
	defer r.Close()
	c := Caller{TID: uint32(is.pid)}
	first, err := r.LockHolder(c, lockfile.Tree)
	require.NoError(t, err)
	require.Equal(t, "sh", first.Purpose)
	require.Equal(t, is, process{first.PID, first.StartTime})
	require.Equal(t, 1, r.watched.len())
	session, err := r.LockHolder(c, lockfile.Session)
	require.NoError(t, err)
	require.Equal(t, string(ScopeSession), session.Scope)
	other, err := r.LockHolder(Caller{TID: c.TID, UID: 4711}, lockfile.Tree)
	require.NoError(t, err)
	require.Equal(t, uint32(4711), other.UID)
	_, err = io.WriteString(end.(io.Writer), "x\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		h, err := r.LockHolder(c, lockfile.Tree)
		return err == nil && h.Purpose == "sed"
	}, time.Minute, time.Millisecond)
}

// Where the kernel does not watch a process, nobody believes that it does.
func TestAProcessThatTheKernelDoesNotWatchIsNotTakenForWatched(t *testing.T) {
	ends := ender(t)
	_, err := ends.watch(-1, func() {})
	require.Error(t, err)
	require.Empty(t, ends.wake)
}
