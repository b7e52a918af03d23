package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

// silentLeases are two leases on which zoe's host has gone silent, under clients of these names, and tom's keepers of them, which have watched
// for one lease, past skew and grace.
func silentLeases(t *testing.T, agent *fakeAgent, clients *CutClients, names [2]string) (takers [2]*rig) {
	t.Helper()
	d, c := testDir(t), newFakeClock()
	d.tier = oneClock{}
	worktree := func(n int) func(*KeeperConfig) {
		return func(k *KeeperConfig) { k.Store = d.Store(WorktreeID(fmt.Sprintf("w%d", n))) }
	}
	for n, name := range names {
		a := newRig(t, d, c, on(name, nil, zoe), worktree(n))
		a.must(t, zoe)
		a.crash()
	}
	c.advance(4 * time.Second)
	for n := range takers {
		takers[n] = newRig(t, d, c, on("client.2", agent, tom), worktree(n), func(k *KeeperConfig) { k.CutOff.Clients = clients })
		takers[n].Observe()
	}
	c.advance(30*time.Second + time.Millisecond)
	return takers
}

// Rule 17. A client that was cut off for one lease writes under no other: the agent would cut off whoever came after it.
func TestAClientIsCutOffOnceForAllItsLeases(t *testing.T) {
	agent := &fakeAgent{}
	b := silentLeases(t, agent, new(CutClients), [2]string{"client.1", "client.1"})
	for _, r := range b {
		_, err := r.Steal(bg, tom)
		require.NoError(t, err)
		require.Equal(t, 1, agent.runs())
	}
	require.Equal(t, []string{"fence", "fenced", "steal"}, b[0].events())
	require.Equal(t, []string{"steal"}, b[1].events())
	require.True(t, b[1].log[0].Fenced)
	require.False(t, b[1].log[0].Unclean)
}

// Rule 17. Agents wait for each other, and find out in time that one has run for their client.
func TestAnAgentThatWaitedFindsItsClientCutOff(t *testing.T) {
	agent := &fakeAgent{}
	b := silentLeases(t, agent, new(CutClients), [2]string{"client.1", "client.1"})
	turns := 0
	b[1].cfg.CutOff.Turn = func(context.Context) (func(), error) {
		_, err := b[0].Steal(bg, tom)
		return func() { turns++ }, err
	}
	_, err := b[1].Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, 1, agent.runs())
	require.Equal(t, 1, turns)
	require.Equal(t, []string{"steal"}, b[1].events())
}

// Rule 17. A run for another lease may end between a taker's look and its own run.
func TestARunForAnotherLeaseThatHasJustEndedIsNotRepeated(t *testing.T) {
	agent := &fakeAgent{}
	b := silentLeases(t, agent, new(CutClients), [2]string{"client.1", "client.1"})
	h, j := b[1].Observe()
	require.Equal(t, Stealable, j.State)
	_, err := b[0].Steal(bg, tom)
	require.NoError(t, err)
	require.NoError(t, b[1].cuts.off(bg, &uncut{h}, tom))
	require.Equal(t, 1, agent.runs())
	require.Contains(t, b[1].cuts.told(h, j).Reason, "cut off the store for another lease")
}

func TestTheAgentRunsForEachClient(t *testing.T) {
	for what, row := range map[string]struct {
		names   [2]string
		clients *CutClients
	}{
		"another client of the host": {[2]string{"client.1", "client.3"}, new(CutClients)},
		"clients without a name":     {[2]string{"", ""}, new(CutClients)},
		"an agent that frees a gate": {[2]string{"client.1", "client.1"}, nil},
	} {
		agent := &fakeAgent{}
		b := silentLeases(t, agent, row.clients, row.names)
		for n, r := range b {
			_, err := r.Steal(bg, tom)
			require.NoError(t, err, what)
			require.Equal(t, n+1, agent.runs(), what)
		}
	}
}

// Rule 17. Who lets a client in that was cut off, and lives, has broken a promise. What that client takes afterwards is fenced all the same.
func TestAClientThatIsThereAgainIsCutOffAgain(t *testing.T) {
	agent, clients := &fakeAgent{}, new(CutClients)
	b := silentLeases(t, agent, clients, [2]string{"client.1", "client.3"})
	g, err := b[0].Steal(bg, tom)
	require.NoError(t, err)
	require.NoError(t, b[0].ReleaseToken(bg, g.Token, LossReleased))
	d, c := b[0].store.dir, b[0].clock
	c.advance(10 * time.Second)
	a := newRig(t, d, c, on("client.1", nil, zoe), func(k *KeeperConfig) { k.Store = d.Store("w0") })
	a.must(t, zoe)
	a.crash()
	b[0].Observe()
	c.advance(4 * time.Second)
	b[0].Observe()
	c.advance(30*time.Second + time.Millisecond)
	_, err = b[0].Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, 2, agent.runs())
}

// Rule 17. An agent that failed has cut nobody off.
func TestAFailedFenceCutsOffNoClient(t *testing.T) {
	agent := &fakeAgent{fails: errors.New("no such node")}
	b := silentLeases(t, agent, new(CutClients), [2]string{"client.1", "client.1"})
	for n, r := range b {
		_, err := r.Steal(bg, tom)
		requireClass(t, ClassLockConflict, err)
		require.Equal(t, n+1, agent.runs())
	}
}

func TestClientsThatWereCutOffAreRememberedInABoundedNumber(t *testing.T) {
	c, at, skew := new(CutClients), time.Unix(1000, 0), 2*time.Second
	head := func(host, client string) Head {
		return Head{Record: &record.Record{HolderID: host + ":zoe:10:7", StoreClient: client, LastRenewedAt: at.Add(-skew - 1)}, uid: uint32(os.Geteuid())}
	}
	for n := range cutClientsMax + 1 {
		c.note(Victim{Holder: Holder{Host: "h1"}, Client: fmt.Sprint(n)}, at)
	}
	require.False(t, c.has(head("h1", "0"), skew), "the oldest is forgotten")
	require.True(t, c.has(head("h1", "1"), skew))
	require.True(t, c.has(head("h1", fmt.Sprint(cutClientsMax)), skew))
	require.False(t, c.has(head("h2", "1"), skew), "another host's")
	forged := head("h1", "1")
	forged.uid++
	require.False(t, c.has(forged, skew), "who can write into the directory of the records is not believed")
	require.Len(t, c.known, cutClientsMax)
	require.Len(t, c.order, cutClientsMax)

	late := head("h1", "1")
	late.Record.LastRenewedAt = at.Add(-skew)
	require.False(t, c.has(late, skew), "it may have been renewed when the agent ran")
	c.note(Victim{Holder: Holder{Host: "h1"}, Client: "1"}, at.Add(1))
	require.True(t, c.has(late, skew), "it was cut off once more")
}
