package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/audit"
	"github.com/jvsfs/jvsfs/lease/record"
)

// An agent that records whom it cuts off, and answers as it is told.
type fakeAgent struct {
	mu      sync.Mutex
	victims []Victim
	fails   error
	during  func()
}

func (a *fakeAgent) cut(_ context.Context, v Victim) error {
	a.mu.Lock()
	a.victims = append(a.victims, v)
	fails, during := a.fails, a.during
	a.mu.Unlock()
	if during != nil {
		during()
	}
	return fails
}

func (a *fakeAgent) runs() int { a.mu.Lock(); defer a.mu.Unlock(); return len(a.victims) }

// Two hosts on one store: zoe's and tom's.
var (
	zoe = Holder{Host: "h1", User: "zoe", PID: 10, StartTime: 7, BootID: "b1", PIDNamespace: "pid:[1]", Scope: "tree"}
	tom = Holder{Host: "h2", User: "tom", PID: 20, StartTime: 7, BootID: "b2", PIDNamespace: "pid:[2]", Scope: "tree"}
)

func on(client string, agent *fakeAgent, host Holder) func(*KeeperConfig) {
	return func(k *KeeperConfig) {
		k.StoreClient = func() string { return client }
		if agent != nil {
			k.CutOff = &CutOff{Agent: "/sbin/fence_test", Host: host.Host, BootID: host.BootID, Cut: agent.cut}
		}
	}
}

// oneClock is a store of several hosts that stamps files by nobody's clock: the injected clocks are not the files'.
type oneClock struct{ remoteTier }

func (oneClock) storeHasOwnClock() bool { return false }

// silentHost is a store on which zoe's host holds and has gone silent, and the keeper of tom's host, which has watched for one lease, past
// skew and grace.
func silentHost(t *testing.T, agent *fakeAgent, change ...func(*KeeperConfig)) (taker *rig, c *fakeClock) {
	d, c := testDir(t), newFakeClock()
	d.tier = oneClock{}
	a := newRig(t, d, c, on("client.1", nil, zoe))
	a.must(t, zoe)
	a.crash()
	c.advance(4 * time.Second)
	b := newRig(t, d, c, append([]func(*KeeperConfig){on("client.2", agent, tom)}, change...)...)
	b.Observe()
	c.advance(30*time.Second + time.Millisecond)
	return b, c
}

// Rule 17. The agent has succeeded before the gate is asked for; the takeover is clean then, and audited before and after.
func TestAHostIsCutOffBeforeItsLeaseIsTakenOver(t *testing.T) {
	agent := &fakeAgent{}
	var order []string
	b, _ := silentHost(t, agent, func(k *KeeperConfig) {
		k.Pause = func(point string) {
			if point == "cut.before_agent" || point == "cut.after_agent" || point == "acquire.before_gate" {
				order = append(order, point)
			}
		}
	})
	g, err := b.Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, Token(2), g.Token)
	require.Equal(t, []string{"cut.before_agent", "cut.after_agent", "acquire.before_gate"}, order)
	require.Equal(t, []string{"fence", "fenced", "steal"}, b.events())
	require.False(t, b.log[2].Unclean, "its host was cut off")
	require.True(t, b.log[2].Fenced)
	require.Contains(t, b.log[2].Reason, "cut off")
	require.Equal(t, "h1", b.log[0].From.Host)
	require.Len(t, agent.victims, 1)
	require.Equal(t, "client.1", agent.victims[0].Client)
	require.Equal(t, "h1", agent.victims[0].Holder.Host)
	require.Equal(t, Token(1), agent.victims[0].Token)
	require.Equal(t, "client.2", g.Record.StoreClient)
}

// Rule 17. A failure of the agent is no takeover; the next try comes after a pause that grows.
func TestAFailedFenceIsNoTakeover(t *testing.T) {
	agent := &fakeAgent{fails: errors.New("/sbin/fence_test ended with exit code 1: no such node")}
	b, c := silentHost(t, agent)
	_, err := b.Steal(bg, tom)
	requireClass(t, ClassLockConflict, err)
	require.ErrorContains(t, err, "exit code 1: no such node")
	require.Equal(t, []string{"fence", "fence_failed"}, b.events())
	h, j := b.Observe()
	require.Equal(t, Token(1), h.Token)
	require.Contains(t, j.Reason, "no such node")

	for try, pause := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
		require.Equal(t, try+1, agent.runs())
		c.advance(pause - time.Millisecond)
		_, err = b.Steal(bg, tom)
		require.ErrorContains(t, err, "asked again in")
		require.Equal(t, try+1, agent.runs(), "not before the pause is over")
		c.advance(2 * time.Millisecond)
		_, err = b.Steal(bg, tom)
		requireClass(t, ClassLockConflict, err)
	}
	agent.fails = nil
	c.advance(time.Minute)
	_, err = b.Steal(bg, tom)
	require.NoError(t, err)
}

// Rules 5, 6 and 17. No agent runs before expiry, skew and grace have passed and the record was watched for one lease. With an agent one
// lease is enough.
func TestNoHostIsCutOffTooEarly(t *testing.T) {
	d, c, agent := testDir(t), newFakeClock(), &fakeAgent{}
	d.tier = oneClock{}
	a := newRig(t, d, c, on("client.1", nil, zoe))
	a.must(t, zoe)
	a.crash()
	early := newRig(t, d, c, on("client.2", agent, tom))
	early.Observe()
	c.advance(33 * time.Second)
	_, err := early.Steal(bg, tom)
	requireClass(t, ClassLockConflict, err)
	late := newRig(t, d, c, on("client.2", agent, tom))
	late.Observe()
	c.advance(30*time.Second - time.Millisecond) // long after grace, but it has not watched for one lease
	_, err = late.Steal(bg, tom)
	requireClass(t, ClassLockConflict, err)
	require.Zero(t, agent.runs())
	c.advance(2 * time.Millisecond)
	_, err = late.Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, 1, agent.runs())
}

// Rule 17. Without an agent the whole silence is waited for, as ever.
func TestWithoutAnAgentTheWholeSilenceIsWaitedFor(t *testing.T) {
	b, c := silentHost(t, nil)
	_, err := b.Steal(bg, tom)
	requireClass(t, ClassLockConflict, err)
	c.advance(3 * time.Second)
	_, err = b.Steal(bg, tom)
	require.NoError(t, err)
	require.True(t, b.log[0].Unclean)
	require.False(t, b.log[0].Fenced)
}

// Rule 17. A record says that its host has an agent. Whoever has none, or may not run it, takes nothing over from there, however long it
// watches; a renewal and a handover say it, too.
func TestAHostWithoutAnAgentTakesNothingFromAHostThatHasOne(t *testing.T) {
	for name, x := range map[string]struct {
		with, here *CutOff
		why        string
	}{
		"none here":              {&CutOff{Cut: (&fakeAgent{}).cut}, &CutOff{}, "its host has a fence agent configured, and here none is"},
		"it may not run here":    {&CutOff{Cut: (&fakeAgent{}).cut}, &CutOff{Cannot: errors.New("fence needs root")}, "fence needs root"},
		"nor for any other host": {&CutOff{}, &CutOff{Cannot: errors.New("fence needs root")}, "fence needs root"},
		"none anywhere":          {&CutOff{}, &CutOff{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d, c := testDir(t), newFakeClock()
			d.tier = oneClock{}
			of := func(cut *CutOff, h Holder) func(*KeeperConfig) {
				return func(k *KeeperConfig) {
					own := *cut
					own.Host, own.BootID = h.Host, h.BootID
					k.CutOff = &own
				}
			}
			a := newRig(t, d, c, of(x.with, zoe))
			a.must(t, zoe)
			require.Equal(t, x.with.Cut != nil, a.own().rec.Fence)
			a.crash()
			b := newRig(t, d, c, of(x.here, tom))
			b.Observe()
			c.advance(time.Hour)
			_, j := b.Observe()
			require.Equal(t, Stealable, j.State)
			require.Contains(t, j.Reason, x.why)
			for range 2 {
				g, err := b.Steal(bg, tom)
				if x.why == "" {
					require.NoError(t, err)
					require.False(t, g.Record.Fence)
					return
				}
				requireClass(t, ClassLockConflict, err)
				require.ErrorContains(t, err, x.why)
				c.advance(time.Hour)
			}
			require.Empty(t, b.events())
			h, _ := b.Observe()
			require.Equal(t, Token(1), h.Token)
		})
	}
}

// Rule 17 is for the unreleased leases of other hosts alone. (On one kernel the gate waits the holder out.)
func TestAnAgentCutsOffOnlyHoldersOfUnreleasedLeasesOfOtherHosts(t *testing.T) {
	other := func(change func(*record.Record)) func(*record.Record) { return change }
	for name, x := range map[string]struct {
		of   Holder
		tier tier
		edit func(*record.Record)
		runs int
		ok   bool
	}{
		"another host":                {zoe, oneClock{}, nil, 1, true},
		"another host, no boot id":    {Holder{Host: "h1", User: "z", PID: 1, Scope: "tree"}, oneClock{}, nil, 1, true},
		"another host, old record":    {zoe, oneClock{}, other(func(r *record.Record) { r.StoreClient = "" }), 1, true},
		"a released lease":            {zoe, oneClock{}, other(func(r *record.Record) { r.Released = true }), 0, true},
		"the same kernel":             {Holder{Host: "h1", User: "z", PID: 1, BootID: "b2", Scope: "tree"}, oneClock{}, nil, 0, true},
		"this host before a restart":  {Holder{Host: "h2", User: "z", PID: 1, BootID: "b0", Scope: "tree"}, oneClock{}, nil, 0, true},
		"a store of this kernel":      {zoe, tierA, nil, 0, true},
		"the client of this host":     {zoe, oneClock{}, other(func(r *record.Record) { r.StoreClient = "client.2" }), 0, false},
		"the client of another host":  {zoe, oneClock{}, other(func(r *record.Record) { r.StoreClient = "client.3" }), 1, true},
		"an offer to somebody else":   {zoe, oneClock{}, other(func(r *record.Record) { r.OfferedTo = "h9" }), 1, true},
		"an offer to this very host":  {zoe, oneClock{}, other(func(r *record.Record) { r.OfferedTo = "h2" }), 1, true}, // it is over
		"a name that only looks like": {Holder{Host: "h2.x", User: "z", PID: 1, BootID: "b0", Scope: "tree"}, oneClock{}, nil, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, c, agent := testDir(t), newFakeClock(), &fakeAgent{}
			d.tier = x.tier
			a := newRig(t, d, c, on("client.1", nil, x.of))
			a.must(t, x.of)
			if x.edit != nil {
				rec := a.own().rec.Clone()
				x.edit(rec)
				require.NoError(t, a.own().rewrite(rec))
			}
			a.crash()
			b := newRig(t, d, c, on("client.2", agent, tom))
			b.Observe()
			c.advance(time.Minute)
			_, err := b.Steal(bg, tom)
			require.Equal(t, x.ok, err == nil, "%v", err)
			require.Equal(t, x.runs, agent.runs())
		})
	}
}

// Rule 17. Who may write into the lock directory, and is not the mount's user, has nobody cut off.
func TestARecordOfAnotherUserCutsNobodyOff(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give a file away")
	}
	agent := &fakeAgent{}
	b, _ := silentHost(t, agent)
	require.NoError(t, os.Chown(b.store.display(b.store.claimName(1)), 12345, -1))
	_, err := b.Steal(bg, tom)
	require.ErrorContains(t, err, "belongs to user 12345")
	require.Zero(t, agent.runs())
}

// Rule 17. The head is looked at once more under the gate: who renewed after all keeps the lease, and another's host is not the one that
// was cut off.
func TestTheHeadIsLookedAtAgainAfterTheCut(t *testing.T) {
	agent := &fakeAgent{}
	b, c := silentHost(t, agent)
	agent.during = func() {
		agent.during = nil
		h, err := b.store.Head()
		require.NoError(t, err)
		rec := h.Record.Clone()
		rec.LastRenewedAt, rec.LeaseExpiresAt = c.Wall().UTC(), c.Wall().Add(30*time.Second).UTC()
		text, err := rec.Encode()
		require.NoError(t, err)
		b.store.dir.put(t, b.store.claimName(1), string(text))
	}
	_, err := b.Steal(bg, tom)
	requireClass(t, ClassLockConflict, err)
	require.Equal(t, 1, agent.runs())
	h, _ := b.Observe()
	require.Equal(t, Token(1), h.Token)
}

// Rule 17. Agents for other worktrees may run first. A host that is there again when they have ended is not cut off.
func TestTheHeadIsLookedAtAgainBeforeTheAgent(t *testing.T) {
	agent, turns := &fakeAgent{}, 0
	var change func()
	b, c := silentHost(t, agent, func(k *KeeperConfig) {
		k.CutOff.Turn = func(context.Context) (func(), error) { change(); return func() { turns++ }, nil }
	})
	change = func() {
		h, err := b.store.Head()
		require.NoError(t, err)
		rec := h.Record.Clone()
		rec.LastRenewedAt, rec.LeaseExpiresAt = c.Wall().UTC(), c.Wall().Add(30*time.Second).UTC()
		text, err := rec.Encode()
		require.NoError(t, err)
		b.store.dir.put(t, b.store.claimName(1), string(text))
	}
	_, err := b.Steal(bg, tom)
	requireClass(t, ClassLockConflict, err)
	require.ErrorContains(t, err, "its record has changed meanwhile")
	require.Zero(t, agent.runs())
	require.Empty(t, b.events())
	require.Equal(t, 1, turns, "the turn is given back")
}

// Rule 17. A run may end between a taker's look for one and its own: it counts for that taker, too.
func TestARunThatHasJustEndedIsNotRepeated(t *testing.T) {
	agent := &fakeAgent{}
	b, _ := silentHost(t, agent)
	h, j := b.Observe()
	require.Equal(t, Stealable, j.State)
	for range 2 {
		require.NoError(t, b.cuts.off(bg, &uncut{h}, tom))
	}
	require.Equal(t, 1, agent.runs())
}

// What went wrong with one host is not said of another.
func TestAFailureToCutOffOneHostIsNotSaidOfAnother(t *testing.T) {
	agent := &fakeAgent{fails: errors.New("no such node")}
	b, _ := silentHost(t, agent)
	_, err := b.Steal(bg, tom)
	require.ErrorContains(t, err, "no such node")
	h, j := b.Observe()
	require.Equal(t, Stealable, j.State)
	require.Contains(t, j.Reason, "no such node")
	h.Sum[0] ^= 1
	j = b.cuts.told(h, Judgement{State: Stealable, Reason: "it is over"})
	require.Contains(t, j.Reason, "it is over")
	require.NotContains(t, j.Reason, "no such node")
}

// Rule 17. What was cut off counts for one lease: then the agent must say it again.
func TestACutOfAClientCountsForTheTimeOfOneLease(t *testing.T) {
	agent := &fakeAgent{}
	b, c := silentHost(t, agent)
	blocker := newGateLock(b.store)
	defer blocker.close()
	require.NoError(t, blocker.exclusive(bg, time.Second))
	for _, passes := range []time.Duration{0, 30*time.Second - time.Millisecond, time.Millisecond} {
		c.advance(passes)
		_, err := b.Steal(bg, tom)
		requireClass(t, ClassLockConflict, err)
	}
	require.Equal(t, 2, agent.runs())
	blocker.unlock()
	_, err := b.Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, 2, agent.runs())
}

// Rules 12 and 17. No event, no fence.
func TestAFenceIsAuditedBeforeItHappens(t *testing.T) {
	agent := &fakeAgent{}
	b, _ := silentHost(t, agent)
	b.cfg.Audit = func(Event) error { return errors.New("the disk is full") }
	_, err := b.Steal(bg, tom)
	requireClass(t, ClassAuditFailed, err)
	require.Zero(t, agent.runs())
}

// Rule 17. A host that froze in the middle of an event keeps the chain locked until it is cut off. Its agent runs all the same, and counts
// when that is in the chain.
func TestAHostThatKeepsTheChainLockedIsCutOff(t *testing.T) {
	agent, locked := &fakeAgent{}, true
	b, c := silentHost(t, agent)
	former := b.cfg.Audit
	b.cfg.Audit = func(e Event) error {
		if locked {
			return &Error{Class: ClassAuditFailed, Err: fmt.Errorf("%w: %w", audit.ErrLocked, context.DeadlineExceeded)}
		}
		return former(e)
	}
	_, err := b.Steal(bg, tom)
	requireClass(t, ClassAuditFailed, err)
	require.ErrorContains(t, err, "does not count")
	require.Equal(t, 1, agent.runs())
	h, _ := b.Observe()
	require.Equal(t, Token(1), h.Token, "nobody takes over what is not audited")

	agent.during = func() { locked = false } // the store drops the lock
	c.advance(cutPause)
	g, err := b.Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, Token(2), g.Token)
	require.Equal(t, []string{"fence", "fenced", "steal"}, b.events())
	require.Contains(t, b.log[0].Reason, "told when it had run")
}

// Rule 17. A writer does not wait for a slow agent, and nobody is in the agent's way: who asks on purpose joins the run.
func TestAWriterDoesNotWaitForTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, goOn := &fakeAgent{}, make(chan struct{})
		agent.during = func() { <-goOn }
		var running sync.WaitGroup
		b, _ := silentHost(t, agent, func(k *KeeperConfig) {
			k.CutOff.Start = func(f func(context.Context)) { running.Go(func() { f(bg) }) }
		})
		writer := tom
		writer.Auto = true
		for range 2 {
			_, err := b.Acquire(bg, writer)
			requireClass(t, ClassLockConflict, err)
			require.ErrorContains(t, err, "is being cut off the store by /sbin/fence_test")
		}
		_, j := b.Observe()
		require.Equal(t, Stealable, j.State)
		require.Contains(t, j.Reason, "being cut off")
		b.tick() // Run is not in the way
		got := make(chan error)
		go func() { _, err := b.Steal(bg, tom); got <- err }()
		synctest.Wait()
		select {
		case err := <-got:
			t.Fatalf("it did not wait for the agent: %v", err)
		default:
		}
		close(goOn)
		require.NoError(t, <-got)
		running.Wait()
		require.Equal(t, 1, agent.runs())
	})
}

// Rules 7 and 17. Where the store's stamps contradict the record, the taker's clock may be wrong: no agent runs before one more silence.
func TestNoAgentRunsWhileTheClocksContradict(t *testing.T) {
	agent := &fakeAgent{}
	b, c := silentHost(t, agent)
	b.store.dir.tier = tierRemote
	_, err := b.Steal(bg, tom) // the files have the stamps of another clock
	requireClass(t, ClassClockSkewExceeded, err)
	require.Zero(t, agent.runs())
	c.advance(33 * time.Second)
	_, err = b.Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, 1, agent.runs())
}

// A renewal says which client the holder's host has now: one that was evicted comes back as another.
func TestARenewalNamesTheClient(t *testing.T) {
	d, c, name := testDir(t), newFakeClock(), "client.1"
	a := newRig(t, d, c, func(k *KeeperConfig) { k.StoreClient = func() string { return name } })
	require.Equal(t, "client.1", a.must(t, zoe).Record.StoreClient)
	for _, x := range []struct{ now, says string }{{"client.9", "client.9"}, {"", "client.9"}, {"no\nname", "client.9"}} {
		name = x.now
		c.advance(10 * time.Second)
		a.tick()
		h, _ := a.Observe()
		require.Equal(t, x.says, h.Record.StoreClient)
	}
}

// Rule 17. An agent may come or go with a restart of the daemon, which goes on under its token.
func TestARenewalSaysWhetherItsHostHasAnAgent(t *testing.T) {
	d, c, cut := testDir(t), newFakeClock(), &CutOff{}
	a := newRig(t, d, c, func(k *KeeperConfig) { k.CutOff = cut })
	require.False(t, a.must(t, zoe).Record.Fence)
	for _, has := range []bool{true, false} {
		if cut.Cut = nil; has {
			cut.Cut = (&fakeAgent{}).cut
		}
		c.advance(10 * time.Second)
		a.tick()
		h, _ := a.Observe()
		require.Equal(t, has, h.Record.Fence)
	}
}

// Rule 17. Who gets the lease on the same host by a handover says it, too.
func TestAHandoverSaysThatItsHostHasAnAgent(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c, func(k *KeeperConfig) { k.CutOff = &CutOff{Cut: (&fakeAgent{}).cut} })
	g := a.must(t, zoe)
	next, err := a.Handover(bg, g.Token, tom, nil)
	require.NoError(t, err)
	require.True(t, next.Record.Fence)
}

// Rule 17. The gate may let a taker wait: what was cut off must still count when it has it.
func TestACutOfAClientMustStillCountUnderTheGate(t *testing.T) {
	agent := &fakeAgent{}
	b, _ := silentHost(t, agent, func(k *KeeperConfig) {
		k.Pause = func(point string) {
			if point == "acquire.before_gate" && agent.runs() == 1 {
				k.Clock.(*fakeClock).advance(30 * time.Second)
			}
		}
	})
	_, err := b.Steal(bg, tom)
	require.ErrorContains(t, err, "was not cut off the store")
	_, err = b.Steal(bg, tom)
	require.NoError(t, err)
	require.Equal(t, 2, agent.runs())
}

// Rule 17. A foreign tool is not fenced by anybody.
func TestAForeignToolIsNotCutOff(t *testing.T) {
	d, c, agent := testDir(t), newFakeClock(), &fakeAgent{}
	d.tier = oneClock{}
	d.put(t, "main.lock", rivalRecord(t, 41, func(r *record.Record) {
		r.LastRenewedAt, r.LeaseExpiresAt = c.Wall().Add(-time.Hour), c.Wall().Add(-time.Hour)
	}))
	b := newRig(t, d, c, on("client.2", agent, tom))
	b.Observe()
	c.advance(33*time.Second + time.Millisecond)
	_, err := b.Steal(bg, tom)
	require.NoError(t, err)
	require.Zero(t, agent.runs())
	require.True(t, b.log[0].Unclean)
}

// Rule 17. While the mount ends no agent runs, and nobody waits for one.
func TestNoAgentRunsWhileTheMountEnds(t *testing.T) {
	agent := &fakeAgent{}
	b, _ := silentHost(t, agent, func(k *KeeperConfig) {
		k.CutOff.Start = func(f func(context.Context)) {
			ctx, end := context.WithCancelCause(bg)
			end(errors.New("the mount ends"))
			f(ctx)
		}
	})
	_, err := b.Steal(bg, tom)
	requireClass(t, ClassLockConflict, err)
	require.ErrorContains(t, err, "the mount ends")
	require.Zero(t, agent.runs())
	require.Empty(t, b.events())
}
