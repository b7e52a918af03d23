package fusefs

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
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
	m := mounted(t, layout.Tree, func(source string) { require.NoError(t, os.WriteFile(filepath.Join(source, "f"), nil, 0o600)) })
	m.hold(t, "tree", 1)
	f, err := os.OpenFile(m.at("f"), os.O_WRONLY, 0)
	require.NoError(t, err)
	defer f.Close()
	require.Less(t, f.Fd(), uintptr(64), "the kernel copies only those")
	rescue := exec.Command("sh", "-c", `sleep 30; exec umount -f "$0"`, m.dir) // ends all requests: a failure must not hang
	require.NoError(t, rescue.Start())
	defer func() { _, _ = rescue.Process.Kill(), rescue.Wait() }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var poke error
	onItsOwnThread(func() { poke = withoutDescriptors() })
	require.NoError(t, poke)
	require.Positive(t, m.fs.stats.requests[gate.OpFlush].Load())
	_, err = f.WriteString("x")
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
