package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Rule 9. While the fence closes and drains, the record still says held, the audit was not told, and the gate is ours.
func TestALossIsReportedAfterTheDrain(t *testing.T) {
	for name, lose := range map[string]func(*rig){
		"released": func(a *rig) { require.NoError(t, a.Release(bg, LossReleased)) },
		"expired": func(a *rig) {
			a.cfg.Resumes = func() bool { return false }
			a.clock.advance(20 * time.Second)
			a.tick()
		},
		"paused":       stopInTime,
		"renew failed": func(a *rig) { a.clock.stepWall(time.Minute); _, err := a.Renew(bg); require.Error(t, err) },
	} {
		t.Run(name, func(t *testing.T) {
			d, c := testDir(t), newFakeClock()
			a := newRig(t, d, c)
			a.must(t, ann)
			type state struct {
				events   []string
				free     bool
				released bool
			}
			var during *state
			a.fence.onClose = func(Loss) {
				h, err := d.Store("main").Head()
				during = &state{a.events(), gateFree(t, d), err != nil || h.Record.Released}
			}
			lose(a)
			a.fence.onClose = nil
			require.Equal(t, &state{events: []string{"acquire"}}, during)
			require.Len(t, a.events(), 2)
			require.True(t, gateFree(t, d))
		})
	}
}

// Rule 10.
func TestALateWriteLeavesATaintAndAnEvent(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	g := a.must(t, ann)
	require.Nil(t, g.Late, "the gate of one kernel keeps writes from being late")
	require.NoError(t, a.Late(LateWrite{Token: g.Token, Op: "Write", File: "/f", Offset: 7, Length: 3}))
	last := a.log[len(a.log)-1]
	require.Equal(t, EventLateWrite, last.Kind)
	require.Equal(t, ann.PID, last.Holder.PID)
	for _, says := range []string{"/f", "at 7", "3 bytes", "token 1"} {
		require.Contains(t, last.Reason, says)
	}
	names, err := d.names()
	require.NoError(t, err)
	require.Contains(t, strings.Join(names, " "), "main.taint.00000000000000000001.")
}

// Rule 10. A write is late because its host was cut off the store, which may not take the report yet.
func TestALateWriteThatCannotBeToldIsToldLater(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	g := a.must(t, ann)
	audit := a.cfg.Audit
	a.cfg.Audit = func(Event) error { return errors.New("the store does not take it") }
	for _, file := range []string{"/f", "/g"} {
		require.Error(t, a.Late(LateWrite{Token: g.Token, Op: "Write", File: file}))
	}
	late := func() (files []string) {
		for _, e := range a.log {
			if e.Kind == EventLateWrite {
				files = append(files, strings.Fields(e.Reason)[1])
			}
		}
		return files
	}
	require.NoError(t, a.Release(bg, LossReleased))
	require.Zero(t, a.nextWake(), "who holds nothing tells, too")
	a.tellAgain()
	require.Equal(t, pendingFirst, a.nextWake())
	c.advance(pendingFirst)
	a.tellAgain()
	require.Empty(t, late())
	require.ErrorContains(t, a.tellLast(), "2 late writes cannot be told")

	a.cfg.Audit = audit
	c.advance(pendingFirst)
	a.tellAgain()
	require.Empty(t, late(), "not at every look")
	c.advance(pendingLast)
	a.tellAgain()
	require.Equal(t, []string{"/f", "/g"}, late())
	names, err := d.names()
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(strings.Join(names, " "), "main.taint."), "one for each")
	a.tellAgain()
	require.NoError(t, a.tellLast())
	require.Len(t, late(), 2)
	require.Equal(t, a.idleWake(), a.nextWake())
}

// Rule 10. A write is late because its lease is over. Who had it is named all the same, also when the next holder is here already.
func TestALateWriteNamesTheHolderOfAnEndedLease(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	old := a.must(t, ann)
	require.NoError(t, a.Release(bg, LossReleased))
	now := a.must(t, bob)
	require.NotEqual(t, old.Token, now.Token)
	for token, pid := range map[Token]int{old.Token: ann.PID, now.Token: bob.PID, now.Token + 8: 0} {
		require.NoError(t, a.Late(LateWrite{Token: token, Op: "Write", File: "/f"}))
		last := a.log[len(a.log)-1]
		require.Equal(t, EventLateWrite, last.Kind)
		require.Equal(t, pid, last.Holder.PID)
	}
}

// Rule 11. If a reader sees no view, the claim must be released. A view of a released claim does no harm.
func TestTheClaimIsMarkedBeforeTheViewGoes(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	c.advance(time.Second)
	seen := 0
	a.cfg.Pause = func(p string) {
		head := d.Store("main").readRecordFile(claim1)
		switch p {
		case "release.before_write":
			seen++
			require.False(t, head.Record.Released)
			d.id(t, "main.lock")
		case "release.before_withdraw":
			seen++
			require.True(t, head.Record.Released)
			require.Equal(t, c.Wall(), head.Record.LeaseExpiresAt, "tools that know no `released` see that it is over")
			d.id(t, "main.lock")
		}
	}
	require.NoError(t, a.Release(bg, LossReleased))
	require.Equal(t, 2, seen)
}

// Rule 11. Somebody publishes between the look at the view and its rename aside, and again before it is put back.
func TestAViewOfAnotherIsPutBack(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	a := newRig(t, d, c)
	a.must(t, ann)
	publish := func(body string) {
		d.put(t, "new", body)
		require.NoError(t, unix.Renameat(d.fd, "new", d.fd, "main.lock"))
	}
	view := func() string {
		b, _, err := d.Store("main").readFile("main.lock")
		require.NoError(t, err)
		return string(b)
	}
	a.once("withdraw.before_rename", func() { publish("theirs") })
	require.NoError(t, a.Release(bg, LossReleased))
	require.Equal(t, "theirs", view())

	require.NoError(t, unix.Unlinkat(d.fd, "main.lock", 0))
	a.must(t, ann)
	a.cfg.Pause = func(p string) {
		switch p {
		case "withdraw.before_rename":
			publish("theirs")
		case "withdraw.after_rename":
			publish("newer")
		}
	}
	require.NoError(t, a.Release(bg, LossReleased))
	require.Equal(t, "newer", view())
	names, err := d.names()
	require.NoError(t, err)
	require.NotContains(t, strings.Join(names, " "), ".tmp.")
}

// Rule 12. The event comes before the claim, and says whether the old holder has drained for sure.
func TestAStealIsAuditedBeforeItHappens(t *testing.T) {
	c := newFakeClock()
	for at, unclean := range map[tier]bool{tierA: false, tierRemote: true} {
		d := left(t, c, at)
		b := newRig(t, d, c)
		b.Observe()
		c.advance(34 * time.Second)
		if at == tierRemote { // the stamps are real, the clock is not: let them contradict each other for long enough
			_, err := b.Steal(bg, bob)
			requireClass(t, ClassClockSkewExceeded, err)
			c.advance(34 * time.Second)
		}
		b.deny = errors.New("disk full")
		_, err := b.Steal(bg, bob)
		requireClass(t, ClassAuditFailed, err)
		h, _ := b.Observe()
		require.EqualValues(t, 1, h.Token, "no event, no steal")
		b.deny = nil
		b.once("claim.before_link", func() { require.Equal(t, []string{"steal"}, b.events()) })
		g, err := b.Steal(bg, bob)
		require.NoError(t, err)
		require.EqualValues(t, 2, g.Token)
		require.EqualValues(t, 2, g.Record.AcquireSeq)
		require.Len(t, b.log, 1)
		require.Equal(t, Event{Kind: "steal", Worktree: "main", Token: 2, Previous: 1, Holder: bob, Unclean: unclean,
			Reason: b.log[0].Reason, At: c.Wall()}, b.log[0])
	}
}

// If a foreign tool's lease is taken over, nothing proves that the tool has stopped.
func TestATakeoverOfAForeignLeaseIsUnclean(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.put(t, "main.lock", rivalRecord(t, 41, func(r *record.Record) {
		r.LastRenewedAt, r.LeaseExpiresAt = c.Wall().Add(-time.Hour), c.Wall().Add(-time.Hour)
	}))
	b := newRig(t, d, c)
	g, err := b.Steal(bg, bob)
	require.NoError(t, err)
	require.EqualValues(t, 42, g.Token)
	require.True(t, b.log[0].Unclean)
}
