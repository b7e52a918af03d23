package transport

import (
	"testing"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// untilCancelled makes a directory when its caller has got a signal.
type untilCancelled struct{ fuse.RawFileSystem }

func (untilCancelled) Mkdir(cancel <-chan struct{}, _ *fuse.MkdirIn, _ string, _ *fuse.EntryOut) fuse.Status {
	<-cancel
	return fuse.EINTR
}

// A signal that came while a request waited in line is known when it is carried out: the kernel
// does not tell of the next one, which may be a kill.
func TestASignalDuringAWaitInLineReachesTheHandler(t *testing.T) {
	tr := &Transport{proto: fuse.NewProtocolServer(untilCancelled{fuse.NewDefaultRawFileSystem()}, &fuse.MountOptions{})}
	mkdir := fuse.MkdirIn{}
	name := "d\x00"
	mkdir.Length, mkdir.Opcode, mkdir.Unique, mkdir.NodeId = uint32(unsafe.Sizeof(mkdir))+uint32(len(name)), 9, 4, 1
	in := append(unsafe.Slice((*byte)(unsafe.Pointer(&mkdir)), unsafe.Sizeof(mkdir)), name...)
	me := &call{in: in, signalled: true}
	end := tr.tellAgain(me)
	n, st := tr.proto.HandleRequest([][]byte{in}, [][]byte{make([]byte, requestSize)})
	end()
	require.Equal(t, fuse.OK, st)
	require.Positive(t, n)
	require.False(t, me.signalled)
	require.NotPanics(t, tr.tellAgain(me), "of the next request there is nothing to tell")
}
