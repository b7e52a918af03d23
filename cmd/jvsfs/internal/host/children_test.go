package host

import (
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// ended is what NextEnd has told.
type ended struct {
	pid    int
	status syscall.WaitStatus
}

// untilNone collects the ends of children until there is none. Tell of each is what the test waits for.
func untilNone(tell chan<- ended) error {
	defer close(tell)
	for {
		pid, status, err := NextEnd(true)
		switch {
		case err == nil:
			tell <- ended{pid, status}
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

func TestAWaitForAllChildrenTakesNoOthersExit(t *testing.T) {
	keep := exec.Command("cat") // so that there is a child all the time
	in, err := keep.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, keep.Start())
	tell, over := make(chan ended, 1), make(chan error, 1)
	go func() { over <- untilNone(tell) }()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				err := RunChild(exec.Command("sh", "-c", "exit 7"))
				exit, is := errors.AsType[*exec.ExitError](err)
				if !is || exit.ExitCode() != 7 {
					t.Errorf("want exit code 7: %v", err)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, in.Close())
	require.Equal(t, ended{keep.Process.Pid, 0}, <-tell, "what nobody waits for by name")
	require.ErrorIs(t, <-over, unix.ECHILD)
	require.Empty(t, awaited.pids)
}

func TestStopsAndEndsOfChildren(t *testing.T) {
	cmd := exec.Command("sh", "-c", "kill -STOP $$; exit 3")
	require.NoError(t, cmd.Start())
	pid, status, err := NextEnd(true)
	require.NoError(t, err)
	require.Equal(t, cmd.Process.Pid, pid)
	require.True(t, status.Stopped())

	pid, _, err = NextEnd(false)
	require.NoError(t, err)
	require.Zero(t, pid, "a stop is told once")
	require.NoError(t, cmd.Process.Signal(unix.SIGCONT))
	pid, status, err = NextEnd(true)
	require.NoError(t, err)
	require.Equal(t, cmd.Process.Pid, pid)
	require.Equal(t, 3, status.ExitStatus())
	_, _, err = NextEnd(false)
	require.ErrorIs(t, err, unix.ECHILD)
	require.NoError(t, cmd.Process.Release())
}
