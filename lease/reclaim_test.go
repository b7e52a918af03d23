package lease

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// daemonOfTom is tom's host in its next life.
var daemonOfTom = Holder{Host: "h2", User: "root", PID: 99, StartTime: 9, BootID: "b2", PIDNamespace: "pid:[2]", Scope: "tree"}

// leftBy is a store of several hosts on which a holder's daemon was killed, and the keeper of tom's host in its next life, which has seen
// the record.
func leftBy(t *testing.T, by Holder, agent *fakeAgent, change ...func(*KeeperConfig)) (k *rig, c *fakeClock, seen Head) {
	d, c := testDir(t), newFakeClock()
	d.tier = oneClock{}
	a := newRig(t, d, c, on("client.1", nil, by))
	a.must(t, by)
	a.crash()
	k = newRig(t, d, c, append([]func(*KeeperConfig){on("client.2", agent, tom)}, change...)...)
	seen, _ = k.Observe()
	return k, c, seen
}

// goSilent lets the time pass after which anybody may take the lease.
func goSilent(c *fakeClock) { c.advance(record.DefaultPolicy().Silence() + time.Millisecond) }

// Rule 18. The lease is taken over, with its event, and is free. No agent runs, and then there is nobody for whom another host would
// run one.
func TestALeftLeaseIsTakenBackAndIsFree(t *testing.T) {
	for name, by := range map[string]Holder{
		"of this kernel":            {Host: "another name", User: "z", PID: 10, BootID: "b2", Scope: "tree"},
		"of this host before":       {Host: "h2", User: "z", PID: 10, BootID: "b0", Scope: "tree"},
		"of this host, no boot id":  {Host: "h2", User: "z", PID: 10, Scope: "tree"},
		"by the same holder's name": tom,
	} {
		t.Run(name, func(t *testing.T) {
			agent := &fakeAgent{}
			k, c, seen := leftBy(t, by, agent)
			require.True(t, k.IsLeft(seen))
			goSilent(c)
			require.NoError(t, k.Reclaim(bg, daemonOfTom, seen))
			require.Equal(t, []string{"steal", "release"}, k.events())
			require.True(t, k.log[0].Unclean, "nobody was cut off, and the gate proves nothing")
			require.Equal(t, []LossKind{LossReleased}, k.fence.kinds())
			h, j := k.Observe()
			require.Equal(t, Free, j.State)
			require.Equal(t, Token(2), h.Token)
			require.False(t, k.IsLeft(h))
			past, err := k.Past(1, 2)
			require.NoError(t, err)
			require.Equal(t, PastTaken, past[0].End, "who lost it is seen to have lost it")

			other := newRig(t, k.store.dir, c, on("client.3", agent, zoe))
			other.must(t, zoe)
			require.Zero(t, agent.runs())
			require.Equal(t, []string{"acquire"}, other.events())
		})
	}
}

// Rule 18. What is not of this host, or can be taken by anybody at any time, is not taken back, however long it has been silent.
func TestNoOtherLeaseIsTakenBack(t *testing.T) {
	for name, x := range map[string]struct {
		by   Holder
		edit func(t *testing.T, k *rig)
	}{
		"of another host":            {zoe, nil},
		"of a name that looks like":  {Holder{Host: "h2.x", User: "z", PID: 1, BootID: "b0", Scope: "tree"}, nil},
		"on a store of this kernel":  {tom, func(_ *testing.T, k *rig) { k.store.dir.tier = tierA }},
		"that was released":          {tom, func(t *testing.T, k *rig) { require.NoError(t, k.Reclaim(bg, daemonOfTom, seenBy(k))) }},
		"of a keeper without a host": {tom, func(_ *testing.T, k *rig) { k.cfg.CutOff = nil }},
		"of a foreign tool": {tom, func(t *testing.T, k *rig) {
			require.NoError(t, unix.Unlinkat(k.store.dir.fd, "main.lock", 0))
			k.store.dir.put(t, "main.lock", rivalRecord(t, 41))
			h, _ := k.Observe()
			require.True(t, h.Foreign)
			k.cfg.CutOff.Host = record.ParseHolderID(h.Record.HolderID).Host
		}},
	} {
		t.Run(name, func(t *testing.T) {
			k, c, _ := leftBy(t, x.by, &fakeAgent{})
			goSilent(c)
			if x.edit != nil {
				x.edit(t, k)
			}
			told := len(k.events())
			h := seenBy(k)
			require.False(t, k.IsLeft(h))
			require.Error(t, k.Reclaim(bg, daemonOfTom, h))
			require.Len(t, k.events(), told)
			require.Equal(t, h.Token, seenBy(k).Token)
		})
	}
}

func seenBy(k *rig) Head {
	h, _ := k.Observe()
	return h
}

// Rules 4 to 7 and 18. Nothing is taken back before anybody might take it: not while its lease may last, not before it was watched for
// one silence, and not while somebody keeps its gate.
func TestALeftLeaseIsTakenBackNoSoonerThanByAnybody(t *testing.T) {
	k, c, seen := leftBy(t, tom, &fakeAgent{})
	requireClass(t, ClassLockConflict, k.Reclaim(bg, daemonOfTom, seen))
	late := newRig(t, k.store.dir, c, on("client.2", &fakeAgent{}, tom))
	c.advance(record.DefaultPolicy().Silence() - time.Millisecond)
	requireClass(t, ClassLockConflict, k.Reclaim(bg, daemonOfTom, seen))
	late.Observe()
	c.advance(2 * time.Millisecond)
	requireClass(t, ClassLockConflict, late.Reclaim(bg, daemonOfTom, seen))
	gate := newGateLock(k.store)
	require.NoError(t, gate.sharedWithin(bg, time.Second))
	requireClass(t, ClassLockConflict, k.Reclaim(bg, daemonOfTom, seen))
	gate.close()
	require.NoError(t, k.Reclaim(bg, daemonOfTom, seen))
	require.Equal(t, Token(2), seenBy(k).Token)
}

// Rule 18. Who has renewed, released or taken the lease since it was seen keeps what he has, also if he came while its gate was waited for.
func TestALeaseThatChangedMeanwhileIsNotTakenBack(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, k *rig, c *fakeClock){
		"another host has taken it, and is silent in its turn": func(t *testing.T, k *rig, c *fakeClock) {
			other := newRig(t, k.store.dir, c, on("client.3", nil, zoe))
			other.Observe()
			goSilent(c)
			other.must(t, zoe)
			other.crash()
		},
		"this host has taken it, and was killed in its turn": func(t *testing.T, k *rig, c *fakeClock) {
			again := newRig(t, k.store.dir, c, on("client.2", nil, tom))
			again.Observe()
			goSilent(c)
			again.must(t, tom)
			again.crash()
		},
		"another host has given it back": func(t *testing.T, k *rig, c *fakeClock) {
			other := newRig(t, k.store.dir, c, on("client.3", nil, zoe))
			other.Observe()
			goSilent(c)
			other.must(t, zoe)
			require.NoError(t, other.Release(bg, LossReleased))
		},
	} {
		for _, when := range []string{"before", "acquire.before_gate"} {
			t.Run(name+" "+when, func(t *testing.T) {
				agent, at := &fakeAgent{}, ""
				var k *rig
				var c *fakeClock
				var seen Head
				k, c, seen = leftBy(t, tom, agent, func(cfg *KeeperConfig) {
					cfg.Pause = func(point string) {
						if point == at {
							at = ""
							change(t, k, c)
							goSilent(c)
						}
					}
				})
				goSilent(c)
				if at = when; when == "before" {
					change(t, k, c)
					at = ""
					k.Observe()
					goSilent(c)
				}
				requireClass(t, ClassLockConflict, k.Reclaim(bg, daemonOfTom, seen))
				require.Equal(t, Token(2), seenBy(k).Token)
				require.Zero(t, agent.runs())
				require.Empty(t, k.events())
			})
		}
	}
}

// No event, no taking back (rule 12); the next try is an ordinary one.
func TestATakingBackThatCannotBeAuditedDoesNotHappen(t *testing.T) {
	k, c, seen := leftBy(t, tom, &fakeAgent{})
	goSilent(c)
	k.deny = unix.ENOSPC
	requireClass(t, ClassAuditFailed, k.Reclaim(bg, daemonOfTom, seen))
	require.Equal(t, Token(1), seenBy(k).Token)
	k.deny = nil
	require.NoError(t, k.Reclaim(bg, daemonOfTom, seen))
}

// Rules 2, 4 and 18. A taker of another host may come at any step of a taking back, also where the store has lost the lock of the gate, and a
// second mount of this host may take back the same lease: whoever got the lease keeps it, and no token is given twice.
func TestATakingBackTakesNoLeaseFromATaker(t *testing.T) {
	for _, at := range []string{"acquire.before_gate", "claim.before_look", "claim.before_link", "claim.after_link", "claim.after_publish",
		"lose.before_close", "lose.after_close", "release.before_write", "release.before_withdraw"} {
		for name, lost := range map[string]bool{"the gate holds": false, "the gate is lost": true} {
			for _, same := range []bool{false, true} {
				t.Run(at+", "+name+map[bool]string{true: ", another mount here", false: ", another host"}[same], func(t *testing.T) {
					agent, came := &fakeAgent{}, false
					var k, other *rig
					var granted Grant
					var failed error
					k, c, seen := leftBy(t, tom, agent, func(cfg *KeeperConfig) {
						cfg.Pause = func(point string) {
							if point != at || came {
								return
							}
							came = true
							if lost {
								k.gate.unlock()
							}
							if same {
								failed = other.Reclaim(bg, daemonOfTom, seenBy(other))
							} else {
								granted, failed = other.Acquire(bg, zoe)
							}
						}
					})
					by := on("client.3", agent, zoe)
					if same {
						by = on("client.2", agent, tom)
					}
					other = newRig(t, k.store.dir, c, by)
					other.Observe()
					goSilent(c)
					err := k.Reclaim(bg, daemonOfTom, seen)
					require.True(t, came)
					h, j := k.Observe()
					switch {
					case same:
						require.True(t, err == nil || failed == nil, "neither: %v, %v", err, failed)
						require.Equal(t, Free, j.State)
					case failed == nil:
						require.Equal(t, granted.Token, h.Token)
						require.False(t, h.Record.Released, "what another one got was given back")
						require.NoError(t, other.Release(bg, LossReleased))
					default:
						require.NoError(t, err)
						require.Equal(t, Free, j.State)
					}
					past, err := k.Past(1, h.Token)
					require.NoError(t, err)
					require.Len(t, past, int(h.Token), "a token for each grant")
				})
			}
		}
	}
}

// Rules 17 and 18. While a taint says that something of this host may reach the store yet, the lease is left to whoever cuts this host off. A
// person who has looked clears the taint. What the store has refused, and what another host had written, does not count.
func TestNoLeaseIsTakenBackWhileItsWritesMayLand(t *testing.T) {
	for name, x := range map[string]struct {
		by     Holder
		unsure bool
		waits  bool
	}{
		"it may land":       {tom, true, true},
		"it was refused":    {tom, false, false},
		"of another host's": {zoe, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			k, c, seen := leftBy(t, x.by, &fakeAgent{})
			require.NoError(t, k.store.taint(LateWrite{Token: 1, Op: "Fsync", File: "/f", Failed: "input/output error", Unsynced: true, Unsure: x.unsure}))
			goSilent(c)
			if x.by == zoe { // this host has it afterwards, and leaves it
				mid := newRig(t, k.store.dir, c, on("client.2", &fakeAgent{}, tom))
				mid.Observe()
				goSilent(c)
				mid.must(t, tom)
				mid.crash()
				seen = seenBy(k)
				goSilent(c)
			}
			err := k.Reclaim(bg, daemonOfTom, seen)
			if !x.waits {
				require.NoError(t, err)
				return
			}
			requireClass(t, ClassLockConflict, err)
			require.ErrorContains(t, err, "may reach the store yet, as main.taint.")
			require.Empty(t, k.events())
			names, err := k.store.dir.names()
			require.NoError(t, err)
			for _, name := range names {
				if record.IsTaint(name) {
					require.NoError(t, unix.Unlinkat(k.store.dir.fd, name, 0))
				}
			}
			require.NoError(t, k.Reclaim(bg, daemonOfTom, seen))
		})
	}
}
