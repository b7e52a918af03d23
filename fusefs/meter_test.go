package fusefs

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

func TestBucketOf(t *testing.T) {
	for took, want := range map[time.Duration]int{
		-1: 0, 0: 0, 1024: 0, 1025: 1, 2048: 1, 2049: 2, 1 << 33: meterBuckets - 1, 1<<33 + 1: meterBuckets, time.Hour: meterBuckets,
	} {
		require.Equal(t, want, bucketOf(took), took)
	}
}

func TestMeterCounts(t *testing.T) {
	var m meter
	a, b := m.shard(), m.shard()
	require.NotSame(t, a, b)
	a.note(gate.OpRead, 0, 3*time.Microsecond)
	b.note(gate.OpRead, unix.EIO, 5*time.Millisecond)
	b.note(gate.OpLookup, unix.ENOENT, time.Microsecond)
	a.note(gate.OpRead, 0, time.Minute)

	got := m.timing(gate.OpRead)
	require.Equal(t, []uint64{3, 0, 1}, []uint64{got.Count, got.Absent, got.Failed})
	require.Equal(t, time.Minute+5*time.Millisecond+3*time.Microsecond, got.Spent)
	for _, b := range got.Buckets {
		want := uint64(0)
		if b.Bound >= 3*time.Microsecond {
			want++
		}
		if b.Bound >= 5*time.Millisecond {
			want++
		}
		require.Equal(t, want, b.Count, b.Bound)
	}
	require.Equal(t, uint64(1), m.timing(gate.OpLookup).Absent)
}

// Readers come and go; what they counted stays.
func TestMeterFromManyReaders(t *testing.T) {
	var m meter
	var all sync.WaitGroup
	for range 3 * meterShards {
		all.Go(func() {
			s := m.shard()
			for range 100 {
				s.note(gate.OpWrite, 0, time.Microsecond)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 300*meterShards, m.timing(gate.OpWrite).Count)
}

func TestOpOfRequest(t *testing.T) {
	request := func(code uint32) []byte {
		h := fuse.InHeader{Opcode: code}
		return unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h))
	}
	for code, want := range map[uint32]gate.Op{1: gate.OpLookup, 16: gate.OpWrite, 53: gate.OpCopyFileRange, 63: gate.OpNone, 64: gate.OpNone, 1 << 31: gate.OpNone} {
		require.Equal(t, want, opOfRequest(request(code)), code)
	}
	require.Equal(t, gate.OpNone, opOfRequest(request(1)[:10]))
}

func TestErrnoOfAnswer(t *testing.T) {
	h := fuse.OutHeader{Status: -int32(unix.EROFS)}
	out := unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h))
	require.Equal(t, unix.EROFS, errnoOfAnswer(out))
	require.Zero(t, errnoOfAnswer(nil))
}

// Every operation that can be refused has an opcode, or the metrics would not show it.
func TestMutatingOperationsAreMeasured(t *testing.T) {
	measured := map[gate.Op]bool{gate.OpWritev: true} // comes as WRITE
	for _, op := range opcodes {
		measured[op] = true
	}
	for _, op := range gate.Ops() {
		if op.Effect() == gate.Mutates {
			require.True(t, measured[op], op)
		}
	}
}

// The cost of a meter for each request: a reader's own looks at the clock with time.Now and
// time.Since, as without a meter, and the meter's with all its counting.
func BenchmarkMeter(b *testing.B) {
	b.Run("without", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				began := time.Now()
				if time.Since(began) < 0 {
					b.Fail()
				}
			}
		})
	})
	b.Run("with", func(b *testing.B) {
		var m meter
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			s := m.shard()
			for pb.Next() {
				began := now()
				at := now()
				if at < began {
					b.Fail()
				}
				s.note(gate.OpRead, 0, now()-at)
			}
		})
	})
}
