package process

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// child starts a process that lives until the test ends.
func child(t *testing.T) int {
	t.Helper()
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = in.Close(); _ = c.Wait() })
	return c.Process.Pid
}

// A thread id that now belongs to another process must not be taken for the old one.
func TestTheResolverDoesNotTrustNumbers(t *testing.T) {
	r := NewResolver(bootClock{})
	t.Cleanup(r.Close)
	pid := child(t)
	id, err := r.Identify(Caller{TID: uint32(pid)})
	require.NoError(t, err)
	again, err := r.Identify(Caller{TID: uint32(pid), UID: 5})
	require.NoError(t, err)
	require.EqualValues(t, 5, again.UID, "the user id comes with each request")
	again.UID = 0
	require.Equal(t, id, again)
	dead := exec.Command("true")
	require.NoError(t, dead.Start())
	_, err = r.Identify(Caller{TID: uint32(dead.Process.Pid)})
	require.NoError(t, err)
	require.NoError(t, dead.Wait())
	_, err = r.Identify(Caller{TID: uint32(dead.Process.Pid)})
	require.ErrorIs(t, err, ErrGone)
	_, err = r.Identify(Caller{})
	require.ErrorIs(t, err, ErrUnseen)
}
