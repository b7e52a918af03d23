package lease

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

const someNonce = "0123456789abcdef0123456789abcdef"

// namesOf are all names of a worktree's files, and how each must be parsed.
func namesOf(id WorktreeID, t Token, nonce string) map[string]fileName {
	s := &Store{dir: &Dir{}, id: id}
	g := newGateLock(s)
	return map[string]fileName{
		s.viewName():                     {kind: nameView, id: id},
		s.claimName(t):                   {kind: nameClaim, id: id, token: t},
		g.gate.name:                      {kind: nameGate, id: id},
		g.turn.name:                      {kind: nameTurn, id: id},
		s.tmpName(nonce):                 {kind: nameTmp, id: id, nonce: nonce},
		s.taintName(t, nonce):            {kind: nameTaint, id: id, token: t, nonce: nonce},
		asideName(s.viewName(), nonce):   {kind: nameAside, id: id, nonce: nonce},
		asideName(s.claimName(t), nonce): {kind: nameAside, id: id, token: t, nonce: nonce},
	}
}

// idPieces are the pieces of a hostile id: beginnings and ends of our own names.
var idPieces = []string{"a", "main", "x", "0", "f", ".", "-", "_", "..", ".lock", ".gate", ".turn", ".claim", ".taint", ".tmp", ".aside", ".lock.tmp.evil",
	".claim.00000000000000000001", ".00000000000000000001", "." + someNonce, ".lock.tmp." + someNonce, ".lock.aside." + someNonce,
	".taint.00000000000000000001." + someNonce, ".doctor-1", ".x", "audit.jsonl", "audit", ".jsonl", ".head"}

func anyID(rt *rapid.T, label string) WorktreeID {
	for range 100 {
		parts := rapid.SliceOfN(rapid.SampledFrom(idPieces), 1, 4).Draw(rt, label)
		if id, err := ParseWorktreeID(strings.Join(parts, "")); err == nil {
			return id
		}
	}
	return "main"
}

// Two worktrees never have a name in common, and each name is parsed as what it is.
func TestNoTwoWorktreesShareAName(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := anyID(rt, "a"), anyID(rt, "b")
		tok := Token(rapid.Uint64Range(1, uint64(mostToken)).Draw(rt, "token"))
		first := namesOf(a, tok, someNonce)
		if len(first) != 8 {
			rt.Fatalf("worktree %q has two files of one name", a)
		}
		for name, want := range first {
			if got := parseName(name); got != want {
				rt.Fatalf("%q is read as %+v, and is %+v", name, got, want)
			}
			if len(name) > unix.NAME_MAX {
				rt.Fatalf("%q is too long", name)
			}
		}
		if a == b {
			return
		}
		for name := range namesOf(b, tok, someNonce) {
			if _, both := first[name]; both {
				rt.Fatalf("%q is a file of %q and of %q", name, a, b)
			}
		}
	})
}

func TestNamesThatAreNoRecordsAreNotParsed(t *testing.T) {
	for _, name := range []string{"", ".", "lock", ".lock", "gate", "audit.jsonl", "audit.head", ".doctor-12", ".doctor-12.x", "main.lock.tmp.", "main.lock.tmp.x",
		"main.lock.tmp.evil", "main.claim.1", "main.claim.0000000000000000000x", "main.taint.1", "main.taint.00000000000000000001",
		"..lock", "...lock", "main.lock.tmp." + strings.ToUpper(someNonce), "a/b.lock", "é.lock", strings.Repeat("x", 129) + ".lock"} {
		require.Zero(t, parseName(name), name)
	}
}

func FuzzParseName(f *testing.F) {
	for name := range namesOf("main", 1, someNonce) {
		f.Add(name)
	}
	f.Add("main.claim.99999999999999999999")
	f.Fuzz(func(t *testing.T, name string) {
		n := parseName(name)
		if n.kind == nameOther || n.token == maxToken {
			return
		}
		made, ok := namesOf(n.id, max(n.token, 1), n.nonce)[name]
		if n.token > 0 || n.kind != nameClaim && n.kind != nameTaint {
			require.True(t, ok || n.token == 0, name)
			require.True(t, !ok || made == n, name)
		}
	})
}

// A repair once took the files of these worktrees for leftovers of another.
var evilIDs = []WorktreeID{"main.lock.tmp.evil", "main.lock.tmp." + someNonce, "main.lock", "main.claim.00000000000000000009", ".doctor-1", "main.lock.aside." + someNonce}

// A repair of one worktree touches no file of another, whatever its id.
func TestMendTouchesNoOtherWorktree(t *testing.T) {
	d, s := mendable(t)
	for _, id := range evilIDs {
		k := NewKeeper(KeeperConfig{Store: d.Store(id)})
		g, err := k.Acquire(bg, Holder{Host: "h", User: "u", PID: 1, StartTime: 1})
		require.NoError(t, err, id)
		require.EqualValues(t, 1, g.Token)
		require.NoError(t, k.Close())
	}
	before := contents(t, d)
	for _, id := range append(evilIDs, s.id) {
		for _, force := range []bool{false, true} {
			m, err := d.Store(id).Repair(bg, later{SystemClock()}, DefaultPolicy(), force)
			require.NoError(t, err)
			require.Empty(t, m, "%s: nothing is wrong", id)
		}
	}
	require.Equal(t, before, contents(t, d))
	for _, id := range evilIDs {
		k := NewKeeper(KeeperConfig{Store: d.Store(id)})
		g, err := k.Acquire(bg, Holder{Host: "h", User: "u", PID: 1, StartTime: 1})
		require.NoError(t, err)
		require.EqualValues(t, 2, g.Token, "the tokens of %s go on", id)
		require.NoError(t, k.Close())
	}
}

// later is a clock by which every leftover is old and every lease is over.
type later struct{ Clock }

func (l later) Wall() time.Time { return l.Clock.Wall().Add(time.Hour) }

func contents(t *testing.T, d *Dir) map[string]string {
	t.Helper()
	names, err := d.names()
	require.NoError(t, err)
	out := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(d.Path(), name))
		require.NoError(t, err)
		out[name] = string(b)
	}
	return out
}

// A temporary name is removed if its content proves that it is a leftover. Otherwise the file is kept.
func TestATemporaryNameIsRemovedOnlyIfItIsALeftover(t *testing.T) {
	d, s := mendable(t)
	at := func(name string) string { return filepath.Join(d.Path(), name) }
	born := sample()
	born.HolderNonce = strings.Repeat("1", 32)
	whole, err := born.encode()
	require.NoError(t, err)
	other := sample()
	foreign, err := other.encode()
	require.NoError(t, err)

	for i, c := range []struct {
		what    string
		plant   func(name string) error
		removed bool
	}{
		{"empty", func(n string) error { return os.WriteFile(n, nil, 0o600) }, true},
		{"zeroes", func(n string) error { return os.WriteFile(n, make([]byte, RecordSize), 0o600) }, true},
		{"never linked", func(n string) error { return os.WriteFile(n, whole, 0o600) }, true},
		{"torn", func(n string) error { return os.WriteFile(n, whole[:len(whole)/4], 0o600) }, true},
		{"a claim's second name", func(n string) error { return os.Link(at(s.claimName(2)), n) }, true},
		{"somebody else's lock", func(n string) error { return os.WriteFile(n, foreign, 0o600) }, false},
		{"garbage", func(n string) error { return os.WriteFile(n, []byte("garbage"), 0o600) }, false},
		{"a link", func(n string) error { return os.Symlink("/etc/passwd", n) }, false},
		{"a directory", func(n string) error { return os.Mkdir(n, 0o700) }, false},
	} {
		nonce := strings.Repeat(string(rune('1'+i)), 32)
		name := at(s.tmpName(nonce))
		born.HolderNonce = nonce
		whole, err = born.encode()
		require.NoError(t, err)
		require.NoError(t, c.plant(name), c.what)
		kept, err := os.Lstat(name)
		require.NoError(t, err)
		require.Empty(t, repair(t, s, true), "%s: somebody may be at it just now", c.what)

		done, err := s.Repair(bg, later{SystemClock()}, DefaultPolicy(), false)
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
