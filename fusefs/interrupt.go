package fusefs

import (
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// interrupted notes the kernel's word that a caller has got a signal, where that is of a
// request that stands in line. One that is killed need not wait; any other signal must
// not break off a call on a file, as it does not elsewhere. What is carried out already
// is go-fuse's to tell.
func (t *transport) interrupted(in []byte) bool {
	h := headerOf(in)
	if h == nil || h.Opcode != opInterrupt || len(in) < int(unsafe.Sizeof(fuse.InterruptIn{})) {
		return false
	}
	return t.slots.signal((*fuse.InterruptIn)(unsafe.Pointer(h)).Unique)
}

// tellAgain tells go-fuse of a signal that came while the request stood in line, as soon as
// go-fuse knows the request, so that its handler can see whether the caller is killed. The
// kernel tells of one signal a request (FR_INTERRUPTED). end must follow the answer.
func (t *transport) tellAgain(me *reader, in []byte) (end func()) {
	if !me.signalled {
		return func() {}
	}
	me.signalled = false
	unique := headerOf(in).Unique
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() { // until end
		defer close(ended)
		for !t.knows(unique) {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// knows tells go-fuse of a signal, and is false where it does not have the request yet.
func (t *transport) knows(unique uint64) bool {
	word := fuse.InterruptIn{Unique: unique}
	word.Length, word.Opcode, word.InHeader.Unique = uint32(unsafe.Sizeof(word)), opInterrupt, unique|1
	in := unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word))
	n, st := t.proto.HandleRequest([][]byte{in}, [][]byte{make([]byte, outHeaderSize)})
	return st == fuse.OK && n == 0 // else EAGAIN
}
