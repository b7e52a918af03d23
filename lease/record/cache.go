package record

import "sync"

// Cache remembers records by the sum of their bytes. While leases pass from writer to writer, each writer reads the same two or
// three records several times. Safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	ring [4]cached
	next int
}

type cached struct {
	sum [32]byte // of the bytes
	rec *Record  // nil: empty
}

// Parse is [Parse]. sum is the SHA-256 of b. The record is the caller's own copy.
func (p *Cache) Parse(b []byte, sum [32]byte, id WorktreeID) (*Record, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, known := range p.ring {
		if known.rec != nil && known.sum == sum {
			return known.rec.Clone(), nil
		}
	}
	r, err := Parse(b, id)
	if err != nil {
		return nil, err
	}
	p.ring[p.next] = cached{sum, r.Clone()}
	p.next = (p.next + 1) % len(p.ring)
	return r, nil
}
