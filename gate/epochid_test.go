package gate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

// strangeTokens are numbers that once meant something else than a token.
var strangeTokens = []lease.Token{1, 1 << 60, 1<<63 | 1<<60, 1<<63 | 1<<61, 3 << 62, 1 << 63, 1<<63 | 1, ^lease.Token(0) - 1, ^lease.Token(0)}

// Whatever number a record has, the holder writes while it holds, and its handles do not
// afterwards. No number is another kind of epoch.
func TestNoTokenIsAnotherKindOfEpoch(t *testing.T) {
	for _, tok := range strangeTokens {
		for _, onFree := range []OnFree{DenyOnFree, AllowOnFree} {
			t.Run(fmt.Sprintf("%x/%s", uint64(tok), onFree), func(t *testing.T) {
				g, k, _ := newTestGuard(t, func(c *GuardConfig) { c.OnFree = onFree })
				if onFree == AllowOnFree {
					mustEnter(t, g, byUser(7)).End() // the first period without a lease
				}
				k.next = tok - 1
				require.Equal(t, tok, k.give(userHolder(7, "7")))
				p := mustEnter(t, g, byUser(7))
				p.End()
				require.Equal(t, tok, p.Epoch().Token())
				require.True(t, g.Current(p.Epoch()))
				mustEnter(t, g, write(p.Epoch())).End()

				k.lose(lease.LossReleased, tok, userHolder(7, "7"))
				require.False(t, g.Current(p.Epoch()))
				mustRefuse(t, g, write(p.Epoch()), reasonStaleHandle)
				k.next = 0 // a later holder's number
				k.give(userHolder(8, "8"))
				if tok != 1 {
					mustRefuse(t, g, write(p.Epoch()), reasonStaleHandle)
				}
			})
		}
	}
}

func TestEpochsOfDifferentKindsDiffer(t *testing.T) {
	all := []Epoch{NoEpoch, sharedEpoch, observedEpoch, ByPlace, Stale}
	for _, tok := range strangeTokens {
		all = append(all, EpochOf(tok), freeEpochOf(uint64(tok)))
	}
	seen := map[Epoch]bool{}
	for _, e := range all {
		require.False(t, seen[e], "%+v", e)
		seen[e] = true
	}
	for _, e := range []Epoch{NoEpoch, sharedEpoch, observedEpoch, ByPlace, Stale, freeEpochOf(9)} {
		require.Zero(t, e.Token())
	}
}

// Disowned handles, and those without a kind, are refused in every mode of the worktree.
func TestAStaleEpochIsRefusedEverywhere(t *testing.T) {
	for _, mode := range []Mode{Exclusive, Shared} {
		for _, onFree := range []OnFree{DenyOnFree, AllowOnFree} {
			g, _, _ := newTestGuard(t, func(c *GuardConfig) { c.Mode, c.OnFree = mode, onFree })
			mustRefuse(t, g, write(Stale), reasonStaleHandle)
			require.False(t, g.Current(Stale))
			require.False(t, g.Current(NoEpoch))
		}
	}
}
