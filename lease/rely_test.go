package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Rules 10 and 17. Who relies on the fence agents of others does not look for a successor after each mutation. That needs a record which
// says that there is an agent, or others would take it over without one. A late mutation is still found: the fence asks for the deadline,
// which it does only if there is something to ask.
func TestWhoReliesOnAFenceDoesNotLook(t *testing.T) {
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
func TestNoRelianceOnARecordWithoutAnAgent(t *testing.T) {
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
func TestWhatDidNotReachTheStoreIsTold(t *testing.T) {
	a := newRig(t, testDir(t), newFakeClock())
	g := a.must(t, zoe)
	require.NoError(t, a.Late(LateWrite{Token: g.Token, Op: "Fsync", File: "/f", Failed: "input/output error", Unsynced: true}))
	last := a.log[len(a.log)-1]
	require.Equal(t, EventLateWrite, last.Kind)
	require.Equal(t, "what was written to /f under token 1 may not have reached the store: input/output error", last.Reason)
}
