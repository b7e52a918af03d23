package main

import (
	"context"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"go.uber.org/zap"
)

// refusalKind is what refusals are told apart by in the audit chain.
type refusalKind struct {
	worktree lease.WorktreeID
	op       gate.Op
	class    lease.Class
	observed bool // it was let through
}

// event is the type in the audit chain.
func (k refusalKind) event() string {
	if k.observed {
		return "write_would_be_refused"
	}
	return "write_refused"
}

type refusalCount struct {
	known    bool // the first of its kind has been written
	count    uint64
	sentence string // of the first since the last line
}

// refusals gather what was refused, or would have been: the first of a kind is written at once, more
// of it are counted and written once an interval. A loop that is refused a million
// times costs a line a minute.
type refusals struct {
	write func(lease.AuditRecord) error
	log   *zap.Logger

	mu   sync.Mutex
	seen map[refusalKind]*refusalCount
	wake chan struct{}
}

const (
	refusalInterval = time.Minute
	// refusalKinds bounds the memory: what is beyond classes times operations of a few
	// worktrees is counted as one kind.
	refusalKinds = 4096
)

// otherRefusals stands for the kinds beyond refusalKinds.
var otherRefusals = refusalKind{op: gate.OpNone, class: "other"}

func newRefusals(write func(lease.AuditRecord) error, log *zap.Logger) *refusals {
	return &refusals{write: write, log: log, seen: map[refusalKind]*refusalCount{}, wake: make(chan struct{}, 1)}
}

// note counts a refusal. It is called in the request and does not block on I/O.
func (r *refusals) note(no *gate.Refusal) {
	k := refusalKind{no.Worktree, no.Op, no.Class(), no.Observed}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.seen[k]
	if c == nil && len(r.seen) >= refusalKinds {
		k = otherRefusals
		c = r.seen[k]
	}
	if c == nil {
		c = &refusalCount{}
		r.seen[k] = c
	}
	if c.count++; c.count > 1 {
		return
	}
	c.sentence = no.Sentence()
	if !c.known {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// run writes until ctx ends, and then what is left.
func (r *refusals) run(ctx context.Context) {
	tick := time.NewTicker(refusalInterval)
	defer tick.Stop()
	for {
		select {
		case <-r.wake:
			r.flush(func(c *refusalCount) bool { return !c.known })
		case <-tick.C:
			r.flush(func(*refusalCount) bool { return true })
		case <-ctx.Done():
			r.flush(func(*refusalCount) bool { return true })
			return
		}
	}
}

func (r *refusals) flush(due func(*refusalCount) bool) {
	for _, rec := range r.take(due) {
		if err := r.write(rec); err != nil {
			r.log.Error("audit", zap.Error(err))
		}
	}
}

// take makes the lines that are due and starts counting anew.
func (r *refusals) take(due func(*refusalCount) bool) []lease.AuditRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []lease.AuditRecord
	for k, c := range r.seen {
		if c.count == 0 || !due(c) {
			continue
		}
		out = append(out, lease.AuditRecord{
			Timestamp: time.Now(), EventType: k.event(), Worktree: string(k.worktree),
			Details: map[string]any{"operation": k.op.String(), "class": string(k.class), "count": c.count, "reason": c.sentence},
		})
		c.known, c.count = true, 0
	}
	return out
}
