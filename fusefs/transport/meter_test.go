package transport

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestBucketOf(t *testing.T) {
	for took, want := range map[time.Duration]int{
		-1: 0, 0: 0, 1024: 0, 1025: 1, 2048: 1, 2049: 2, 1 << 33: meterBuckets - 1, 1<<33 + 1: meterBuckets, time.Hour: meterBuckets,
	} {
		require.Equal(t, want, bucketOf(took), took)
	}
}

func TestMeterCounts(t *testing.T) {
	var m Meter
	a, b := m.shard(), m.shard()
	require.NotSame(t, a, b)
	a.note(opRead, 0, 3*time.Microsecond)
	b.note(opRead, unix.EIO, 5*time.Millisecond)
	b.note(opLookup, unix.ENOENT, time.Microsecond)
	a.note(opRead, 0, time.Minute)

	got := m.timing("Read", opRead)
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
	require.Equal(t, uint64(1), m.timing("Lookup", opLookup).Absent)
}

// Readers come and go; what they counted stays.
func TestMeterFromManyReaders(t *testing.T) {
	var m Meter
	var all sync.WaitGroup
	for range 3 * meterShards {
		all.Go(func() {
			s := m.shard()
			for range 100 {
				s.note(opWrite, 0, time.Microsecond)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 300*meterShards, m.timing("Write", opWrite).Count)
}

func TestCodeOfRequest(t *testing.T) {
	request := func(code uint32) []byte {
		h := fuse.InHeader{Opcode: code}
		return unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h))
	}
	for code, want := range map[uint32]uint32{1: opLookup, 16: opWrite, 53: opCopyFileRange64, 63: 63, 64: 0, 1 << 31: 0} {
		require.Equal(t, want, codeOf(request(code)), code)
	}
	require.Zero(t, codeOf(request(1)[:10]))
}

// What comes to one method is counted as one, and what comes to none, too.
func TestRequestsOfOneMethodAreCountedTogether(t *testing.T) {
	var m Meter
	for _, code := range []uint32{opForget, opBatchForget, opRename, opRename2, opCopyFileRange, opCopyFileRange64, 0, 63, opInterrupt} {
		m.shard().note(code, 0, time.Microsecond)
	}
	counts := make(map[string]uint64)
	for _, one := range m.Timings() {
		_, again := counts[one.Method]
		require.False(t, again, one.Method)
		if counts[one.Method] = one.Count; one.Count == 0 {
			delete(counts, one.Method)
		}
	}
	require.Equal(t, map[string]uint64{"Forget": 2, "Rename": 2, "CopyFileRange": 2, "": 3}, counts)
}

func TestErrnoOfAnswer(t *testing.T) {
	h := fuse.OutHeader{Status: -int32(unix.EROFS)}
	out := unsafe.Slice((*byte)(unsafe.Pointer(&h)), unsafe.Sizeof(h))
	require.Equal(t, unix.EROFS, errnoOfAnswer(out))
	require.Zero(t, errnoOfAnswer(nil))
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
		var m Meter
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			s := m.shard()
			for pb.Next() {
				began := now()
				at := now()
				if at < began {
					b.Fail()
				}
				s.note(opRead, 0, now()-at)
			}
		})
	})
}
