package fusefs

import (
	"runtime"
	"testing"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
)

// What every write, read, look-up and stat takes in the file system allocates nothing; with transport's test of the
// same name, from the request to the answer.
func TestFrequentRequestsDoNotAllocate(t *testing.T) {
	f := benchFS(t)
	writer, reader, node := benchOpen(t, f, unix.O_WRONLY), benchOpen(t, f, unix.O_RDONLY), benchLookup(t, f, "file00")
	h, root := benchHeader(node), benchHeader(fuse.FUSE_ROOT_ID)
	page := make([]byte, 4096)
	pages := [][]byte{page}
	read, write, attr := fuse.ReadIn{InHeader: h, Fh: reader, Size: 4096}, fuse.WriteIn{InHeader: h, Fh: writer, Size: 4096}, fuse.GetAttrIn{InHeader: h}
	var entry fuse.EntryOut
	var out fuse.AttrOut
	for name, do := range map[string]func() fuse.Status{
		"write":   func() fuse.Status { _, st := f.Writev(nil, &write, pages); return st },
		"read":    func() fuse.Status { _, st := f.ReadInto(&read, page); return st },
		"lookup":  func() fuse.Status { return f.Lookup(nil, &root, "file00", &entry) },
		"getattr": func() fuse.Status { return f.GetAttr(nil, &attr, &out) },
		"forget":  func() fuse.Status { f.Forget(fuse.FUSE_ROOT_ID, 1); return fuse.OK },
	} {
		t.Run(name, func(t *testing.T) {
			must(t, do()) // the first time may
			require.Zero(t, testing.AllocsPerRun(200, func() { must(t, do()) }))
		})
	}
}

// Each request that the transport can tell apart is of an operation, and each operation that can be refused is among them, or
// the metrics would not show it.
func TestMutatingOperationsAreMeasured(t *testing.T) {
	measured := map[gate.Op]bool{gate.OpWritev: true} // comes as WRITE
	for _, one := range new(transport.Meter).Timings() {
		op, ok := gate.OpByMethod(one.Method)
		require.Equal(t, one.Method != "", ok, one.Method)
		measured[op] = true
	}
	for _, op := range gate.Ops() {
		if op.Effect() == gate.Mutates {
			require.True(t, measured[op], op)
		}
	}
}

// Whatever was asked is counted as the operation that it is.
func TestRequestsThatAreDecodedInPlaceAreCounted(t *testing.T) {
	f := benchFS(t)
	fh, node := benchOpen(t, f, unix.O_RDWR), benchLookup(t, f, "file00")
	h, root := benchHeader(node), benchHeader(fuse.FUSE_ROOT_ID)
	for op, do := range map[gate.Op]func(){
		gate.OpLookup:  func() { f.Lookup(nil, &root, "name", new(fuse.EntryOut)) },
		gate.OpForget:  func() { f.Forget(node, 1) },
		gate.OpGetAttr: func() { f.GetAttr(nil, &fuse.GetAttrIn{InHeader: h}, new(fuse.AttrOut)) },
		gate.OpSetAttr: func() {
			f.SetAttr(nil, &fuse.SetAttrIn{SetAttrInCommon: fuse.SetAttrInCommon{InHeader: h}}, new(fuse.AttrOut))
		},
		gate.OpUnlink:  func() { f.Unlink(nil, &root, "gone") },
		gate.OpRmdir:   func() { f.Rmdir(nil, &root, "gone") },
		gate.OpOpen:    func() { f.Open(nil, &fuse.OpenIn{InHeader: h}, new(fuse.OpenOut)) },
		gate.OpRead:    func() { f.ReadInto(&fuse.ReadIn{InHeader: h, Fh: fh}, nil) },
		gate.OpWrite:   func() { f.Writev(nil, &fuse.WriteIn{InHeader: h, Fh: fh}, nil) },
		gate.OpRelease: func() { f.Release(nil, &fuse.ReleaseIn{InHeader: h, Fh: 1 << 30}) },
		gate.OpFlush:   func() { f.Flush(nil, &fuse.FlushIn{InHeader: h, Fh: fh}) },
		gate.OpCreate: func() {
			f.Create(nil, &fuse.CreateIn{InHeader: root, Flags: unix.O_WRONLY, Mode: 0o644}, "new", new(fuse.CreateOut))
		},
	} {
		before := f.stats.requests[op].Load()
		do()
		require.Equal(t, before+1, f.stats.requests[op].Load(), op)
	}
	before := f.stats.requests[gate.OpRead].Load()
	f.Spliced()
	require.Equal(t, before+1, f.stats.requests[gate.OpRead].Load())
}

// The kernel's own record of a thread that may run on one processor only.
func TestTheProcessorOfAThreadIsFound(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var may, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &may))
	at := 0
	for ; !may.IsSet(at); at++ {
	}
	one.Set(at)
	require.NoError(t, unix.SchedSetaffinity(0, &one))
	defer func() { require.NoError(t, unix.SchedSetaffinity(0, &may)) }()
	require.Equal(t, at, lastCPU(uint32(unix.Gettid())))
	require.Negative(t, lastCPU(1<<30))
}
