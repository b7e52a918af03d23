package fusefs

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Who pokes has no descriptor of the daemon's: with one of /dev/fuse it would keep the connection that it waits for.
func TestAPokeHasNoDescriptors(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	var inside, poke error
	onItsOwnThread(func() {
		poke = withoutDescriptors()
		_, inside = unix.FcntlInt(w.Fd(), unix.F_GETFD, 0)
	})
	require.NoError(t, poke)
	require.ErrorIs(t, inside, unix.EBADF)
	_, err = w.WriteString("x")
	require.NoError(t, err, "others keep theirs")
	require.NoError(t, w.Close())
}

// The first thread's descriptors are the process's, as far as /proc is concerned.
func TestTheFirstThreadIsNobodysOwn(t *testing.T) {
	done := make(chan struct{})
	for range 200 {
		go func() {
			defer func() { done <- struct{}{} }()
			var tid int
			onItsOwnThread(func() { tid = unix.Gettid() })
			assert.NotEqual(t, os.Getpid(), tid)
		}()
		runtime.Gosched()
	}
	for range 200 {
		<-done
	}
	_, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
}
