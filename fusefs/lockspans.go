package fusefs

import (
	"slices"
	"sort"

	"golang.org/x/sys/unix"
)

// lockSpan is a range of bytes, both ends included, and F_RDLCK, F_WRLCK or F_UNLCK.
type lockSpan struct {
	start, end uint64
	kind       uint32
}

// wholeFile is the range of flock(2), and of fcntl(2) with length 0 from the start.
const wholeFile = uint64(1)<<63 - 1

// conflicts reports whether two owners cannot have both spans.
func (s lockSpan) conflicts(o lockSpan) bool {
	return s.start <= o.end && o.start <= s.end && (s.kind == unix.F_WRLCK || o.kind == unix.F_WRLCK)
}

// lockSpans are the locks of one owner on one file, in the kernel's form: in order, disjoint,
// neighbours of one kind joined. The backing kernel's list decides; this copy only says who is in
// whose way.
type lockSpans []lockSpan

// first is the index of the first span that ends at or after an offset.
func (s lockSpans) first(at uint64) int {
	return sort.Search(len(s), func(i int) bool { return s[i].end >= at })
}

// with returns the spans after one more lock or unlock.
func (s lockSpans) with(n lockSpan) lockSpans {
	i, put := s.first(n.start), make([]lockSpan, 0, 3)
	j := i
	for ; j < len(s) && s[j].start <= n.end; j++ {
		if s[j].start < n.start {
			put = append(put, lockSpan{s[j].start, n.start - 1, s[j].kind})
		}
	}
	if n.kind != unix.F_UNLCK {
		put = append(put, n)
	}
	if j > i && s[j-1].end > n.end {
		put = append(put, lockSpan{n.end + 1, s[j-1].end, s[j-1].kind})
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

func joined(s []lockSpan) []lockSpan {
	out := s[:0]
	for _, n := range s {
		if last := len(out) - 1; last >= 0 && out[last].kind == n.kind && out[last].end+1 == n.start {
			out[last].end = n.end
			continue
		}
		out = append(out, n)
	}
	return out
}

// against reports whether a span is in the way of another owner's.
func (s lockSpans) against(want lockSpan) bool {
	for i := s.first(want.start); i < len(s) && s[i].start <= want.end; i++ {
		if s[i].conflicts(want) {
			return true
		}
	}
	return false
}
