package process

import (
	"context"
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// ender tells of ends until the test is over.
func ender(t *testing.T) *ExitWatch {
	t.Helper()
	exits, err := NewExitWatch()
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- exits.Run(ctx) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-done) })
	return exits
}

// shell is a process that runs a shell's command until the end is closed.
func shell(t *testing.T, command string) (is ID, end io.Closer) {
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
	return ID{cmd.Process.Pid, st.Start}, in
}

func (s *procCache) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// A process is opened once for all that it holds. Everybody is told of its end, and it is closed then, but not under who uses it.
func TestAProcessIsWatchedOnce(t *testing.T) {
	exits := ender(t)
	is, end := shell(t, "echo; read x")
	r := NewResolver(bootClock{})
	defer r.Close()
	told := make(chan string, 3)
	a, b := &Watch{}, &Watch{}
	one := r.cache.use(is, exits, a, func() { told <- "a" })
	require.NotNil(t, one)
	two := r.cache.use(is, exits, b, func() { told <- "b" })
	require.Same(t, one, two)
	require.True(t, r.cache.runs(is))
	third := &Watch{}
	require.Same(t, one, r.cache.use(is, exits, third, func() { told <- "of what is over" }))
	one.unuse(third)
	require.NoError(t, end.Close())
	require.ElementsMatch(t, []string{"a", "b"}, []string{<-told, <-told})
	require.Zero(t, r.cache.len())
	require.False(t, r.cache.runs(is))
	require.False(t, one.runs(), "its descriptor stays its own while it is used")
	one.unuse(a)
	two.unuse(b)
	require.Empty(t, told)
}

// What holds nothing is closed when there are too many, and by Close. Another process of the number is not taken for it.
func TestIdleProcessesAreDropped(t *testing.T) {
	exits := ender(t)
	is, _ := shell(t, "echo; read x")
	r := NewResolver(bootClock{})
	require.Nil(t, r.cache.use(ID{is.PID, is.Start + 1}, exits, nil, nil))
	w := r.cache.use(is, exits, nil, nil)
	r.Close()
	require.Equal(t, 1, r.cache.len(), "in use")
	w.unuse(nil)
	require.Equal(t, 1, r.cache.len())
	r.Close()
	require.Zero(t, r.cache.len())
	require.Empty(t, exits.wake)
}

// Where the kernel does not watch a process, nobody believes that it does.
func TestAProcessThatTheKernelDoesNotWatchIsNotTakenForWatched(t *testing.T) {
	exits := ender(t)
	_, err := exits.watch(-1, func() {})
	require.Error(t, err)
	require.Empty(t, exits.wake)
}
