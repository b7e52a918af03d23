package inotify

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// newTestEdgePoll waits for a pipe.
func newTestEdgePoll(t *testing.T) (o *edgePoll, r, w int) {
	var p [2]int
	require.NoError(t, unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	o, err := newEdgePoll(p[0])
	require.NoError(t, err)
	t.Cleanup(func() {
		o.close()
		for _, fd := range p {
			require.NoError(t, unix.Close(fd))
		}
	})
	return o, p[0], p[1]
}

func put(t *testing.T, fd int) {
	t.Helper()
	_, err := unix.Write(fd, []byte{1})
	require.NoError(t, err)
}

// wakes reports whether Go's poller would be woken.
func (o *edgePoll) wakes(t *testing.T) (woken bool) {
	t.Helper()
	conn, err := o.epoll.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, conn.Control(func(fd uintptr) { woken = pollable(int(fd)) }))
	return woken
}

func TestNoReaderIsWokenBetweenTwoWaits(t *testing.T) {
	o, r, w := newTestEdgePoll(t)
	put(t, w)
	require.False(t, o.wakes(t), "nobody has waited yet")
	require.NoError(t, o.wait())
	put(t, w)
	require.False(t, o.wakes(t), "what comes meanwhile is gathered")
	require.NoError(t, o.wait(), "what came meanwhile is there")
	_, err := unix.Read(r, make([]byte, 2))
	require.NoError(t, err)

	came := make(chan error, 1)
	go func() { came <- o.wait() }()
	put(t, w) // before or after it waits
	require.NoError(t, <-came)
}

func TestAWaitIsInterruptedUntilItIsResumed(t *testing.T) {
	o, _, w := newTestEdgePoll(t)
	came := make(chan error, 1)
	go func() { came <- o.wait() }()
	require.NoError(t, o.interrupt())
	require.ErrorIs(t, <-came, os.ErrDeadlineExceeded)
	require.ErrorIs(t, o.wait(), os.ErrDeadlineExceeded)
	o.resume()
	put(t, w)
	require.NoError(t, o.wait())
}

func TestAWaitEndsWhenItIsClosed(t *testing.T) {
	o, _, _ := newTestEdgePoll(t)
	came := make(chan error, 1)
	go func() { came <- o.wait() }()
	o.close()
	require.ErrorIs(t, <-came, os.ErrClosed)
	require.Error(t, o.interrupt())
	require.ErrorIs(t, o.wait(), os.ErrClosed)
}

func pollable(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1
}
