package repair

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// mendable is a worktree whose head is token 2 of a holder that let its lease run out.
func mendable(t *testing.T) (*lease.Dir, *lease.Store) {
	t.Helper()
	d, err := lease.OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	s := d.Store("main")
	for range 2 {
		k := lease.NewKeeper(lease.KeeperConfig{Store: s})
		_, err := k.Acquire(context.Background(), lease.Holder{Host: "h", User: "u", PID: 1, StartTime: 1})
		require.NoError(t, err)
		require.NoError(t, k.Close())
	}
	return d, s
}

func age(t *testing.T, path string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	require.NoError(t, os.Chtimes(path, at, at))
}

func repaired(t *testing.T, s *lease.Store, force bool) []Fault {
	t.Helper()
	m, err := Worktree(context.Background(), s, lease.SystemClock(), record.DefaultPolicy(), force)
	require.NoError(t, err)
	return m
}

func TestMendLetsAReleasedClaimFollowATornOne(t *testing.T) {
	d, s := mendable(t)
	torn := filepath.Join(d.Path(), record.ClaimFile("main", 2))
	for name, damage := range map[string]func() error{
		"empty":   func() error { return os.Truncate(torn, 0) },
		"torn":    func() error { return os.WriteFile(torn, []byte(`{"lock_id":"x`), 0o600) },
		"foreign": func() error { return os.WriteFile(torn, []byte(`{"worktree_id":"other","fencing_token":2}`), 0o600) },
	} {
		require.NoError(t, damage(), name)
	}
	k := lease.NewKeeper(lease.KeeperConfig{Store: s})
	defer k.Close()
	_, err := k.Acquire(context.Background(), lease.Holder{Host: "h", PID: 2})
	require.Equal(t, lease.ClassRecordUnreadable, lease.ClassOf(err))
	require.Contains(t, err.Error(), torn)

	fresh := repaired(t, s, false)
	require.Len(t, fresh, 1)
	require.Empty(t, fresh[0].Done, "its holder may have written it a moment ago")
	require.NotEmpty(t, fresh[0].Why)

	age(t, torn, time.Hour)
	before, err := os.ReadFile(torn)
	require.NoError(t, err)
	done := repaired(t, s, false)
	require.Len(t, done, 1)
	require.NotEmpty(t, done[0].Done)
	after, err := os.ReadFile(torn)
	require.NoError(t, err)
	require.Equal(t, before, after, "the old file stays as it is")
	g, err := k.Acquire(context.Background(), lease.Holder{Host: "h", PID: 2})
	require.NoError(t, err)
	require.Equal(t, lease.Token(4), g.Token, "the token went on: 2 was torn, 3 repaired it")
	now := stillClock{boot: lease.SystemClock().Boot(), wall: lease.SystemClock().Wall()}
	synctest.Test(t, func(t *testing.T) { // where no time passes unless somebody waits
		begun := time.Now()
		_, err = Worktree(context.Background(), s, now, record.DefaultPolicy(), true)
		require.Equal(t, lease.ClassLockConflict, lease.ClassOf(err), "nothing is repaired under a holder")
		require.Zero(t, time.Since(begun), "who holds the lease keeps the gate: it is no use to wait")
	})
}

func TestMendMovesATornViewAside(t *testing.T) {
	d, s := mendable(t)
	view := filepath.Join(d.Path(), record.ViewFile("main"))
	require.NoError(t, os.WriteFile(view, []byte("garbage"), 0o600))
	h, err := s.Head()
	require.NoError(t, err)
	require.Error(t, h.Unreadable)
	done := repaired(t, s, false)
	require.Len(t, done, 1)
	kept, err := os.ReadFile(done[0].Kept)
	require.NoError(t, err)
	require.Equal(t, "garbage", string(kept))
	h, err = s.Head()
	require.NoError(t, err)
	require.NoError(t, h.Unreadable)
	require.Equal(t, lease.Token(2), h.Token)
}

func TestMendWantsForceWhereNothingIsProven(t *testing.T) {
	d, err := lease.OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	defer d.Close()
	s := d.Store("main")
	view := filepath.Join(d.Path(), record.ViewFile("main"))
	require.NoError(t, os.WriteFile(view, nil, 0o600))
	age(t, view, time.Hour)
	require.Empty(t, repaired(t, s, false)[0].Done)
	require.FileExists(t, view)
	require.NotEmpty(t, repaired(t, s, true)[0].Done)
	require.NoFileExists(t, view)

	// A record from the future: only a person knows which clock is right.
	d, s = mendable(t)
	at := time.Now().Add(time.Hour)
	rec := record.New("main", record.DefaultPolicy(), lease.Holder{Host: "h", PID: 3}, 2, nil, at)
	b, err := rec.Encode()
	require.NoError(t, err)
	claim := filepath.Join(d.Path(), record.ClaimFile("main", 3))
	require.NoError(t, os.WriteFile(claim, b, 0o600))
	require.NoError(t, os.Link(claim, filepath.Join(d.Path(), record.ViewFile("main"))))
	done := repaired(t, s, false)
	require.Len(t, done, 1)
	require.Empty(t, done[0].Done)
	require.Contains(t, done[0].Problem, "future")
	require.NotEmpty(t, repaired(t, s, true)[0].Done)
	h, err := s.Head()
	require.NoError(t, err)
	require.EqualValues(t, 4, h.Token)
	require.Equal(t, lease.Free, lease.Judge(time.Now(), h, record.DefaultPolicy()).State)
}

// stillClock stands still.
type stillClock struct {
	boot time.Duration
	wall time.Time
}

func (c stillClock) Boot() time.Duration { return c.boot }
func (c stillClock) Wall() time.Time     { return c.wall }

func TestMendRemovesLeftoversOnly(t *testing.T) {
	d, s := mendable(t)
	require.Empty(t, repaired(t, s, false), "nothing is wrong")
	old := filepath.Join(d.Path(), record.TmpFile("main", strings.Repeat("de", 16)))
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	require.Empty(t, repaired(t, s, false), "somebody may be writing it just now")
	names := contents(t, d)
	done, err := Worktree(context.Background(), s, later{lease.SystemClock()}, record.DefaultPolicy(), false)
	require.NoError(t, err)
	require.Len(t, done, 1)
	after := contents(t, d)
	require.Len(t, after, len(names)-1)
	require.NotContains(t, after, filepath.Base(old))
}
