package fusefs

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The spans say the same of each byte as an array that is locked byte by byte. They are in order,
// disjoint and joined.
func TestLockSpans(t *testing.T) {
	const bytes = 24
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []uint32{unix.F_UNLCK, unix.F_RDLCK, unix.F_WRLCK}
	for range 300 {
		var spans lockSpans
		var model [bytes]uint32
		for i := range model {
			model[i] = unix.F_UNLCK
		}
		for range 30 {
			n := lockSpan{start: random.Uint64N(bytes), kind: kinds[random.IntN(3)]}
			n.end = n.start + random.Uint64N(bytes-n.start)
			spans = spans.with(n)
			for i := n.start; i <= n.end; i++ {
				model[i] = n.kind
			}
			requireSpans(t, spans, model[:])
		}
	}
}

func requireSpans(t *testing.T, spans lockSpans, model []uint32) {
	t.Helper()
	for i := range spans {
		require.LessOrEqual(t, spans[i].start, spans[i].end)
		if i > 0 {
			before := spans[i-1]
			require.Less(t, before.end, spans[i].start)
			require.False(t, before.end+1 == spans[i].start && before.kind == spans[i].kind, "not joined: %v", spans)
		}
	}
	for i, kind := range model {
		want := lockSpan{uint64(i), uint64(i), unix.F_WRLCK}
		any := spans.against(want)
		require.Equal(t, kind != unix.F_UNLCK, any, "byte %d of %v", i, spans)
		want.kind = unix.F_RDLCK
		any = spans.against(want)
		require.Equal(t, kind == unix.F_WRLCK, any, "byte %d of %v", i, spans)
	}
}

func TestLockSpansReachTheEnd(t *testing.T) {
	all := lockSpans{}.with(lockSpan{0, wholeFile, unix.F_WRLCK})
	got := all.with(lockSpan{5, wholeFile, unix.F_UNLCK})
	require.Equal(t, lockSpans{{0, 4, unix.F_WRLCK}}, got)
	require.Equal(t, lockSpan{5, wholeFile, unix.F_RDLCK}, spanOf(flockOf(lockSpan{5, wholeFile, unix.F_RDLCK})))
	require.Equal(t, lockSpan{5, 5, unix.F_RDLCK}, spanOf(flockOf(lockSpan{5, 5, unix.F_RDLCK})))
}
