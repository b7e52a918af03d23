package metrics

import (
	"maps"
	"sync"
)

// boundedCounter counts by kind. The number of kinds is bounded; further kinds are counted as one. Safe for concurrent
// use.
type boundedCounter[K comparable] struct {
	limit int

	mu     sync.Mutex
	counts map[K]uint64
	beyond uint64
}

func newBoundedCounter[K comparable](limit int) *boundedCounter[K] {
	return &boundedCounter[K]{limit: limit, counts: map[K]uint64{}}
}

func (t *boundedCounter[K]) add(k K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.counts[k]; !known && len(t.counts) >= t.limit {
		t.beyond++
		return
	}
	t.counts[k]++
}

// drop moves kinds to the count beyond the limit, which makes room for others.
func (t *boundedCounter[K]) drop(which func(K) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.counts, func(k K, n uint64) bool {
		if !which(k) {
			return false
		}
		t.beyond += n
		return true
	})
}

// all returns the counts, and how often a kind was beyond the limit.
func (t *boundedCounter[K]) all() (map[K]uint64, uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts), t.beyond
}
