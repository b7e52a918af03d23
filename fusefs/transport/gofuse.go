package transport

import (
	"fmt"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// All that depends on how go-fuse works inside, and not only on its types, stands here: it decodes the requests that are
// not decoded in place, and its own server is not used. What a new version of it may change is looked for here first.

const (
	// go-fuse answers these by itself (its poll.go): it makes them up when it mounts, which it does not do here.
	pollHackName  = ".go-fuse-epoll-hack"
	pollHackInode = ^uint64(0)
)

// optionsOf are what go-fuse tells the kernel of the file system when it is greeted.
func optionsOf(c Config) fuse.MountOptions {
	o := c.Options
	o.MaxWrite = maxTransfer
	// That is more than can wait here. Otherwise reads would stop behind waiting requests.
	o.MaxBackground = 2 * (queuedMax + c.Waiting)
	o.Logger = zap.NewStdLog(c.Log)
	return o
}

// offerRings has go-fuse answer the kernel's greeting with io_uring.
func (t *Transport) offerRings() {
	t.options.ExtraCapabilities |= fuse.CAP_OVER_IO_URING
	t.proto = fuse.NewProtocolServer(t.handler, &t.options)
}

// byGoFuse has go-fuse handle a call.
func (t *Transport) byGoFuse(c *call) (int, error) {
	in := [][]byte{c.in, c.data}
	if c.data == nil {
		in = in[:1]
	}
	n, st := t.proto.HandleRequest(in, [][]byte{c.out})
	if st != fuse.OK {
		return 0, fmt.Errorf("a request of %d bytes: %w", len(c.in)+len(c.data), unix.Errno(st))
	}
	return n, nil
}

// tellGoFuse tells the handler of a request that go-fuse has decoded that its caller has got a signal. It returns false if go-fuse has no
// such request.
func (t *Transport) tellGoFuse(unique uint64) bool {
	word := fuse.InterruptIn{Unique: unique}
	word.Length, word.Opcode, word.InHeader.Unique = uint32(unsafe.Sizeof(word)), opInterrupt, unique|1
	in := unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word))
	n, st := t.proto.HandleRequest([][]byte{in}, [][]byte{make([]byte, outHeaderSize)})
	return st == fuse.OK && n == 0 // otherwise EAGAIN
}
