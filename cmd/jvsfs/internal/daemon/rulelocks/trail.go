package rulelocks

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/batch"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// trail puts what happens to lock files into the audit chain. What takes a lock from somebody has a record of its own.
// Taking and giving up is what programs do all the time, so it is counted, and written once an interval.
type trail struct {
	worktree lease.WorktreeID
	write    func(audit.Record) error
	log      *zap.Logger
	wake     chan struct{}

	mu      sync.Mutex
	due     []audit.Record
	lost    uint64
	counted map[counted]uint64
}

type counted struct {
	kind tenure.EventKind
	rule string
}

const (
	// mostRecords bounds the memory while the audit chain is slow.
	mostRecords = 4096
	interval    = time.Minute
)

func newTrail(worktree lease.WorktreeID, write func(audit.Record) error, log *zap.Logger) *trail {
	return &trail{worktree: worktree, write: write, log: log, wake: make(chan struct{}, 1), counted: map[counted]uint64{}}
}

// note notes an event. The request calls it, so it does not block on I/O.
func (t *trail) note(e tenure.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case e.Kind == tenure.WindowOpened: // recorded before
		return
	case e.Kind == tenure.Taken || e.Kind == tenure.Released:
		of := counted{e.Kind, e.Lock.Rule.Name}
		if t.counted[of]++; len(t.counted) > 1 || t.counted[of] > 1 {
			return
		}
	case len(t.due) >= mostRecords:
		t.lost++
	default:
		t.due = append(t.due, t.record(e))
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// windowRecord is the beginning or the end of a maintenance window.
func windowRecord(e tenure.Event, worktree lease.WorktreeID) audit.Record {
	w := e.Window
	details := map[string]any{"window": w.Window, "path": w.Path, "rules": w.Rules, "holder": w.Holder.ID, "until": w.Until}
	if len(w.Locks) > 0 {
		details["locks"] = w.Locks
	}
	if e.How != "" {
		details["how"] = string(e.How)
	}
	if e.By.TID != 0 {
		details["by_pid"], details["by_uid"] = e.By.TID, e.By.UID
	}
	return audit.Record{Timestamp: time.Now(), EventType: string(e.Kind), Worktree: string(worktree), Details: details}
}

func (t *trail) record(e tenure.Event) audit.Record {
	if e.Window != nil {
		return windowRecord(e, t.worktree)
	}
	details := map[string]any{"rule": e.Lock.Rule.Name, "instance": e.Lock.ID(), "lock": e.Lock.Path}
	if e.Number != 0 {
		details["tenure"], details["holder"] = e.Number, e.Holder.ID()
	}
	if e.By.TID != 0 {
		details["by_pid"], details["by_uid"] = e.By.TID, e.By.UID
	}
	if e.Err != nil {
		details["reason"] = e.Err.Error()
	}
	return audit.Record{Timestamp: time.Now(), EventType: string(e.Kind), Worktree: string(t.worktree), Details: details}
}

// run writes until ctx ends, and then the rest. While nothing happens it does not wake.
func (t *trail) run(ctx context.Context) {
	batch.Run(ctx, t.wake, interval, func() { t.flush(false) }, func() { t.flush(true) })
}

func (t *trail) flush(counts bool) {
	for _, rec := range t.take(counts) {
		if err := t.write(rec); err != nil {
			t.log.Error("audit", zap.Error(err))
		}
	}
}

func (t *trail) take(counts bool) []audit.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.due
	t.due = nil
	if t.lost > 0 {
		t.log.Error("the audit chain is too slow for lock files", zap.Uint64("lost", t.lost))
		t.lost = 0
	}
	if !counts {
		return out
	}
	for k, n := range t.counted {
		out = append(out, audit.Record{
			Timestamp: time.Now(), EventType: string(k.kind), Worktree: string(t.worktree), Details: map[string]any{"rule": k.rule, "count": n},
		})
	}
	clear(t.counted)
	return out
}
