package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// The first of a kind is written at once; a loop that goes on costs one more line.
func TestRefusalsAreWrittenOnceAKindAndThenCounted(t *testing.T) {
	var mu sync.Mutex
	var got []lease.AuditRecord
	r := newRefusals(func(rec lease.AuditRecord) error {
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
	require.Eventually(t, func() bool { return written() == 1 }, 10*time.Second, time.Millisecond)
	for range 1000 {
		refuse(gate.OpMkdir)
	}
	refuse(gate.OpUnlink)
	require.Eventually(t, func() bool { return written() == 2 }, 10*time.Second, time.Millisecond)
	cancel()
	run.Wait()
	require.Len(t, got, 3)
	require.Equal(t, "write_refused", got[0].EventType)
	require.Equal(t, "E_LOCK_CONFLICT", got[0].Details["class"])
	require.Contains(t, got[0].Details["reason"], "h:u:1:0")
	require.EqualValues(t, 1000, got[2].Details["count"])
}

// What was let through is no refusal: it is counted apart and has a name of its own.
func TestWhatIsOnlyObservedIsAnEventOfItsOwn(t *testing.T) {
	r := newRefusals(nil, zap.NewNop())
	for _, observed := range []bool{true, false, true} {
		r.note(&gate.Refusal{Reason: gate.ReasonHeldByOther, Op: gate.OpMkdir, Worktree: "main", Observed: observed})
	}
	counts := map[string]any{}
	for _, rec := range r.take(func(*refusalCount) bool { return true }) {
		counts[rec.EventType] = rec.Details["count"]
	}
	require.Equal(t, map[string]any{"write_refused": uint64(1), "write_would_be_refused": uint64(2)}, counts)
}

// A repository's log must not be reached through a link that somebody planted.
func TestTheAuditLogIsNotFollowedThroughLinks(t *testing.T) {
	repo, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(repo, ".jvs", "locks"), 0o755))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(repo, ".jvs", "audit")))
	locks, err := lease.OpenDir(locksOf(repo))
	require.NoError(t, err)
	defer locks.Close()
	_, err = openAudit(place{Shape: shapeRepository, Repo: repo, Root: repo, LockDir: locksOf(repo)}, -1, locks)
	require.Error(t, err)
	entries, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestAuditVerifyAndTail(t *testing.T) {
	dir := t.TempDir()
	control := filepath.Join(dir, "locks")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "wt"), 0o755))
	require.NoError(t, os.Mkdir(control, 0o700))
	locks, err := lease.OpenDir(control)
	require.NoError(t, err)
	defer locks.Close()
	log, err := openAudit(place{LockDir: control}, -1, locks)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, log.Append(context.Background(), auditRecordOf(lease.Event{Kind: "acquire", Worktree: "wt", Token: lease.Token(i + 1), At: time.Unix(1, 0)})))
	}
	require.NoError(t, log.Close())
	cli := func(args ...string) (string, int) {
		var out, errs bytes.Buffer
		code := run(context.Background(), append(args, "--control", control, filepath.Join(dir, "wt")), stdio{out: &out, err: &errs})
		return out.String() + errs.String(), code
	}
	text, code := cli("audit", "tail", "-n", "2")
	require.Zero(t, code, text)
	require.NotContains(t, text, "fencing_token=1 ")
	require.Equal(t, 2, strings.Count(text, "lock_acquire"))
	text, code = cli("audit", "verify")
	require.Zero(t, code, text)

	path := filepath.Join(control, auditName)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := bytes.SplitAfter(b, []byte("\n"))
	require.NoError(t, os.WriteFile(path, bytes.Join(lines[:2], nil), 0o600))
	text, code = cli("audit", "verify")
	require.Equal(t, exitError, code)
	require.Contains(t, text, "the end is missing")
	require.NoError(t, os.WriteFile(path, bytes.Replace(b, []byte(`"fencing_token":2`), []byte(`"fencing_token":7`), 1), 0o600))
	text, code = cli("audit", "verify")
	require.Equal(t, exitError, code)
	require.Contains(t, text, auditName+":2: ")
}

// Kinds beyond those that are told apart are counted as one, and no refusal is lost.
func TestRefusalsOfManyKindsAreBounded(t *testing.T) {
	r := newRefusals(nil, zap.NewNop())
	const extra = 100
	for i := range refusalKinds + extra {
		r.note(&gate.Refusal{Reason: gate.ReasonFree, Op: gate.OpWrite, Worktree: lease.WorktreeID(fmt.Sprint("w", i))})
	}
	lines := r.take(func(*refusalCount) bool { return true })
	require.Len(t, lines, refusalKinds+1)
	sum := uint64(0)
	for _, l := range lines {
		sum += l.Details["count"].(uint64)
	}
	require.EqualValues(t, refusalKinds+extra, sum)
}
