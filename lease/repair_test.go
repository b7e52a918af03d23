package lease

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

// mendable is a worktree whose head is token 2 of a holder that let its lease run out.
func mendable(t *testing.T) (*Dir, *Store) {
	t.Helper()
	d, err := OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	s := d.Store("main")
	for range 2 {
		k := NewKeeper(KeeperConfig{Store: s})
		_, err := k.Acquire(context.Background(), Holder{Host: "h", User: "u", PID: 1, StartTime: 1})
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

func repair(t *testing.T, s *Store, force bool) []Repair {
	t.Helper()
	m, err := s.Repair(context.Background(), SystemClock(), record.DefaultPolicy(), force)
	require.NoError(t, err)
	return m
}

func TestMendLetsAReleasedClaimFollowATornOne(t *testing.T) {
	d, s := mendable(t)
	torn := filepath.Join(d.Path(), s.claimName(2))
	for name, damage := range map[string]func() error{
		"empty":   func() error { return os.Truncate(torn, 0) },
		"torn":    func() error { return os.WriteFile(torn, []byte(`{"lock_id":"x`), 0o600) },
		"foreign": func() error { return os.WriteFile(torn, []byte(`{"worktree_id":"other","fencing_token":2}`), 0o600) },
	} {
		require.NoError(t, damage(), name)
	}
	k := NewKeeper(KeeperConfig{Store: s})
	defer k.Close()
	_, err := k.Acquire(context.Background(), Holder{Host: "h", PID: 2})
	require.Equal(t, ClassRecordUnreadable, ClassOf(err))
	require.Contains(t, err.Error(), torn)

	fresh := repair(t, s, false)
	require.Len(t, fresh, 1)
	require.Empty(t, fresh[0].Done, "its holder may have written it a moment ago")
	require.NotEmpty(t, fresh[0].Why)

	age(t, torn, time.Hour)
	before, err := os.ReadFile(torn)
	require.NoError(t, err)
	done := repair(t, s, false)
	require.Len(t, done, 1)
	require.NotEmpty(t, done[0].Done)
	after, err := os.ReadFile(torn)
	require.NoError(t, err)
	require.Equal(t, before, after, "the old file stays as it is")
	g, err := k.Acquire(context.Background(), Holder{Host: "h", PID: 2})
	require.NoError(t, err)
	require.Equal(t, Token(4), g.Token, "the token went on: 2 was torn, 3 repaired it")
	now := &fakeClock{boot: SystemClock().Boot(), wall: SystemClock().Wall()}
	synctest.Test(t, func(t *testing.T) { // where no time passes unless somebody waits
		begun := time.Now()
		_, err = s.Repair(context.Background(), now, record.DefaultPolicy(), true)
		require.Equal(t, ClassLockConflict, ClassOf(err), "nothing is repaired under a holder")
		require.Zero(t, time.Since(begun), "who holds the lease keeps the gate: it is no use to wait")
	})
}

func TestMendMovesATornViewAside(t *testing.T) {
	d, s := mendable(t)
	view := filepath.Join(d.Path(), s.viewName())
	require.NoError(t, os.WriteFile(view, []byte("garbage"), 0o600))
	h, err := s.Head()
	require.NoError(t, err)
	require.Error(t, h.Unreadable)
	done := repair(t, s, false)
	require.Len(t, done, 1)
	kept, err := os.ReadFile(done[0].Kept)
	require.NoError(t, err)
	require.Equal(t, "garbage", string(kept))
	h, err = s.Head()
	require.NoError(t, err)
	require.NoError(t, h.Unreadable)
	require.Equal(t, Token(2), h.Token)
}

func TestMendWantsForceWhereNothingIsProven(t *testing.T) {
	d, err := OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	defer d.Close()
	s := d.Store("main")
	view := filepath.Join(d.Path(), s.viewName())
	require.NoError(t, os.WriteFile(view, nil, 0o600))
	age(t, view, time.Hour)
	require.Empty(t, repair(t, s, false)[0].Done)
	require.FileExists(t, view)
	require.NotEmpty(t, repair(t, s, true)[0].Done)
	require.NoFileExists(t, view)

	// A record from the future: only a person knows which clock is right.
	_, s = mendable(t)
	k := NewKeeper(KeeperConfig{Store: s, Clock: ahead{SystemClock()}})
	g, err := k.Acquire(context.Background(), Holder{Host: "h", PID: 3})
	require.NoError(t, err)
	crash(k)
	done := repair(t, s, false)
	require.Len(t, done, 1)
	require.Empty(t, done[0].Done)
	require.Contains(t, done[0].Problem, "future")
	require.NotEmpty(t, repair(t, s, true)[0].Done)
	h, err := s.Head()
	require.NoError(t, err)
	require.Equal(t, g.Token+1, h.Token)
	require.Equal(t, Free, Judge(time.Now(), h, record.DefaultPolicy()).State)
}

type ahead struct{ Clock }

func (a ahead) Wall() time.Time { return a.Clock.Wall().Add(time.Hour) }

// crash closes a keeper's lock files, as a kill does. The record stays as it is.
func crash(k *Keeper) { k.gate.close() }

func TestMendRemovesLeftoversOnly(t *testing.T) {
	d, s := mendable(t)
	require.Empty(t, repair(t, s, false), "nothing is wrong")
	old := filepath.Join(d.Path(), s.tmpName(strings.Repeat("de", 16)))
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	require.Empty(t, repair(t, s, false), "somebody may be writing it just now")
	names, err := d.names()
	require.NoError(t, err)
	m := repairer{store: s, now: time.Now().Add(time.Hour), policy: record.DefaultPolicy()}
	require.NoError(t, m.leftovers())
	require.Len(t, m.done, 1)
	after, err := d.names()
	require.NoError(t, err)
	require.Len(t, after, len(names)-1)
	require.False(t, strings.Contains(strings.Join(after, " "), ".tmp."))
}
