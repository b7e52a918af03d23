package transport

import (
	"testing"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// slowToForget forgets an inode when it may.
type slowToForget struct {
	seenFS
	may  chan struct{}
	done chan uint64
}

func (s *slowToForget) Forget(node, _ uint64) {
	<-s.may
	s.done <- node
}

func batchOf(n int) []byte {
	batch := make([]forgetOne, n)
	for i := range batch {
		batch[i] = forgetOne{node: uint64(100 + i), lookups: 1}
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&batch[0])), n*forgetOneSize)
	return asked(batchForgetIn{InHeader: head(opBatchForget, 0), count: uint32(n)}, raw)
}

// However long it takes to forget many inodes, who reads requests goes on; all are forgotten, and once.
func TestManyForgetsDelayNobody(t *testing.T) {
	fs := &slowToForget{seenFS{RawFileSystem: fuse.NewDefaultRawFileSystem()}, make(chan struct{}), make(chan uint64, 1000)}
	tr := newHandled(fs)
	tr.forgets = newForgetQueue()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); tr.forgets.run(fs.Forget, stop) }()
	c := tr.newCall(batchOf(forgetFew + 1))
	for range 3 {
		tr.do(c) // it returns though nothing can be forgotten
	}
	clear(c.in) // the next request
	close(fs.may)
	for range 3 {
		for i := range forgetFew + 1 {
			select {
			case node := <-fs.done:
				require.Equal(t, uint64(100+i), node)
			case <-time.After(patience):
				t.Fatal("it is not forgotten")
			}
		}
	}
	few := tr.newCall(batchOf(forgetFew))
	tr.do(few)
	require.Len(t, fs.done, forgetFew, "few are forgotten when the request has been handled")
	close(stop)
	<-ended
}

// The end of the mount does not wait for a long queue.
func TestTheEndOfTheMountDoesNotWaitForForgets(t *testing.T) {
	f := newForgetQueue()
	stop, ended := make(chan struct{}), make(chan struct{})
	first := make(chan struct{}, 1)
	require.True(t, f.later(make([]forgetOne, 100000)))
	go func() {
		defer close(ended)
		f.run(func(uint64, uint64) { // nobody lets the second one go on but the end
			first <- struct{}{}
			<-stop
		}, stop)
	}()
	<-first
	close(stop)
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	require.Empty(t, first, "not even the next one is begun")
}
