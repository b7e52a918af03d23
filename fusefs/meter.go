package fusefs

import (
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// meter measures how long requests take, from the read until the answer is written. It is always
// on. It costs one more look at the clock for each request, and adds to a line of memory that other
// readers rarely share (BenchmarkMeter). That is little beside the thread switches of a request.
type meter struct {
	next   atomic.Uint32
	shards [meterShards]meterShard
}

const (
	// meterShards is how many readers can count without sharing a cache line.
	meterShards = 16
	// meterBuckets have the upper bounds 2^10 ns (1 µs) to 2^33 ns (8.6 s). One more is for longer
	// requests.
	meterBuckets = 24
	firstBucket  = 10 // the first bound is 1 << firstBucket ns
)

// meterShard is what some of the readers have counted, by operation.
type meterShard struct {
	ops [64]meterOp
	_   [64]byte // separates the last counter of a shard from the first of the next
}

type meterOp struct {
	buckets [meterBuckets + 1]atomic.Uint64 // requests by time, not cumulative
	spent   atomic.Uint64                   // ns
	absent  atomic.Uint64                   // answered: no such name or attribute
	failed  atomic.Uint64                   // answered with any other error
}

// shard gives a reader its shard.
func (m *meter) shard() *meterShard { return &m.shards[m.next.Add(1)%meterShards] }

var clockBase = time.Now()

// now is the monotonic clock alone, at half the price of time.Now.
func now() time.Duration { return time.Since(clockBase) }

// note counts one request and its answer's errno, 0 for none.
func (s *meterShard) note(op gate.Op, errno unix.Errno, took time.Duration) {
	o := &s.ops[op]
	o.buckets[bucketOf(took)].Add(1)
	o.spent.Add(uint64(max(took, 0)))
	switch errno {
	case 0:
	case unix.ENOENT, unix.ENODATA:
		o.absent.Add(1)
	default:
		o.failed.Add(1)
	}
}

// bucketOf is the first bucket whose upper bound is not below took.
func bucketOf(took time.Duration) int {
	if took <= 1<<firstBucket {
		return 0
	}
	return min(bits.Len64(uint64(took-1))-firstBucket, meterBuckets)
}

// opOfRequest is the operation of a request as it came from the kernel.
func opOfRequest(in []byte) gate.Op {
	if len(in) < int(unsafe.Sizeof(fuse.InHeader{})) {
		return gate.OpNone
	}
	if code := (*fuse.InHeader)(unsafe.Pointer(&in[0])).Opcode; int(code) < len(opcodes) {
		return opcodes[code]
	}
	return gate.OpNone
}

// errnoOfAnswer is the error in the header of an answer. No answer is none.
func errnoOfAnswer(out []byte) unix.Errno {
	if len(out) < int(unsafe.Sizeof(fuse.OutHeader{})) {
		return 0
	}
	return unix.Errno(-(*fuse.OutHeader)(unsafe.Pointer(&out[0])).Status)
}

// opcodes are the kernel's numbers of operations (enum fuse_opcode of linux/fuse.h). Those without
// an entry are counted together.
var opcodes = [64]gate.Op{
	1: gate.OpLookup, 2: gate.OpForget, 3: gate.OpGetAttr, 4: gate.OpSetAttr, 5: gate.OpReadlink, 6: gate.OpSymlink,
	8: gate.OpMknod, 9: gate.OpMkdir, 10: gate.OpUnlink, 11: gate.OpRmdir, 12: gate.OpRename, 13: gate.OpLink,
	14: gate.OpOpen, 15: gate.OpRead, 16: gate.OpWrite, 17: gate.OpStatFs, 18: gate.OpRelease, 20: gate.OpFsync,
	21: gate.OpSetXAttr, 22: gate.OpGetXAttr, 23: gate.OpListXAttr, 24: gate.OpRemoveXAttr, 25: gate.OpFlush,
	26: gate.OpInit, 27: gate.OpOpenDir, 28: gate.OpReadDir, 29: gate.OpReleaseDir, 30: gate.OpFsyncDir, 31: gate.OpGetLk,
	32: gate.OpSetLk, 33: gate.OpSetLkw, 34: gate.OpAccess, 35: gate.OpCreate, 39: gate.OpIoctl, 42: gate.OpForget,
	43: gate.OpFallocate, 44: gate.OpReadDirPlus, 45: gate.OpRename, 46: gate.OpLseek, 47: gate.OpCopyFileRange,
	51: gate.OpTmpfile, 52: gate.OpStatx, 53: gate.OpCopyFileRange,
}

// Timing says what requests of one operation have cost since the mount.
type Timing struct {
	Op      gate.Op        // OpNone: requests that the file system does not know
	Count   uint64         // requests
	Absent  uint64         // of these, answered: no such name or attribute
	Failed  uint64         // of these, answered with another error, refusals included
	Spent   time.Duration  // of all of them, until the answer was written
	Buckets []TimingBucket // cumulative, by growing upper bounds; longer requests are only in Count
}

// TimingBucket is how many requests took no longer than Bound.
type TimingBucket struct {
	Bound time.Duration
	Count uint64
}

// Timings returns what was measured, for each operation that occurred, in the order of gate's
// table. The counters are read one by one, not at one instant.
func (s *Server) Timings() []Timing {
	var out []Timing
	for op := range s.meter.shards[0].ops {
		if t := s.meter.timing(gate.Op(op)); t.Count > 0 {
			out = append(out, t)
		}
	}
	return out
}

func (m *meter) timing(op gate.Op) Timing {
	t := Timing{Op: op, Buckets: make([]TimingBucket, meterBuckets)}
	for s := range m.shards { // before the buckets, which are counted first: so a part is never more than the whole
		o := &m.shards[s].ops[op]
		t.Spent += time.Duration(o.spent.Load())
		t.Absent += o.absent.Load()
		t.Failed += o.failed.Load()
	}
	for i := range meterBuckets + 1 {
		for s := range m.shards {
			t.Count += m.shards[s].ops[op].buckets[i].Load()
		}
		if i < meterBuckets {
			t.Buckets[i] = TimingBucket{Bound: 1 << (firstBucket + i), Count: t.Count}
		}
	}
	return t
}
