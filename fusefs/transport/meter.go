package transport

import (
	"maps"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Meter measures how long requests take, from the read until the answer is written. It is always
// on. It costs one more look at the clock for each request, and adds to a line of memory that other
// readers rarely share (BenchmarkMeter). That is little beside the thread switches of a request.
type Meter struct {
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

// meterShard is what some of the readers have counted, by the operation's number.
type meterShard struct {
	ops [operationsMax]meterOp
	_   [64]byte // separates the last counter of a shard from the first of the next
}

type meterOp struct {
	buckets [meterBuckets + 1]atomic.Uint64 // requests by time, not cumulative
	spent   atomic.Uint64                   // ns
	absent  atomic.Uint64                   // answered: no such name or attribute
	failed  atomic.Uint64                   // answered with any other error
}

// shard gives a reader its shard.
func (m *Meter) shard() *meterShard { return &m.shards[m.next.Add(1)%meterShards] }

var clockBase = time.Now()

// now is the monotonic clock alone, at half the price of time.Now.
func now() time.Duration { return time.Since(clockBase) }

// note counts one request and its answer's errno, 0 for none.
func (s *meterShard) note(code uint32, errno unix.Errno, took time.Duration) {
	o := &s.ops[code]
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

// Timing says what requests of one method have cost since the mount.
type Timing struct {
	Method  string         // of fuse.RawFileSystem; "": requests that have none
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

// Timings returns what was measured, for each method that there is, whether it was called or not. The counters are read
// one by one, not at one instant.
func (m *Meter) Timings() []Timing {
	of := make(map[string][]uint32)
	for code := range operations {
		of[operations[code].method] = append(of[operations[code].method], uint32(code))
	}
	var out []Timing
	for _, method := range slices.Sorted(maps.Keys(of)) {
		out = append(out, m.timing(method, of[method]...))
	}
	return out
}

// timing adds up what operations have cost that come to the same method.
func (m *Meter) timing(method string, codes ...uint32) Timing {
	t := Timing{Method: method, Buckets: make([]TimingBucket, meterBuckets)}
	m.each(codes, func(o *meterOp) { // before the buckets, which are counted first: so a part is never more than the whole
		t.Spent += time.Duration(o.spent.Load())
		t.Absent += o.absent.Load()
		t.Failed += o.failed.Load()
	})
	for i := range meterBuckets + 1 {
		m.each(codes, func(o *meterOp) { t.Count += o.buckets[i].Load() })
		if i < meterBuckets {
			t.Buckets[i] = TimingBucket{Bound: 1 << (firstBucket + i), Count: t.Count}
		}
	}
	return t
}

// each calls do for what all shards have counted of some operations.
func (m *Meter) each(codes []uint32, do func(*meterOp)) {
	for s := range m.shards {
		for _, code := range codes {
			do(&m.shards[s].ops[code])
		}
	}
}
