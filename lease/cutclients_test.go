package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
func TestWhoWaitsForItsTurnFindsItsClientCutOff(t *testing.T) {
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

func TestCutClients(t *testing.T) {
	c := new(CutClients)
	head := func(host, client string) Head {
		return Head{Record: &Record{HolderID: host + ":zoe:10:7", StoreClient: client}, uid: uint32(os.Geteuid())}
	}
	for n := range cutClientsMax + 1 {
		c.note(Victim{Holder: Holder{Host: "h1"}, Client: fmt.Sprint(n)})
	}
	require.False(t, c.has(head("h1", "0")), "the oldest is forgotten")
	require.True(t, c.has(head("h1", "1")))
	require.True(t, c.has(head("h1", fmt.Sprint(cutClientsMax))))
	require.False(t, c.has(head("h2", "1")), "another host's")
	forged := head("h1", "1")
	forged.uid++
	require.False(t, c.has(forged), "who can write into the directory of the records is not believed")
	require.Len(t, c.known, cutClientsMax)
}
