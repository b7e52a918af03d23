package repair

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// A claim with a number above every token stops everybody. The error says what to do, and no token is lost.
func TestANumberOutOfBoundsStopsEverybodyUntilAPersonDecides(t *testing.T) {
	for _, name := range []string{"main.claim.00009007199254740992", "main.claim.13835058055282163712", "main.claim.18446744073709551615", "main.claim.99999999999999999999"} {
		d, s := mendable(t)
		require.NoError(t, os.WriteFile(filepath.Join(d.Path(), name), []byte("x"), 0o600))
		h, err := s.Head()
		require.NoError(t, err)
		require.Equal(t, lease.ClassRecordUnreadable, lease.ClassOf(h.Unreadable), "%v", h.Unreadable)
		require.ErrorContains(t, h.Unreadable, name)
		k := lease.NewKeeper(lease.KeeperConfig{Store: s})
		_, err = k.Acquire(context.Background(), lease.Holder{Host: "h", User: "ann", PID: 10, StartTime: 7})
		require.Equal(t, lease.ClassRecordUnreadable, lease.ClassOf(err), "%v", err)
		var refused *lease.Error
		require.ErrorAs(t, err, &refused)
		require.Contains(t, refused.Next, "doctor --repair --force")

		done := repaired(t, s, false)
		require.Len(t, done, 1)
		require.NotEmpty(t, done[0].Why)
		done = repaired(t, s, true)
		require.Len(t, done, 1)
		require.FileExists(t, done[0].Kept)
		g, err := k.Acquire(context.Background(), lease.Holder{Host: "h", User: "ann", PID: 10, StartTime: 7})
		require.NoError(t, err)
		require.EqualValues(t, 3, g.Token, "the tokens go on from the claim below")
		require.NoError(t, k.Close())
	}
}

// The next token is above a foreign view's, but such a view cannot use the tokens up.
func TestAForeignViewCannotUseUpTheTokens(t *testing.T) {
	for tok, readable := range map[record.Token]bool{record.MostForeign: true, record.MostForeign + 1: false, record.MostToken: false, record.MostToken + 1: false, 3 << 62: false} {
		d, s := mendable(t)
		r := anyRecord()
		r.FencingToken, r.Released = tok, true
		b, err := json.Marshal(r)
		require.NoError(t, err)
		view := filepath.Join(d.Path(), record.ViewFile("main"))
		_ = os.Remove(view) // there may be none
		require.NoError(t, os.WriteFile(view, b, 0o600))
		k := lease.NewKeeper(lease.KeeperConfig{Store: s})
		g, err := k.Acquire(context.Background(), lease.Holder{Host: "h", User: "ann", PID: 10, StartTime: 7})
		if readable {
			require.NoError(t, err)
			require.Equal(t, tok+1, g.Token)
			require.NoError(t, k.Close())
			continue
		}
		require.Equal(t, lease.ClassRecordUnreadable, lease.ClassOf(err), "%v", err)
		require.ErrorContains(t, err, "main.lock")
		done := repaired(t, s, false) // a claim is beside it, and is the authority
		require.Len(t, done, 1)
		require.FileExists(t, done[0].Kept)
		g, err = k.Acquire(context.Background(), lease.Holder{Host: "h", User: "ann", PID: 10, StartTime: 7})
		require.NoError(t, err)
		require.EqualValues(t, 3, g.Token)
		require.NoError(t, k.Close())
	}
}
