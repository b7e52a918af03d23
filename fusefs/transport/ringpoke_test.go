package transport

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Who pokes has no descriptor of the daemon's: with one of /dev/fuse it would keep the connection that it waits for.
func TestARingsPokeThreadHasNoDescriptorOfTheDaemon(t *testing.T) {
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

// To be without descriptors may take as long as a backing store takes for a flush. The daemon goes on meanwhile: here it is this process
// that answers the flush, with one processor for its goroutines.
func TestARingsPokeThreadThatWaitsDelaysNobody(t *testing.T) {
	h := newOneFile()
	dir := mountedHandler(t, h)
	f, err := unix.Open(filepath.Join(dir, "f"), unix.O_WRONLY|unix.O_CLOEXEC, 0) // not by os, which asks the kernel to poll it
	require.NoError(t, err)
	defer unix.Close(f)
	require.Less(t, f, 64, "the kernel copies only those")
	rescue := exec.Command("sh", "-c", `sleep 30; exec umount -f "$0"`, dir) // ends all requests: a failure must not hang
	require.NoError(t, rescue.Start())
	defer func() { _, _ = rescue.Process.Kill(), rescue.Wait() }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var poke error
	onItsOwnThread(func() { poke = withoutDescriptors() })
	require.NoError(t, poke)
	require.Positive(t, h.flushes.Load())
	_, err = unix.Write(f, []byte("x"))
	require.NoError(t, err, "nobody had to end what waits")
}

// The first thread's descriptors are the process's, as far as /proc is concerned.
func TestTheFirstThreadsDescriptorsAreTheProcesss(t *testing.T) {
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
