package refusals

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// The first of a kind is written at once; a loop that goes on costs one more line.
func TestRefusalsOfAKindAreWrittenOnceAndThenCounted(t *testing.T) {
	var mu sync.Mutex
	var got []audit.Record
	r := newAuditQueue(func(rec audit.Record) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, rec)
		return nil
	}, zap.NewNop())
	written := func() int { mu.Lock(); defer mu.Unlock(); return len(got) }
	ctx, cancel := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { r.run(ctx) })
	refuse := func(op gate.Op) {
		r.note(&gate.Refusal{Reason: gate.ReasonHeldByOther, Op: op, Worktree: "main", Holder: lease.Holder{Host: "h", User: "u", PID: 1}})
	}
	refuse(gate.OpMkdir)
	require.Eventually(t, func() bool { return written() == 1 }, time.Minute, time.Millisecond)
	for range 1000 {
		refuse(gate.OpMkdir)
	}
	refuse(gate.OpUnlink)
	require.Eventually(t, func() bool { return written() == 2 }, time.Minute, time.Millisecond)
	cancel()
	run.Wait()
	require.Len(t, got, 3)
	require.Equal(t, "write_refused", got[0].EventType)
	require.Equal(t, "E_LOCK_CONFLICT", got[0].Details["class"])
	require.Contains(t, got[0].Details["reason"], "h:u:1:0")
	require.EqualValues(t, 1000, got[2].Details["count"])
}

// What was let through is no refusal: it is counted apart and has a name of its own.
func TestAnObservedWriteIsAnEventOfItsOwn(t *testing.T) {
	r := newAuditQueue(nil, zap.NewNop())
	for _, observed := range []bool{true, false, true} {
		r.note(&gate.Refusal{Reason: gate.ReasonHeldByOther, Op: gate.OpMkdir, Worktree: "main", Observed: observed})
	}
	counts := map[string]any{}
	for _, rec := range r.take(func(*count) bool { return true }) {
		counts[rec.EventType] = rec.Details["count"]
	}
	require.Equal(t, map[string]any{"write_refused": uint64(1), "write_would_be_refused": uint64(2)}, counts)
}

// Kinds beyond those that are told apart are counted as one, and no refusal is lost.
func TestRefusalsOfManyKindsAreBounded(t *testing.T) {
	r := newAuditQueue(nil, zap.NewNop())
	const extra = 100
	for i := range mostKinds + extra {
		r.note(&gate.Refusal{Reason: gate.ReasonFree, Op: gate.OpWrite, Worktree: lease.WorktreeID(fmt.Sprint("w", i))})
	}
	lines := r.take(func(*count) bool { return true })
	require.Len(t, lines, mostKinds+1)
	sum := uint64(0)
	for _, l := range lines {
		sum += l.Details["count"].(uint64)
	}
	require.EqualValues(t, mostKinds+extra, sum)
}

func TestKnownRefusalsAreWrittenAPeriodAfterTheFirst(t *testing.T) {
	testkit.WrittenAPeriodAfterTheFirst(t, interval, func(written func()) (func(context.Context), func()) {
		r := newAuditQueue(func(audit.Record) error { written(); return nil }, zap.NewNop())
		kind := kind{worktree: "w"}
		r.seen[kind] = &count{known: true}
		return r.run, func() { r.count(kind, func(*count) {}) }
	})
}
