package transport

import (
	"bytes"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
)

// The operations that make up nearly all of the traffic are decoded here. go-fuse makes a new request of several
// hundred bytes for each, a channel and a string, and copies the request and its answer. Here the request is read
// where it lies, and answered into its reader's memory.
//
// Only the plain form of a request is taken, as the kernel sends it: every length fits, a name has one NUL and that is
// its end, there is no extension. go-fuse decodes all others, so whatever it does with an odd request, it still does.
// In both cases the same method of the Handler is called with the same arguments, and so the gate is asked the same.

// decoding is how one operation is decoded. Of what go-fuse decodes it is empty.
type decoding struct {
	in, out int // bytes of its own struct, with the header, and of its answer's, without
	tail    tail
	silent  bool // it has no answer
	late    bool // its answer's struct is not empty before do fills it in: on a ring the bytes of a WRITE lie there
	do      func(*plain) fuse.Status
}

// tail is what follows the struct of an operation.
type tail uint8

const (
	tailNone tail = iota
	tailName
	tailBytes   // of a WRITE
	tailForgets // of a BATCH_FORGET
)

// plain is a request in its plain form. Nobody may keep a pointer into it: its memory is for the next request.
type plain struct {
	handler Handler
	forgets *forgetQueue   // nil: everything is forgotten at once
	in      unsafe.Pointer // the header and what the operation says
	out     unsafe.Pointer // the answer's struct
	name    string
	rest    [1][]byte // what follows in, except a name
	room    []byte    // for an answer without a struct
	size    int       // of the answer, without its header
	signal  <-chan struct{}
}

// decode handles a call and returns the length of its answer, 0 for none. It returns false if go-fuse shall handle it.
func (t *Transport) decode(c *call) (n int, ok bool) {
	h := headerOf(c.in)
	if h == nil || int(h.Opcode) >= len(operations) {
		return 0, false
	}
	op := &operations[h.Opcode].decoding
	if op.do == nil || !c.isPlain(h, op) {
		return 0, false
	}
	r := &c.plain
	r.handler, r.forgets, r.in, r.size = t.handler, t.forgets, unsafe.Pointer(h), op.out
	if op.out > 0 {
		r.out = unsafe.Pointer(&c.out[outHeaderSize])
		if !op.late {
			clear(c.out[outHeaderSize : outHeaderSize+op.out])
		}
	}
	r.room = c.out[outHeaderSize:]
	unique := h.Unique // the handler may change the request's bytes
	st := t.fly(r, op, unique)
	size := r.size
	*r = plain{}
	if op.silent {
		return 0, true
	}
	if st > fuse.OK {
		size = 0
	}
	n = outHeaderSize + size
	*(*fuse.OutHeader)(unsafe.Pointer(&c.out[0])) = fuse.OutHeader{Length: uint32(n), Status: int32(-st), Unique: unique}
	return n, true
}

// fly calls the handler. A panic is an error of this request only, as with go-fuse.
func (t *Transport) fly(r *plain, op *decoding, unique uint64) (st fuse.Status) {
	signal := t.inflight.begin(unique)
	r.signal = signal
	defer func() {
		r.signal = nil
		t.inflight.end(unique, signal)
		if what := recover(); what != nil {
			t.log.Error("panic in FS handler", zap.Any("panic", what), zap.Stack("stack"))
			st = fuse.EIO
		}
	}()
	return op.do(r)
}

// isPlain reports whether a request has the plain form of its operation, and takes it apart.
func (c *call) isPlain(h *fuse.InHeader, op *decoding) bool {
	if int(h.Length) != len(c.in)+len(c.data) || h.TotalExtlen != 0 || h.NodeId == pollHackInode ||
		len(c.in) < op.in || len(c.out) < outHeaderSize+op.out || !aligned(c.in) || !aligned(c.out) {
		return false
	}
	rest := c.in[op.in:]
	if len(c.data) > 0 {
		if len(rest) > 0 {
			return false
		}
		rest = c.data
	}
	switch op.tail {
	case tailName:
		return c.takeName(h, rest)
	case tailBytes:
		if int((*fuse.WriteIn)(unsafe.Pointer(h)).Size) != len(rest) {
			return false
		}
	case tailForgets:
		if many := int((*batchForgetIn)(unsafe.Pointer(h)).count); many == 0 || many*forgetOneSize != len(rest) || !aligned(rest) {
			return false
		}
	case tailNone:
		if len(rest) > 0 {
			return false
		}
		return h.Opcode != opRead || uint64((*fuse.ReadIn)(unsafe.Pointer(h)).Size) <= uint64(len(c.out)-outHeaderSize)
	}
	c.plain.rest[0] = rest
	return true
}

// takeName takes the name that a request ends with.
func (c *call) takeName(h *fuse.InHeader, rest []byte) bool {
	end := bytes.IndexByte(rest, 0)
	if end < 0 || end != len(rest)-1 {
		return false
	}
	if c.names == nil {
		c.names = new(nameCache)
	}
	name := c.names.of(rest[:end])
	if h.NodeId == fuse.FUSE_ROOT_ID && name == pollHackName {
		return false
	}
	c.plain.name = name
	return true
}

// aligned reports whether a struct of a request may lie at the start of b.
func aligned(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 == 0 }
