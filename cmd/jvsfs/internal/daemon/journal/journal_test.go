package journal

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

func TestJournalKnowsWhoHoldsAndWhoIsOut(t *testing.T) {
	j := New(zap.NewNop())
	f := fence{quietFence{}, j, "main"}
	h := lease.Holder{PID: 7, StartTime: 8, Scope: "tree"}
	f.Open(lease.Grant{Token: 3, Holder: h, Record: record.Record{HolderNonce: "n", SessionID: "s"}, Deadline: 9})
	b := j.Entries().Held["main"]
	require.EqualValues(t, 3, b.Token)
	require.Equal(t, "n", b.Nonce)
	f.Close(lease.Loss{Kind: lease.LossExpired, Token: 3, Holder: h})
	require.Empty(t, j.Entries().Held)
	require.Len(t, j.Entries().Revoked["main"], 1)
	j.Admit("main", lease.Holder{PID: 9})
	require.Len(t, j.Entries().Revoked["main"], 1, "another one acquired")
	j.Admit("main", h)
	require.Empty(t, j.Entries().Revoked["main"])
	f.Close(lease.Loss{Kind: lease.LossReleased, Token: 3, Holder: h})
	require.Empty(t, j.Entries().Revoked["main"], "who gave it back in peace is not out")
}

// A holder that is stopped beyond its lease is out for the next daemon, unless it goes on before.
func TestJournalKnowsWhoGoesOnAfterAPause(t *testing.T) {
	j := New(zap.NewNop())
	f := fence{quietFence{}, j, "main"}
	h := lease.Holder{PID: 7, StartTime: 8, Scope: "tree"}
	f.Close(lease.Loss{Kind: lease.LossSuperseded, Token: 1, Holder: lease.Holder{PID: 9}})
	f.Open(lease.Grant{Token: 3, Since: 3, Holder: h})
	f.Close(lease.Loss{Kind: lease.LossPaused, Token: 3, Holder: h})
	before := j.Entries()
	require.Empty(t, before.Held)
	require.Equal(t, RevokedHolder{3, lease.LossExpired, h}, before.Revoked["main"][1], "a kind that daemons of every release know")
	f.Open(lease.Grant{Token: 4, Since: 3, Holder: h})
	require.EqualValues(t, 3, j.Entries().Held["main"].Since)
	require.Len(t, j.Entries().Revoked["main"], 1, "the other one is out still")
	require.Len(t, before.Revoked["main"], 2, "what was read before is not changed")
	f.Close(lease.Loss{Kind: lease.LossResumed, Token: 4, Since: 3, Holder: h})
	require.Len(t, j.Entries().Revoked["main"], 1)
}

// While a mount is being unmounted its name in the directory may become another mount's.
func TestJournalPauses(t *testing.T) {
	j := New(zap.NewNop())
	path := filepath.Join(t.TempDir(), "dev-0-1.leases")
	j.path = path
	hold := func(token lease.Token) {
		j.Change(func(f *File) { f.Held["main"] = lease.Saved{Token: token} })
	}
	hold(1)
	goOn := j.Pause()
	require.NoError(t, os.WriteFile(path, []byte("another's"), 0o600))
	hold(2)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "another's", string(text))
	goOn()
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), `"Token":2`, "nothing is forgotten if it stays mounted")
}

// Of what several daemons have left of one worktree the latest counts.
func TestJournalInheritsTheLatest(t *testing.T) {
	j := New(zap.NewNop())
	j.Restore(File{Held: map[lease.WorktreeID]lease.Saved{"main": {Token: 2, Boot: 20}}})
	j.Restore(File{Held: map[lease.WorktreeID]lease.Saved{"main": {Token: 1, Boot: 10}}})
	require.EqualValues(t, 2, j.Entries().Held["main"].Token)
}

// The leases of a daemon whose store was mounted again are lost to those who held them, as if they had run out.
func TestTheLeasesOfAJournalRunOut(t *testing.T) {
	was := RevokedHolder{Token: 3, Kind: lease.LossSuperseded, Holder: lease.Holder{PID: 3}}
	f := File{
		Held:    map[lease.WorktreeID]lease.Saved{"a": {Token: 7, Holder: lease.Holder{PID: 7}}, "b": {Token: 8, Holder: lease.Holder{PID: 8}}},
		Revoked: map[lease.WorktreeID][]RevokedHolder{"a": {was}},
	}
	out := f.Expired()
	require.Empty(t, out.Held)
	require.Equal(t, map[lease.WorktreeID][]RevokedHolder{
		"a": {was, {Token: 7, Kind: lease.LossExpired, Holder: lease.Holder{PID: 7}}}, "b": {{Token: 8, Kind: lease.LossExpired, Holder: lease.Holder{PID: 8}}},
	}, out.Revoked)
	require.Len(t, f.Held, 2, "it is another one")
	require.Len(t, f.Revoked["a"], 1)
	require.Empty(t, File{}.Expired().Revoked)
}

// quietFence is a fence that does nothing.
type quietFence struct{ lease.Fence }

func (quietFence) Open(lease.Grant) {}

func (quietFence) Close(lease.Loss) {}
