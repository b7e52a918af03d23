package fusefs

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/gate"
)

// seenFS notes what its methods are called with. Its answers are made up of that, errors and panics among them.
type seenFS struct {
	fuse.RawFileSystem
	seen []string
	wait chan struct{} // for a method that is to be interrupted: that it has begun
	end  chan struct{} // that it may end then
}

// answer notes a call, fills out, and returns its status.
func answer[In, Out any](s *seenFS, what string, in *In, out *Out, more ...any) fuse.Status {
	bytesOf := func(p unsafe.Pointer, n uintptr) []byte { return unsafe.Slice((*byte)(p), n) }
	note := fmt.Sprintf("%s %x %v", what, bytesOf(unsafe.Pointer(in), unsafe.Sizeof(*in)), more)
	s.seen = append(s.seen, note)
	h := fnv.New64a()
	_, _ = h.Write([]byte(note))
	random := rand.New(rand.NewPCG(h.Sum64(), 1))
	size := unsafe.Sizeof(*out)
	if size > 0 {
		for _, b := range bytesOf(unsafe.Pointer(out), size) {
			if b != 0 {
				panic("the room for the answer is not empty")
			}
		}
		for i := range bytesOf(unsafe.Pointer(out), size) {
			bytesOf(unsafe.Pointer(out), size)[i] = byte(random.Uint32())
		}
	}
	for i := range bytesOf(unsafe.Pointer(in), unsafe.Sizeof(*in))[inHeaderSize:] { // as a handler may
		bytesOf(unsafe.Pointer(in), unsafe.Sizeof(*in))[inHeaderSize+i] ^= byte(i)
	}
	switch random.IntN(8) {
	case 0:
		panic("as a handler must not")
	case 1:
		return fuse.Status(1 + random.IntN(100))
	}
	return fuse.OK
}

func (s *seenFS) Lookup(_ <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return answer(s, "lookup", h, out, name)
}

func (s *seenFS) Forget(node, lookups uint64) {
	s.seen = append(s.seen, fmt.Sprint("forget", node, lookups))
}

func (s *seenFS) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return answer(s, "getattr", in, out)
}

func (s *seenFS) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	return answer(s, "setattr", in, out)
}

func (s *seenFS) Unlink(signal <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	if s.wait != nil {
		close(s.wait)
		<-signal
		<-s.end
		return fuse.EINTR
	}
	return answer(s, "unlink", h, &none{}, name)
}

func (s *seenFS) Rmdir(_ <-chan struct{}, h *fuse.InHeader, name string) fuse.Status {
	return answer(s, "rmdir", h, &none{}, name)
}

func (s *seenFS) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return answer(s, "open", in, out)
}

func (s *seenFS) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	return answer(s, "create", in, out, name)
}

func (s *seenFS) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	n, st := s.readInto(in, buf)
	if st != fuse.OK {
		return nil, st
	}
	return fuse.ReadResultData(buf[:n]), st
}

func (s *seenFS) readInto(in *fuse.ReadIn, buf []byte) (int, fuse.Status) {
	st := answer(s, "read", in, &none{}, len(buf))
	n := len(buf) - int(in.Fh)%(len(buf)+1)&0xff
	n = max(n, 0)
	for i := range n {
		buf[i] = byte(i)
	}
	return n, st
}

func (s *seenFS) Writev(_ <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	st := answer(s, "write", in, &none{}, bytes.Join(data, nil))
	return in.Padding, st
}

func (s *seenFS) Flush(_ <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	return answer(s, "flush", in, &none{})
}

func (s *seenFS) Release(_ <-chan struct{}, in *fuse.ReleaseIn) {
	s.seen = append(s.seen, fmt.Sprint("release", *in))
}

// mute is a hand that keeps the last answer.
type mute struct{ last []byte }

func (m *mute) answer(_ *call, out []byte) error {
	m.last = out
	return nil
}

func (*mute) sendFile(*call, uint64, int, int64, int) (bool, error) { return false, nil }
func (*mute) away(*call) func()                                     { return func() {} }
func (*mute) apart(c *call, do func(*call))                         { do(c) }

// quickly is a transport over a file system, without a channel.
func quickly(fs quickFS) *transport {
	log := zap.NewNop()
	t := &transport{quickFS: fs, proto: fuse.NewProtocolServer(fs, mountOptions(log, true, 0)), log: log, meter: &meter{}, slots: newSlots()}
	t.fs, _ = fs.(*rawFS)
	return t
}

func (t *transport) newCall(in []byte) *call {
	return &call{in: in, out: make([]byte, 8192), hand: &mute{}, shard: t.meter.shard()}
}

// asked is a request as the kernel makes it.
func asked[In any](in In, rest ...[]byte) []byte {
	b := bytes.Join(append([][]byte{unsafe.Slice((*byte)(unsafe.Pointer(&in)), unsafe.Sizeof(in))}, rest...), nil)
	whole := make([]byte, len(b)+8)[:len(b)] // so that it is aligned
	copy(whole, b)
	headerOf(whole).Length = uint32(len(whole))
	return whole
}

func head(op uint32, node uint64) fuse.InHeader {
	return fuse.InHeader{Opcode: op, Unique: 4711, NodeId: node, Caller: fuse.Caller{Pid: 1}}
}

// plainRequests are one of each operation.
func plainRequests() map[gate.Op][]byte {
	forgets := unsafe.Slice((*byte)(unsafe.Pointer(&[2]forgetOne{{7, 1}, {8, 2}})), 2*forgetOneSize)
	return map[gate.Op][]byte{
		gate.OpLookup:  asked(head(1, 1), []byte("name\x00")),
		gate.OpForget:  asked(fuse.ForgetIn{InHeader: head(2, 9), Nlookup: 1}),
		gate.OpGetAttr: asked(fuse.GetAttrIn{InHeader: head(3, 1)}),
		gate.OpSetAttr: asked(fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{InHeader: head(4, 1), Valid: fuse.FATTR_MODE, Mode: 0o700}}),
		gate.OpUnlink:  asked(head(10, 1), []byte("gone\x00")),
		gate.OpRmdir:   asked(head(11, 1), []byte("gone\x00")),
		gate.OpOpen:    asked(fuse.OpenIn{InHeader: head(14, 2)}),
		gate.OpRead:    asked(fuse.ReadIn{InHeader: head(15, 2), Fh: 1, Size: 100}),
		gate.OpWrite:   asked(fuse.WriteIn{InHeader: head(16, 2), Fh: 1, Size: 3}, []byte("abc")),
		gate.OpRelease: asked(fuse.ReleaseIn{InHeader: head(18, 2), Fh: 1}),
		gate.OpFlush:   asked(fuse.FlushIn{InHeader: head(25, 2), Fh: 1}),
		gate.OpCreate:  asked(fuse.CreateIn{InHeader: head(35, 1), Flags: 1, Mode: 0o644}, []byte("new\x00")),
		gate.OpNone:    asked(batchForgetIn{InHeader: head(42, 0), count: 2}, forgets),
	}
}
