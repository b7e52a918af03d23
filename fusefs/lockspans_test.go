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

// requireSpans compares without require, of which half a million calls take longer than all the rest.
func requireSpans(t *testing.T, spans lockSpans, model []uint32) {
	t.Helper()
	for i := range spans {
		if spans[i].start > spans[i].end || i > 0 && spans[i-1].end >= spans[i].start {
			t.Fatalf("not in order: %v", spans)
		}
		if i > 0 && spans[i-1].end+1 == spans[i].start && spans[i-1].kind == spans[i].kind {
			t.Fatalf("not joined: %v", spans)
		}
	}
	for i, kind := range model {
		write, read := lockSpan{uint64(i), uint64(i), unix.F_WRLCK}, lockSpan{uint64(i), uint64(i), unix.F_RDLCK}
		if spans.against(write) != (kind != unix.F_UNLCK) || spans.against(read) != (kind == unix.F_WRLCK) {
			t.Fatalf("byte %d of %v", i, spans)
		}
	}
}

func TestLockSpansReachTheEnd(t *testing.T) {
	all := lockSpans{}.with(lockSpan{0, wholeFile, unix.F_WRLCK})
	got := all.with(lockSpan{5, wholeFile, unix.F_UNLCK})
	require.Equal(t, lockSpans{{0, 4, unix.F_WRLCK}}, got)
	require.Equal(t, lockSpan{5, wholeFile, unix.F_RDLCK}, spanOf(flockOf(lockSpan{5, wholeFile, unix.F_RDLCK})))
	require.Equal(t, lockSpan{5, 5, unix.F_RDLCK}, spanOf(flockOf(lockSpan{5, 5, unix.F_RDLCK})))
}
