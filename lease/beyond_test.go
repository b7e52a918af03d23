package lease

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// A claim with a number above every token stops everybody. The error says what to do, and no token is lost.
func TestANumberOutOfBoundsStopsEverybodyUntilAPersonDecides(t *testing.T) {
	for _, name := range []string{"main.claim.00009007199254740992", "main.claim.13835058055282163712", "main.claim.18446744073709551615", "main.claim.99999999999999999999"} {
		d, s := mendable(t)
		d.put(t, name, "x")
		h, err := s.Head()
		require.NoError(t, err)
		requireClass(t, ClassRecordUnreadable, h.Unreadable)
		require.ErrorContains(t, h.Unreadable, name)
		k := NewKeeper(KeeperConfig{Store: s})
		_, err = k.Acquire(bg, ann)
		requireClass(t, ClassRecordUnreadable, err)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Next, "doctor --repair --force")

		done := repair(t, s, false)
		require.Len(t, done, 1)
		require.NotEmpty(t, done[0].Why)
		done = repair(t, s, true)
		require.Len(t, done, 1)
		require.FileExists(t, done[0].Kept)
		g, err := k.Acquire(bg, ann)
		require.NoError(t, err)
		require.EqualValues(t, 3, g.Token, "the tokens go on from the claim below")
		require.NoError(t, k.Close())
	}
}

// The next token is above a foreign view's, but such a view cannot use the tokens up.
func TestAForeignViewCannotUseUpTheTokens(t *testing.T) {
	for tok, readable := range map[Token]bool{record.MostForeign: true, record.MostForeign + 1: false, record.MostToken: false, record.MostToken + 1: false, 3 << 62: false} {
		d, s := mendable(t)
		r := anyRecord()
		r.FencingToken, r.Released = tok, true
		b, err := json.Marshal(r)
		require.NoError(t, err)
		_ = unix.Unlinkat(d.fd, s.viewName(), 0) // there may be none
		d.put(t, s.viewName(), string(b))
		k := NewKeeper(KeeperConfig{Store: s})
		g, err := k.Acquire(bg, ann)
		if readable {
			require.NoError(t, err)
			require.Equal(t, tok+1, g.Token)
			require.NoError(t, k.Close())
			continue
		}
		requireClass(t, ClassRecordUnreadable, err)
		require.ErrorContains(t, err, "main.lock")
		done := repair(t, s, false) // a claim is beside it, and is the authority
		require.Len(t, done, 1)
		require.FileExists(t, done[0].Kept)
		g, err = k.Acquire(bg, ann)
		require.NoError(t, err)
		require.EqualValues(t, 3, g.Token)
		require.NoError(t, k.Close())
	}
}

// While somebody holds, such a view is no successor: the holder goes on and puts its own view back.
func TestAForeignViewOutOfBoundsRobsNobody(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	g := a.must(t, ann)
	r := anyRecord()
	r.FencingToken = record.MostForeign + 1
	b, err := json.Marshal(r)
	require.NoError(t, err)
	s := d.Store("main")
	require.NoError(t, unix.Unlinkat(d.fd, s.viewName(), 0))
	d.put(t, s.viewName(), string(b))
	found, err := a.own().successorAnywhere()
	require.NoError(t, err)
	require.False(t, found)
	require.EqualValues(t, 1, g.Token)
}
