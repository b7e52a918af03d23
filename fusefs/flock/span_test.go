package flock

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The spans say the same of each byte as an array that is locked byte by byte. They are in order, disjoint and joined.
func TestLockSpans(t *testing.T) {
	const bytes = 24
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []uint32{unix.F_UNLCK, unix.F_RDLCK, unix.F_WRLCK}
	for range 300 {
		var locked spans
		var model [bytes]uint32
		for i := range model {
			model[i] = unix.F_UNLCK
		}
		for range 30 {
			n := Span{Start: random.Uint64N(bytes), Kind: kinds[random.IntN(3)]}
			n.End = n.Start + random.Uint64N(bytes-n.Start)
			locked = locked.with(n)
			for i := n.Start; i <= n.End; i++ {
				model[i] = n.Kind
			}
			requireSpans(t, locked, model[:])
		}
	}
}

// requireSpans compares without require, of which half a million calls take longer than all the rest.
func requireSpans(t *testing.T, locked spans, model []uint32) {
	t.Helper()
	for i := range locked {
		if locked[i].Start > locked[i].End || i > 0 && locked[i-1].End >= locked[i].Start {
			t.Fatalf("not in order: %v", locked)
		}
		if i > 0 && locked[i-1].End+1 == locked[i].Start && locked[i-1].Kind == locked[i].Kind {
			t.Fatalf("not joined: %v", locked)
		}
	}
	for i, kind := range model {
		write, read := Span{uint64(i), uint64(i), unix.F_WRLCK}, Span{uint64(i), uint64(i), unix.F_RDLCK}
		if locked.against(write) != (kind != unix.F_UNLCK) || locked.against(read) != (kind == unix.F_WRLCK) {
			t.Fatalf("byte %d of %v", i, locked)
		}
	}
}

func TestLockSpansReachTheEnd(t *testing.T) {
	all := spans{}.with(Span{0, WholeFile, unix.F_WRLCK})
	got := all.with(Span{5, WholeFile, unix.F_UNLCK})
	require.Equal(t, spans{{0, 4, unix.F_WRLCK}}, got)
	require.Equal(t, Span{5, WholeFile, unix.F_RDLCK}, spanOf(flockOf(Span{5, WholeFile, unix.F_RDLCK})))
	require.Equal(t, Span{5, 5, unix.F_RDLCK}, spanOf(flockOf(Span{5, 5, unix.F_RDLCK})))
}
