package transport

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
)

// seenFS is a handler that notes what its methods are called with. Its answers are made up of that, errors and panics among them.
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
	n, st := s.ReadInto(in, buf)
	if st != fuse.OK {
		return nil, st
	}
	return fuse.ReadResultData(buf[:n]), st
}

func (s *seenFS) ReadInto(in *fuse.ReadIn, buf []byte) (int, fuse.Status) {
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

func (*seenFS) FD(uint64) (int, bool)                        { return -1, false }
func (*seenFS) Spliced()                                     {}
func (*seenFS) LockNow(*fuse.LkIn, bool) (fuse.Status, bool) { return fuse.OK, false }
func (*seenFS) Ended()                                       {}

// okFS does nothing, and succeeds.
type okFS struct{ seenFS }

func newOKFS() *okFS { return &okFS{seenFS{RawFileSystem: fuse.NewDefaultRawFileSystem()}} }

func (*okFS) Lookup(<-chan struct{}, *fuse.InHeader, string, *fuse.EntryOut) fuse.Status {
	return fuse.OK
}
func (*okFS) GetAttr(<-chan struct{}, *fuse.GetAttrIn, *fuse.AttrOut) fuse.Status { return fuse.OK }
func (*okFS) Forget(uint64, uint64)                                               {}
func (*okFS) ReadInto(in *fuse.ReadIn, _ []byte) (int, fuse.Status)               { return int(in.Size), fuse.OK }
func (*okFS) Read(_ <-chan struct{}, in *fuse.ReadIn, room []byte) (fuse.ReadResult, fuse.Status) {
	return fuse.ReadResultData(room[:in.Size]), fuse.OK
}
func (*okFS) Writev(_ <-chan struct{}, in *fuse.WriteIn, _ [][]byte) (uint32, fuse.Status) {
	return in.Size, fuse.OK
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

// newHandled is a transport to a handler, without a channel.
func newHandled(h Handler) *Transport {
	log := zap.NewNop()
	return &Transport{handler: h, proto: fuse.NewProtocolServer(h, &fuse.MountOptions{EnableLocks: true}), log: log, meter: &Meter{}, limits: newLimits(dyingAbovePidMax)}
}

// dyingAbovePidMax is Config.WhenDying where those are killed whose number no thread can have.
func dyingAbovePidMax(signal <-chan struct{}, thread uint32, stop <-chan struct{}) bool {
	select {
	case <-signal:
	case <-stop:
		return false
	}
	if thread > 1<<30 {
		return true
	}
	<-stop
	return false
}

func (t *Transport) newCall(in []byte) *call {
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
func plainRequests() map[uint32][]byte {
	forgets := unsafe.Slice((*byte)(unsafe.Pointer(&[2]forgetOne{{7, 1}, {8, 2}})), 2*forgetOneSize)
	return map[uint32][]byte{
		opLookup:      asked(head(opLookup, 1), []byte("name\x00")),
		opForget:      asked(fuse.ForgetIn{InHeader: head(opForget, 9), Nlookup: 1}),
		opGetAttr:     asked(fuse.GetAttrIn{InHeader: head(opGetAttr, 1)}),
		opSetAttr:     asked(fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{InHeader: head(opSetAttr, 1), Valid: fuse.FATTR_MODE, Mode: 0o700}}),
		opUnlink:      asked(head(opUnlink, 1), []byte("gone\x00")),
		opRmdir:       asked(head(opRmdir, 1), []byte("gone\x00")),
		opOpen:        asked(fuse.OpenIn{InHeader: head(opOpen, 2)}),
		opRead:        asked(fuse.ReadIn{InHeader: head(opRead, 2), Fh: 1, Size: 100}),
		opWrite:       asked(fuse.WriteIn{InHeader: head(opWrite, 2), Fh: 1, Size: 3}, []byte("abc")),
		opRelease:     asked(fuse.ReleaseIn{InHeader: head(opRelease, 2), Fh: 1}),
		opFlush:       asked(fuse.FlushIn{InHeader: head(opFlush, 2), Fh: 1}),
		opCreate:      asked(fuse.CreateIn{InHeader: head(opCreate, 1), Flags: 1, Mode: 0o644}, []byte("new\x00")),
		opBatchForget: asked(batchForgetIn{InHeader: head(opBatchForget, 0), count: 2}, forgets),
	}
}
