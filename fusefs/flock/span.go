package flock

import (
	"slices"
	"sort"

	"golang.org/x/sys/unix"
)

// Span is a range of bytes, both ends included, and F_RDLCK, F_WRLCK or F_UNLCK.
type Span struct {
	Start, End uint64
	Kind       uint32
}

// WholeFile is the range of flock(2), and of fcntl(2) with length 0 from the start.
const WholeFile = uint64(1)<<63 - 1

// conflicts reports whether two owners cannot have both spans.
func (s Span) conflicts(o Span) bool {
	return s.Start <= o.End && o.Start <= s.End && (s.Kind == unix.F_WRLCK || o.Kind == unix.F_WRLCK)
}

// spans are the locks of one owner on one file, in the kernel's form: in order, disjoint, neighbours of one kind joined. The backing
// kernel's list decides; this copy only says who is in whose way.
type spans []Span

// first is the index of the first span that ends at or after an offset.
func (s spans) first(at uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].End >= at })
}

// with returns the spans after one more lock or unlock.
func (s spans) with(n Span) spans {
	i, put := s.first(n.Start), make([]Span, 0, 3)
	j := i
	for ; j < len(s) && s[j].Start <= n.End; j++ {
		if s[j].Start < n.Start {
			put = append(put, Span{s[j].Start, n.Start - 1, s[j].Kind})
		}
	}
	if n.Kind != unix.F_UNLCK {
		put = append(put, n)
	}
	if j > i && s[j-1].End > n.End {
		put = append(put, Span{n.End + 1, s[j-1].End, s[j-1].Kind})
	}
	if i > 0 { // the neighbours may join
		i--
		put = slices.Insert(put, 0, s[i])
	}
	if j < len(s) {
		put = append(put, s[j])
		j++
	}
	return slices.Replace(s, i, j, joined(put)...)
}

func joined(s []Span) []Span {
	out := s[:0]
	for _, n := range s {
		if last := len(out) - 1; last >= 0 && out[last].Kind == n.Kind && out[last].End+1 == n.Start {
			out[last].End = n.End
			continue
		}
		out = append(out, n)
	}
	return out
}

// against reports whether a span is in the way of another owner's.
func (s spans) against(want Span) bool {
	for i := s.first(want.Start); i < len(s) && s[i].Start <= want.End; i++ {
		if s[i].conflicts(want) {
			return true
		}
	}
	return false
}
