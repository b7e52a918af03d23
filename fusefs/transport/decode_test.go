package transport

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// frequent are requests that a file system is asked all the time.
func frequent() map[string][]byte {
	return map[string][]byte{
		"write":   asked(fuse.WriteIn{InHeader: head(opWrite, 2), Fh: 1, Size: 4096}, make([]byte, 4096)),
		"read":    asked(fuse.ReadIn{InHeader: head(opRead, 2), Fh: 2, Size: 4096}),
		"lookup":  asked(head(opLookup, fuse.FUSE_ROOT_ID), []byte("file00\x00")),
		"getattr": asked(fuse.GetAttrIn{InHeader: head(opGetAttr, 2)}),
		"forget":  asked(fuse.ForgetIn{InHeader: head(opForget, 1), Nlookup: 1}),
	}
}

// From the request to the answer, decoded here and by go-fuse, with a handler that does nothing.
func BenchmarkRequest(b *testing.B) {
	tr := newHandled(newOKFS())
	for name, in := range frequent() {
		c := tr.newCall(in)
		b.Run(name+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = tr.decode(c)
			}
		})
		b.Run(name+"/go-fuse", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = tr.byGoFuse(c)
			}
		})
	}
}

// To bring a write, a read, a look-up or a stat to the handler, and to answer it, allocates nothing.
func TestDecodedRequestsDoNotAllocate(t *testing.T) {
	tr := newHandled(newOKFS())
	for name, in := range frequent() {
		t.Run(name, func(t *testing.T) {
			c := tr.newCall(in)
			tr.do(c) // the first time may
			require.Zero(t, errnoOfAnswer(c.hand.(*mute).last))
			require.Zero(t, testing.AllocsPerRun(200, func() { tr.do(c) }))
			require.Zero(t, errnoOfAnswer(c.hand.(*mute).last))
		})
	}
}

// Each operation that is decoded here is taken, and comes to the method that the table has for it.
func TestDecodedRequestsReachTheMethodOfTheTable(t *testing.T) {
	seen := make(map[uint32]bool)
	for code, in := range plainRequests() {
		fs := &seenFS{RawFileSystem: fuse.NewDefaultRawFileSystem()}
		tr := newHandled(fs)
		_, ok := tr.decode(tr.newCall(in))
		require.True(t, ok, code)
		require.Equal(t, code, codeOf(in))
		require.NotEmpty(t, fs.seen, code)
		for _, what := range fs.seen {
			require.True(t, strings.HasPrefix(what, strings.ToLower(operations[code].method)), what)
		}
		seen[code] = true
	}
	for code := range operations {
		require.Equal(t, operations[code].decoding.do != nil, seen[uint32(code)], "operation %d", code)
	}
}

// Each operation comes to a method that go-fuse has.
func TestTheTableNamesMethodsOfGoFuse(t *testing.T) {
	raw := reflect.TypeFor[fuse.RawFileSystem]()
	for code := range operations {
		if method := operations[code].method; method != "" {
			_, ok := raw.MethodByName(method)
			require.True(t, ok, method)
		}
	}
}

// twoWays are two transports that handle the same requests: one decodes them in place, and one by go-fuse.
type twoWays struct {
	seen [2]seenFS
	by   [2]*Transport
}

func newTwoWays() *twoWays {
	w := &twoWays{}
	for i := range w.by {
		w.seen[i].RawFileSystem = fuse.NewDefaultRawFileSystem()
		w.by[i] = newHandled(&w.seen[i])
	}
	return w
}

// bothWays handles a request in place and by go-fuse. Whatever is taken in place has the same answer, to the byte, and
// the same arguments for the handler.
func bothWays(t *testing.T, in, data []byte, room int) (taken bool) {
	t.Helper()
	return newTwoWays().handle(t, in, data, room)
}

func (w *twoWays) handle(t *testing.T, in, data []byte, room int) (taken bool) {
	t.Helper()
	handle := func(way int, by func(*Transport, *call) (int, bool)) ([]byte, bool) {
		tr := w.by[way]
		w.seen[way].seen = nil
		c := tr.newCall(slices.Concat(in, make([]byte, 8))[:len(in)])
		c.out = slices.Repeat([]byte{0xa5}, room)
		c.data = slices.Clone(data)
		n, ok := by(tr, c)
		for i := range tr.inflight.shards {
			if len(tr.inflight.shards[i].now) != 0 { // no require: that takes longer than all the rest
				t.Fatalf("in flight still: %v", tr.inflight.shards[i].now)
			}
		}
		return c.out[:n], ok
	}
	got, taken := handle(0, (*Transport).decode)
	if !taken {
		require.Empty(t, w.seen[0].seen)
		return false
	}
	want, _ := handle(1, func(tr *Transport, c *call) (int, bool) {
		n, err := tr.byGoFuse(c)
		require.NoError(t, err)
		return n, true
	})
	require.Equal(t, want, got)
	require.Equal(t, w.seen[1].seen, w.seen[0].seen)
	return true
}

// Of requests that are odd in some way none is answered otherwise than by go-fuse.
func TestDecodedRequestsAreAnsweredAsByGoFuse(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	taken := make(map[uint32]int)
	ways := newTwoWays() // for all of them, as a mount has one: to make it takes longer than to handle a request
	for _, in := range plainRequests() {
		require.True(t, ways.handle(t, in, nil, 4096))
		hack := slices.Clone(in)
		headerOf(hack).NodeId = pollHackInode
		require.False(t, ways.handle(t, hack, nil, 4096))
		for range 1000 {
			odd := slices.Clone(in)
			for range random.IntN(4) {
				switch random.IntN(6) {
				case 0:
					odd = odd[:random.IntN(len(odd)+1)]
				case 1:
					odd = append(odd, slices.Repeat([]byte{byte(random.IntN(2) * random.IntN(256))}, random.IntN(40))...)
				case 2:
					odd = bytes.ReplaceAll(odd, []byte("name"), []byte(pollHackName))
				default:
					if len(odd) > 0 {
						odd[random.IntN(len(odd))] = byte(random.IntN(3) * random.IntN(128))
					}
				}
			}
			if h := headerOf(odd); h != nil && random.IntN(4) > 0 {
				h.Length = uint32(len(odd))
			}
			room := []int{4096, outHeaderSize, 100, 128, 160, 0}[random.IntN(6)]
			if ways.handle(t, odd, nil, room) {
				taken[headerOf(odd).Opcode]++
			}
		}
	}
	for code := range operations {
		if operations[code].decoding.do != nil {
			require.Greater(t, taken[uint32(code)], 30, "operation %d was hardly tried", code)
		}
	}
}

// On a ring the bytes of a WRITE come apart from it, and lie where its answer will be.
func TestDecodedWritesOnARingReadTheirBytesWhereTheAnswerWillBe(t *testing.T) {
	in := asked(fuse.WriteIn{InHeader: head(opWrite, 2), Fh: 1, Size: 3})
	headerOf(in).Length += 3
	require.True(t, bothWays(t, in, []byte("abc"), 4096))
	fs := &seenFS{RawFileSystem: fuse.NewDefaultRawFileSystem()}
	tr := newHandled(fs)
	c := tr.newCall(in)
	c.data = c.out[outHeaderSize : outHeaderSize+3]
	copy(c.data, "abc")
	_, ok := tr.decode(c)
	require.True(t, ok)
	require.Contains(t, fs.seen[0], "[97 98 99]")
}

// A name that a handler keeps is not changed by later requests.
func TestNamesThatAHandlerKeepsDoNotChange(t *testing.T) {
	var names nameCache
	buf := []byte("first")
	kept := names.of(buf)
	copy(buf, "other")
	require.Equal(t, "first", kept)
	require.Equal(t, "other", names.of(buf))
	for i := range 4 * namesMax { // whatever shares a slot
		name := binary.LittleEndian.AppendUint32(nil, uint32(i))
		require.Equal(t, string(name), names.of(name))
	}
}

// A signal reaches the handler of a request, and no later one.
func TestDecodedRequestsHearOfSignals(t *testing.T) {
	fs := &seenFS{RawFileSystem: fuse.NewDefaultRawFileSystem(), wait: make(chan struct{}), end: make(chan struct{})}
	tr := newHandled(fs)
	remove, ended := tr.newCall(asked(head(opUnlink, 1), []byte("x\x00"))), make(chan struct{})
	word := fuse.InterruptIn{InHeader: head(opInterrupt, 0), Unique: headerOf(remove.in).Unique}
	word.InHeader.Unique |= 1 << 32
	interrupt := func() []byte { // what it is answered with
		c := tr.newCall(asked(word))
		tr.do(c)
		return c.hand.(*mute).last
	}
	require.Equal(t, unix.EAGAIN, errnoOfAnswer(interrupt()), "the kernel sends it again when the request is there")
	go func() { defer close(ended); tr.do(remove) }()
	<-fs.wait
	require.Nil(t, interrupt())
	require.Nil(t, interrupt(), "it is known")
	close(fs.end) // until now it could not go
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("it was not told")
	}
	require.Equal(t, unix.EINTR, errnoOfAnswer(remove.hand.(*mute).last))
	require.Equal(t, unix.EAGAIN, errnoOfAnswer(interrupt()), "it has gone")
	signal := tr.inflight.begin(word.Unique)
	select {
	case <-signal:
		t.Fatal("the next one was told of it")
	default:
	}
	tr.inflight.end(word.Unique, signal)
}

func FuzzDecode(f *testing.F) {
	for _, in := range plainRequests() {
		f.Add(in, []byte(nil), uint16(256), true)
	}
	f.Add(asked(fuse.WriteIn{InHeader: head(opWrite, 2), Fh: 1, Size: 3}), []byte("abc"), uint16(256), true)
	f.Fuzz(func(t *testing.T, in, data []byte, room uint16, mended bool) {
		if h := headerOf(in); h != nil && mended {
			h.Length = uint32(len(in) + len(data))
		}
		bothWays(t, in, data, int(room))
	})
}
