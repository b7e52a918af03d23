package repair

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

const someNonce = "0123456789abcdef0123456789abcdef"

// A repair once took the files of these worktrees for leftovers of another.
var evilIDs = []record.WorktreeID{"main.lock.tmp.evil", "main.lock.tmp." + someNonce, "main.lock", "main.claim.00000000000000000009", ".doctor-1", "main.lock.aside." + someNonce}

// A repair of one worktree touches no file of another, whatever its id.
func TestMendTouchesNoOtherWorktree(t *testing.T) {
	d, s := mendable(t)
	for _, id := range evilIDs {
		k := lease.NewKeeper(lease.KeeperConfig{Store: d.Store(id)})
		g, err := k.Acquire(context.Background(), lease.Holder{Host: "h", User: "u", PID: 1, StartTime: 1})
		require.NoError(t, err, id)
		require.EqualValues(t, 1, g.Token)
		require.NoError(t, k.Close())
	}
	before := contents(t, d)
	for _, id := range append(evilIDs, s.Worktree()) {
		for _, force := range []bool{false, true} {
			m, err := Worktree(context.Background(), d.Store(id), later{lease.SystemClock()}, record.DefaultPolicy(), force)
			require.NoError(t, err)
			require.Empty(t, m, "%s: nothing is wrong", id)
		}
	}
	require.Equal(t, before, contents(t, d))
	for _, id := range evilIDs {
		k := lease.NewKeeper(lease.KeeperConfig{Store: d.Store(id)})
		g, err := k.Acquire(context.Background(), lease.Holder{Host: "h", User: "u", PID: 1, StartTime: 1})
		require.NoError(t, err)
		require.EqualValues(t, 2, g.Token, "the tokens of %s go on", id)
		require.NoError(t, k.Close())
	}
}

// later is a clock by which every leftover is old and every lease is over.
type later struct{ lease.Clock }

func (l later) Wall() time.Time { return l.Clock.Wall().Add(time.Hour) }

func contents(t *testing.T, d *lease.Dir) map[string]string {
	t.Helper()
	names, err := os.ReadDir(d.Path())
	require.NoError(t, err)
	out := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(d.Path(), name.Name()))
		require.NoError(t, err)
		out[name.Name()] = string(b)
	}
	return out
}

// A temporary name is removed if its content proves that it is a leftover. Otherwise the file is kept.
func TestATemporaryNameIsRemovedOnlyIfItIsALeftover(t *testing.T) {
	d, s := mendable(t)
	at := func(name string) string { return filepath.Join(d.Path(), name) }
	born := anyRecord()
	born.HolderNonce = strings.Repeat("1", 32)
	whole, err := born.Encode()
	require.NoError(t, err)
	other := anyRecord()
	foreign, err := other.Encode()
	require.NoError(t, err)

	for i, c := range []struct {
		what    string
		plant   func(name string) error
		removed bool
	}{
		{"empty", func(n string) error { return os.WriteFile(n, nil, 0o600) }, true},
		{"zeroes", func(n string) error { return os.WriteFile(n, make([]byte, record.Size), 0o600) }, true},
		{"never linked", func(n string) error { return os.WriteFile(n, whole, 0o600) }, true},
		{"torn", func(n string) error { return os.WriteFile(n, whole[:len(whole)/4], 0o600) }, true},
		{"a claim's second name", func(n string) error { return os.Link(at(record.ClaimFile("main", 2)), n) }, true},
		{"somebody else's lock", func(n string) error { return os.WriteFile(n, foreign, 0o600) }, false},
		{"garbage", func(n string) error { return os.WriteFile(n, []byte("garbage"), 0o600) }, false},
		{"a link", func(n string) error { return os.Symlink("/etc/passwd", n) }, false},
		{"a directory", func(n string) error { return os.Mkdir(n, 0o700) }, false},
	} {
		nonce := strings.Repeat(string(rune('1'+i)), 32)
		name := at(record.TmpFile("main", nonce))
		born.HolderNonce = nonce
		whole, err = born.Encode()
		require.NoError(t, err)
		require.NoError(t, c.plant(name), c.what)
		kept, err := os.Lstat(name)
		require.NoError(t, err)
		require.Empty(t, repaired(t, s, true), "%s: somebody may be at it just now", c.what)

		done, err := Worktree(context.Background(), s, later{lease.SystemClock()}, record.DefaultPolicy(), false)
		require.NoError(t, err)
		require.Len(t, done, 1, c.what)
		if c.removed {
			require.NoFileExists(t, name, c.what)
			require.Contains(t, done[0].Done, "removed", c.what)
			continue
		}
		where := name
		if done[0].Kept != "" {
			where = done[0].Kept
		}
		is, err := os.Lstat(where)
		require.NoError(t, err, "%s: it must be kept", c.what)
		require.True(t, os.SameFile(kept, is), c.what)
		require.NoError(t, os.RemoveAll(where))
	}
	h, err := s.Head()
	require.NoError(t, err)
	require.EqualValues(t, 2, h.Token)
}

// anyRecord is a record of token 9 that is in no directory yet.
func anyRecord() *record.Record {
	h := lease.Holder{Host: "h", User: "ann", PID: 10, StartTime: 7, BootID: "b", PIDNamespace: "pid:[1]", Scope: "tree"}
	return record.New("main", record.DefaultPolicy(), h, 8, nil, time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC))
}
