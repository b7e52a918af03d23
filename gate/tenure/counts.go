package tenure

import (
	"sync/atomic"
	"time"
)

// ruleCounts count for a rule as long as its book lasts, also for locks that were forgotten.
type ruleCounts struct{ matches, tenures, breaks, refusals, bypassed, windows atomic.Uint64 }

// Counts are what has happened under a rule since the mount.
type Counts struct {
	Rule     string
	HasLock  bool   // the rule tells of a lock
	Matches  uint64 // requests about its locks, or what they guard
	Tenures  uint64
	Breaks   uint64
	Refusals uint64
	Bypassed uint64 // locks that were changed past the mount
	Held     uint64 // now
	Windows  uint64 // that were opened
	Open     uint64 // of them now
}

// Counts are those of all rules, in their order.
func (b *Book) Counts() (all []Counts) {
	if b == nil {
		return nil
	}
	held := make(map[string]uint64)
	for _, v := range b.Locks() {
		if v.State == StateHeld {
			held[v.Rule]++
		}
	}
	open := make(map[string]uint64)
	for _, w := range b.Windows() {
		for _, name := range w.Rules {
			open[name]++
		}
	}
	for _, r := range b.cfg.Rules.All() {
		n := b.counts[r]
		all = append(all, Counts{
			Rule: r.Name, HasLock: r.Lock != "", Matches: n.matches.Load(), Tenures: n.tenures.Load(), Breaks: n.breaks.Load(),
			Refusals: n.refusals.Load(), Bypassed: n.bypassed.Load(), Held: held[r.Name],
			Windows: n.windows.Load(), Open: open[r.Name],
		})
	}
	return all
}

func (l *Lock) sum() *ruleCounts { return l.book.counts[l.Rule] }

func (l *Lock) countRefusal() {
	l.mu.Lock()
	l.counted.refusals++
	l.last = l.book.now()
	l.mu.Unlock()
	l.sum().refusals.Add(1)
}

// lately is when something was last counted.
func (l *Lock) lately() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}
