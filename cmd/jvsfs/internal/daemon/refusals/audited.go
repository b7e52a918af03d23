package refusals

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/batch"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// kind is a kind of refusals, or of writes that needed no lease. The audit chain has a line for each
// kind.
type kind struct {
	worktree lease.WorktreeID
	op       gate.Op
	class    lease.Class // of a refusal
	observed bool        // it was let through
	rule     string      // of an exempt write
	lockRule string      // of a refusal by a rule for lock files
}

// event is the type in the audit chain.
func (k kind) event() string {
	switch {
	case k.rule != "":
		return "write_exempt"
	case k.observed:
		return "write_would_be_refused"
	}
	return "write_refused"
}

type count struct {
	known    bool // the first of its kind has been written
	count    uint64
	sentence string // of the first since the last line
	exempt   gate.Exemption
	lock     gate.LockFile // that it was about
	pid      int           // of its process, 0 where that cannot be told
}

// auditQueue collects the refusals, also those that were only observed. The first of a kind is written at once.
// Further ones are counted and written once an interval. A loop that is refused a million times costs one line
// a minute.
type auditQueue struct {
	write func(audit.Record) error
	log   *zap.Logger

	mu   sync.Mutex
	seen map[kind]*count
	wake chan struct{}
}

const (
	interval = time.Minute
	// mostKinds bounds the memory. It is enough for all classes and operations of a few worktrees. Further
	// kinds are counted as one.
	mostKinds = 4096
)

// otherRefusals and otherExempt stand for the kinds beyond mostKinds.
var (
	otherRefusals = kind{op: gate.OpNone, class: "other"}
	otherExempt   = kind{op: gate.OpNone, rule: "other"}
)

func newAuditQueue(write func(audit.Record) error, log *zap.Logger) *auditQueue {
	return &auditQueue{write: write, log: log, seen: map[kind]*count{}, wake: make(chan struct{}, 1)}
}

// note counts a refusal. The request calls it, so it does not block on I/O.
func (r *auditQueue) note(no *gate.Refusal) {
	k := kind{worktree: no.Worktree, op: no.Op, class: no.Class(), observed: no.Observed}
	if no.Lock != nil {
		k.lockRule = no.Lock.Rule
	}
	r.count(k, func(c *count) {
		c.sentence = no.Sentence()
		if no.Lock != nil {
			c.lock = *no.Lock
		}
	})
}

// noteExempt counts a write that was admitted because of its place, in the same way. It calls pid only for the
// first of a kind, which is written.
func (r *auditQueue) noteExempt(x gate.Exemption, pid func() int) {
	r.count(kind{worktree: x.Worktree, op: x.Op, rule: x.Rule}, func(c *count) {
		c.exempt, c.pid, c.sentence = x, pid(), x.Sentence()
	})
}

// count counts one more of a kind; first describes the first since the last line.
func (r *auditQueue) count(k kind, first func(*count)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.seen[k]
	if c == nil && len(r.seen) >= mostKinds {
		if k.rule == "" {
			k = otherRefusals
		} else {
			k = otherExempt
		}
		c = r.seen[k]
	}
	if c == nil {
		c = &count{}
		r.seen[k] = c
	}
	if c.count++; c.count > 1 {
		return
	}
	first(c)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run writes until ctx ends, and then writes the rest. While nothing is counted it does not wake.
func (r *auditQueue) run(ctx context.Context) {
	batch.Run(ctx, r.wake, interval, func() { r.flush(func(c *count) bool { return !c.known }) }, r.flushAll)
}

// flushAll writes all that is counted.
func (r *auditQueue) flushAll() { r.flush(func(*count) bool { return true }) }

func (r *auditQueue) flush(due func(*count) bool) {
	for _, rec := range r.take(due) {
		if err := r.write(rec); err != nil {
			r.log.Error("audit", zap.Error(err))
		}
	}
}

// take makes the lines that are due and starts counting anew.
func (r *auditQueue) take(due func(*count) bool) []audit.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []audit.Record
	for k, c := range r.seen {
		if c.count == 0 || !due(c) {
			continue
		}
		out = append(out, recordOf(k, c))
		c.known, c.count = true, 0
	}
	return out
}

func recordOf(k kind, c *count) audit.Record {
	rec := audit.Record{
		Timestamp: time.Now(), EventType: k.event(), Worktree: string(k.worktree),
		Details: map[string]any{"operation": k.op.String(), "count": c.count, "reason": c.sentence},
	}
	if k.rule == "" {
		rec.Details["class"] = string(k.class)
		if k.lockRule != "" {
			rec.Details["rule"], rec.Details["lock"] = k.lockRule, c.lock.Path
		}
		return rec
	}
	rec.Details["rule"], rec.Details["path"] = k.rule, strings.TrimSuffix(c.exempt.Name, "\x00")
	rec.Details["pid"], rec.Details["uid"] = c.pid, c.exempt.Caller.UID
	return rec
}
