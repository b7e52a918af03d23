package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Rules 10 and 17. Who relies on the fence agents of others does not look for a successor after each mutation. That needs a record which
// says that there is an agent, or others would take it over without one. A late mutation is still found: the fence asks for the deadline,
// which it does only if there is something to ask.
func TestRelianceOnAFenceLooksForNoSuccessor(t *testing.T) {
	agent := &CutOff{Cut: (&fakeAgent{}).cut}
	for name, x := range map[string]struct {
		tier   tier
		relies bool
		at     *CutOff // when the lease is taken
		looks  bool
	}{
		"by default":                  {tierRemote, false, agent, true},
		"with an agent":               {tierRemote, true, agent, false},
		"without an agent":            {tierRemote, true, &CutOff{}, true},
		"without a word of the agent": {tierRemote, true, nil, true},
	} {
		d, c, looks := testDir(t), newFakeClock(), 0
		d.tier = x.tier
		a := newRig(t, d, c, func(k *KeeperConfig) {
			k.CutOff, k.RelyOnFence, k.Looked = x.at, x.relies, func(time.Duration) { looks++ }
		})
		g := a.must(t, zoe)
		require.NotNil(t, g.Late, "%s: the deadline is asked for in any case", name)
		require.NoError(t, g.Late(), name)
		require.Equal(t, x.looks, looks == 1, name)
	}
	d := testDir(t) // of one kernel
	require.Nil(t, newRig(t, d, newFakeClock(), func(k *KeeperConfig) { k.CutOff, k.RelyOnFence = agent, true }).must(t, zoe).Late)
}

// A daemon that relies on the fence does not go on with a lease that others may take over without an agent.
func TestARecordWithoutAnAgentIsNotReliedOn(t *testing.T) {
	for _, had := range []bool{true, false} {
		d, c := testDir(t), newFakeClock()
		d.tier = tierRemote
		cut := &CutOff{Cut: (&fakeAgent{}).cut}
		a := newRig(t, d, c, func(k *KeeperConfig) {
			if had {
				k.CutOff = cut
			}
		})
		saved := Save(a.must(t, zoe), c)
		a.crash()
		b := newRig(t, d, c, func(k *KeeperConfig) { k.CutOff, k.RelyOnFence = cut, true })
		_, err := b.Adopt(bg, saved)
		if had {
			require.NoError(t, err)
			continue
		}
		requireClass(t, ClassLockConflict, err)
		require.ErrorContains(t, err, "does not say that its host has a fence agent")
	}
}

// What could not be brought to the store at the end of a lease is no late write, and is told as what it is.
func TestWritesThatDidNotReachTheStoreAreTold(t *testing.T) {
	a := newRig(t, testDir(t), newFakeClock())
	g := a.must(t, zoe)
	require.NoError(t, a.Late(LateWrite{Token: g.Token, Op: "Fsync", File: "/f", Failed: "input/output error", Unsynced: true}))
	last := a.log[len(a.log)-1]
	require.Equal(t, EventLateWrite, last.Kind)
	require.Equal(t, "what was written to /f under token 1 may not have reached the store: input/output error", last.Reason)
}

// Rule 17. What could not be brought to the store, and may get there yet, keeps the lease from being given back or away: it runs out, so that
// whoever takes it over cuts this host off first. What the store has refused does not.
func TestALeaseWhoseWritesMayReachTheStoreYetIsNotGivenBack(t *testing.T) {
	agent := &CutOff{Cut: (&fakeAgent{}).cut}
	for name, x := range map[string]struct {
		relies, unsure bool
		keeps          bool
	}{
		"it may get there":         {true, true, true},
		"the store has refused it": {true, false, false},
		"nobody is relied on":      {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, c := testDir(t), newFakeClock()
			d.tier = oneClock{}
			a := newRig(t, d, c, func(k *KeeperConfig) {
				k.CutOff, k.RelyOnFence = agent, x.relies
				k.Pause = func(point string) {
					if point == "offer.before_write" {
						c.advance(time.Hour) // an offer would end at once
					}
				}
			})
			g := a.must(t, zoe)
			a.fence.onClose = func(Loss) { // the end of a lease syncs
				require.NoError(t, a.Late(LateWrite{Token: g.Token, Op: "Fsync", File: "/f", Failed: "input/output error", Unsynced: true, Unsure: x.unsure}))
				a.fence.onClose = nil
			}
			err := a.Release(bg, LossReleased)
			h, _ := a.Observe()
			require.Equal(t, !x.keeps, h.Record.Released)
			if !x.keeps {
				require.NoError(t, err)
				return
			}
			requireClass(t, ClassStoreFailed, err)
			require.ErrorContains(t, err, "whoever takes it over cuts this host off")
			require.Contains(t, a.log[len(a.log)-1].Reason, "token 1 runs out")

			g = a.must(t, zoe) // the same holder goes on
			_, err = a.OfferTo(bg, g.Token, "elsewhere", c.Wall().Add(time.Minute), nil)
			requireClass(t, ClassStoreFailed, err)
			require.True(t, a.fence.isOpen() && !a.fence.isFrozen(), "its writers go on")
			requireClass(t, ClassStoreFailed, a.Release(bg, LossReleased))
			h, _ = a.Observe()
			require.False(t, h.Record.Released, "nor a later lease")
		})
	}
}

// Nor is a claim whose epoch never opened: the lease before it has not been given back, and what was written under it may land.
func TestAClaimThatNeverOpenedIsNotGivenBackWhileWritesMayLand(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.tier = oneClock{}
	slow := false
	a := newRig(t, d, c, func(k *KeeperConfig) {
		k.CutOff, k.RelyOnFence = &CutOff{Cut: (&fakeAgent{}).cut}, true
		k.Pause = func(point string) {
			if slow && point == "claim.after_link" {
				c.advance(record.DefaultPolicy().LeaseDuration)
			}
		}
	})
	a.must(t, zoe)
	a.unsure.Store(true)
	require.Error(t, a.Release(bg, LossReleased))
	slow = true
	_, err := a.Acquire(bg, zoe)
	requireClass(t, ClassLockExpired, err)
	h, _ := a.Observe()
	require.Equal(t, Token(2), h.Token)
	require.False(t, h.Record.Released)
}
