package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// Writers of the hand-made histories: two hosts with one writer each.
const ann, bob = 11, 22

func begin(token uint64, host, pid int) plan.Record {
	return plan.Record{Kind: plan.KindBegin, Token: token, Host: host, PID: pid, Wall: int64(token) * 1000}
}

func gate(token uint64, host, pid int) plan.Record {
	r := begin(token, host, pid)
	r.Kind = plan.KindGate
	return r
}

func wrote(token uint64, host, pid, seq int) plan.Record {
	return plan.Record{Kind: plan.KindData, Token: token, Host: host, PID: pid, Handle: 1, Seq: seq}
}

// called is a call that took a millisecond.
func called(kind byte, token uint64, host, pid, seq int, result string) *call {
	at := int64(seq) * int64(10*time.Millisecond)
	c := &call{Kind: kind, Token: token, Host: host, PID: pid, Handle: 1, Seq: seq, Begin: at, End: at + int64(time.Millisecond), Result: result}
	if result == "" {
		c.End = 0
	}
	return c
}

func saw(slot int, at time.Duration, r plan.Record) observation {
	return observation{Slot: slot, Begin: int64(at), End: int64(at) + 1, Value: r}
}

// of is a mark of a host.
func of(kind byte, host int) plan.Record { return plan.Record{Kind: kind, Host: host} }

func mark(r plan.Record) change { return change{Mark: r} }

func changed(kind byte, of plan.Record) change { return change{Kind: kind, Name: of.Name()} }

// pageGoesBack is a writer whose store of the 20th millisecond shows after a later one. The file was opened after the 10th.
func pageGoesBack(result string, replaced []span) evidence {
	const seq, later, slot = 2, 2 + slotsCount, slotsCount + 2
	before := called('a', 1, 0, ann, 1, resultRefused)
	before.Handle = 0
	at := func(seq int) time.Duration { return time.Duration(10*seq+2) * time.Millisecond }
	return evidence{Replaced: replaced,
		Calls: []*call{before, called('m', 1, 0, ann, seq, result), called('m', 1, 0, ann, later, "ok")},
		Slots: []observation{saw(slot, at(later), wrote(1, 0, ann, later)), saw(slot, at(later)+time.Millisecond, wrote(1, 0, ann, seq))},
	}
}

// about is a call that concerns the file that another made.
func about(kind byte, made plan.Record, token uint64, host, pid, seq int, result string) *call {
	c := called(kind, token, host, pid, seq, result)
	c.Target = made.Name()
	return c
}

func TestTheCheckFindsEachViolation(t *testing.T) {
	slow := called('a', 1, 0, ann, 2, "EIO")
	slow.End = slow.Begin + int64(time.Second)
	slowAcked := called('a', 1, 0, ann, 2, "ok")
	slowAcked.End = slow.End
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		e    evidence
		want []string // kinds, in order
	}{
		"nothing": {},
		"a handover": {e: evidence{
			Log: []plan.Record{gate(1, 0, ann), begin(1, 0, ann), wrote(1, 0, ann, 1), wrote(1, 0, ann, 2), gate(2, 1, bob), begin(2, 1, bob), wrote(2, 1, bob, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok"), called('a', 1, 0, ann, 2, ""), called('a', 1, 0, ann, 3, "EROFS"),
				called('a', 2, 1, bob, 1, "ok"), called('a', 2, 1, bob, 2, "ENOTCONN")},
			Claims: []uint64{1, 2},
		}},
		"a holder that went on after a pause writes by what it had opened": {e: evidence{
			Log: []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1), gate(2, 0, ann), begin(2, 0, ann), wrote(2, 0, ann, 2), wrote(1, 0, ann, 3),
				begin(3, 0, ann), wrote(1, 0, ann, 4)},
			Calls:  []*call{called('a', 1, 0, ann, 1, "ok"), called('a', 2, 0, ann, 2, "ok"), called('a', 1, 0, ann, 3, "ok"), called('a', 1, 0, ann, 4, "ok")},
			Claims: []uint64{1, 2, 3}, Left: map[uint64]bool{1: true, 2: true}, WentOn: map[uint64]bool{2: true, 3: true},
		}},
		"so it may, but not what it had opened before another held": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), begin(3, 0, ann), begin(4, 0, ann), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2, 3, 4}, WentOn: map[uint64]bool{4: true},
		}, want: []string{badAcked}},
		"the audit says that a holder goes on, and another won the token": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2}, WentOn: map[uint64]bool{2: true},
		}, want: []string{badAcked}},
		"a write of a paused holder lands while it goes on": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), gate(2, 0, ann), wrote(1, 0, ann, 1), begin(2, 0, ann)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2}, WentOn: map[uint64]bool{2: true},
		}, want: []string{badGate}},
		"a write of the old token after the grant, acknowledged": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
		}, want: []string{badAcked}},
		"the same, and the writer's daemon died": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "")}, Claims: []uint64{1, 2},
		}, want: []string{badStale}},
		"tier C: late by long, and not acknowledged": {e: evidence{Late: 140 * ms,
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 2)},
			Calls: []*call{slow}, Claims: []uint64{1, 2},
		}},
		"tier C: late by long, acknowledged": {e: evidence{Late: 140 * ms,
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 2)},
			Calls: []*call{slowAcked}, Claims: []uint64{1, 2},
		}, want: []string{badAcked}},
		"tier C: stale although it was quick": {e: evidence{Late: 140 * ms,
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "EIO")}, Claims: []uint64{1, 2},
		}, want: []string{badStale}},
		"tier C: a mapped page that was written back long after the store": {e: evidence{Late: 140 * ms,
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob)},
			Calls: []*call{called('m', 1, 0, ann, 1, "other")}, Claims: []uint64{1, 2},
			Slots: []observation{{Slot: slotOf('m', 1), Begin: int64(time.Second), End: int64(time.Second) + 1, Absent: int64(time.Second), Value: wrote(1, 0, ann, 1)}},
		}},
		"tier C: the same, and msync said that all is well": {e: evidence{Late: 140 * ms,
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob)},
			Calls: []*call{called('m', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
			Slots: []observation{{Slot: slotOf('m', 1), Begin: int64(time.Millisecond), End: int64(time.Second) + 1, Absent: int64(time.Second), Value: wrote(1, 0, ann, 1)}},
		}, want: []string{badAcked}},
		"tier A: the same, and msync was not asked": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob)},
			Calls: []*call{called('m', 1, 0, ann, 1, "other")}, Claims: []uint64{1, 2},
			Slots: []observation{{Slot: slotOf('m', 1), Begin: int64(time.Second), End: int64(time.Second) + 1, Absent: int64(time.Second), Value: wrote(1, 0, ann, 1)}},
		}, want: []string{badStale}},
		"tier C: a taker paused before its mark": {e: evidence{Late: 140 * ms,
			Log:   []plan.Record{begin(2, 1, bob), begin(1, 0, ann), wrote(2, 1, bob, 1)},
			Calls: []*call{called('a', 2, 1, bob, 1, "ok")}, Claims: []uint64{1, 2},
		}},
		"tier A: tokens go back": {e: evidence{
			Log: []plan.Record{begin(2, 1, bob), begin(1, 0, ann)}, Claims: []uint64{1, 2},
		}, want: []string{badTwice}},
		"one token for two": {e: evidence{Late: 140 * ms,
			Log: []plan.Record{begin(1, 0, ann), begin(1, 1, bob)}, Claims: []uint64{1},
		}, want: []string{badTwice}},
		"a write between the taker's lock and its claim": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), gate(2, 1, bob), wrote(1, 0, ann, 1), begin(2, 1, bob)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
		}, want: []string{badGate}},
		"a write after a taker that gave up": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), gate(2, 1, bob), wrote(1, 0, ann, 1), gate(2, 1, bob), begin(2, 1, bob)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
		}},
		"lost": {e: evidence{
			Log: []plan.Record{begin(1, 0, ann)}, Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1},
		}, want: []string{badLost}},
		"refused, and landed": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "EROFS")}, Claims: []uint64{1},
		}, want: []string{badLanded}},
		"landed twice": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1},
		}, want: []string{badRepeated}},
		"out of order": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 2), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok"), called('a', 1, 0, ann, 2, "ok")}, Claims: []uint64{1},
		}, want: []string{badOrder}},
		"nobody called": {e: evidence{
			Log: []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1)}, Claims: []uint64{1},
		}, want: []string{badUnknown}},
		"under somebody else's token": {e: evidence{
			Log:   []plan.Record{begin(1, 1, bob), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1},
		}, want: []string{badUnknown}},
		"a slot's values in order": {e: evidence{Calls: []*call{called('p', 1, 0, ann, 1, "ok"), called('p', 1, 0, ann, 5, ""), called('p', 2, 1, bob, 9, "ok")},
			Slots: []observation{saw(1, 0, plan.Record{}), saw(1, 20*ms, wrote(1, 0, ann, 1)), saw(1, 55*ms, wrote(1, 0, ann, 5)), saw(1, 95*ms, wrote(2, 1, bob, 9))},
		}},
		"a slot goes back to an older token": {e: evidence{Calls: []*call{called('p', 1, 0, ann, 1, "ok"), called('p', 1, 0, ann, 5, "ok"), called('p', 2, 1, bob, 9, "ok")},
			Slots: []observation{saw(1, 20*ms, wrote(1, 0, ann, 1)), saw(1, 95*ms, wrote(2, 1, bob, 9)), saw(1, 99*ms, wrote(1, 0, ann, 5))},
		}, want: []string{badAcked}},
		"an acknowledged slot is not there": {e: evidence{Calls: []*call{called('p', 1, 0, ann, 1, "ok")},
			Slots: []observation{saw(1, 90*ms, plan.Record{})},
		}, want: []string{badLost}},
		"a slot shows less than was acknowledged": {e: evidence{Calls: []*call{called('p', 1, 0, ann, 1, "ok"), called('p', 1, 0, ann, 5, "ok")},
			Slots: []observation{saw(1, 90*ms, wrote(1, 0, ann, 1))},
		}, want: []string{badBackwards}},
		"a page goes back": {e: pageGoesBack("other", nil), want: []string{badBackwards}},
		"a page goes back to what was left in a replaced mount": {e: pageGoesBack("other", []span{{Host: 0, Begin: int64(40 * ms)}})},
		"a page goes back to what was synced in a replaced mount": {
			e: pageGoesBack("ok", []span{{Host: 0, Begin: int64(40 * ms)}}), want: []string{badBackwards}},
		"a page goes back after a replacement elsewhere": {
			e: pageGoesBack("other", []span{{Host: 1, Begin: int64(40 * ms)}}), want: []string{badBackwards}},
		"a page goes back after a replacement before the file was opened": {
			e: pageGoesBack("other", []span{{Host: 0, Begin: int64(5 * ms)}}), want: []string{badBackwards}},
		"a slot was refused": {e: evidence{Calls: []*call{called('p', 1, 0, ann, 1, "EROFS")},
			Slots: []observation{saw(1, 90*ms, wrote(1, 0, ann, 1))},
		}, want: []string{badLanded}},
		"files": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1, 2},
			Calls:   []*call{called('c', 1, 0, ann, 1, "ok"), called('c', 2, 1, bob, 1, "")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), mark(begin(2, 1, bob)), changed('c', wrote(2, 1, bob, 1))},
			Files:   []file{{wrote(1, 0, ann, 1), 1500, 0}, {wrote(2, 1, bob, 1), 9000, 0}},
		}},
		"a file is made too late": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1, 2},
			Calls: []*call{called('c', 1, 0, ann, 1, "ok")}, Files: []file{{wrote(1, 0, ann, 1), 2001, 0}}, Blind: true,
		}, want: []string{badAcked}},
		"a file is not there": {e: evidence{Blind: true, Calls: []*call{called('c', 1, 0, ann, 1, "ok")}}, want: []string{badLost}},
		"stored through a mapping, and refused by msync": {e: evidence{Calls: []*call{called('m', 1, 0, ann, 1, "EROFS")},
			Slots: []observation{saw(5, 90*ms, wrote(1, 0, ann, 1))},
		}},
		"a stored page goes back to an older token": {e: evidence{Calls: []*call{called('m', 1, 0, ann, 1, "EROFS"), called('m', 2, 1, bob, 5, "ok")},
			Slots: []observation{saw(5, 55*ms, wrote(2, 1, bob, 5)), saw(5, 60*ms, wrote(1, 0, ann, 1))},
		}, want: []string{badStale}},
		"a synced page is not there": {e: evidence{Calls: []*call{called('m', 1, 0, ann, 1, "ok")},
			Slots: []observation{saw(5, 90*ms, plan.Record{})},
		}, want: []string{badLost}},
		"a slot is written after a newer grant that has written nothing": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1, 2},
			Calls: []*call{called('p', 1, 0, ann, 1, "")},
			Slots: []observation{{Slot: 1, Begin: 90, End: 91, Absent: 2001, Value: wrote(1, 0, ann, 1)}},
		}, want: []string{badStale}},
		"a slot may have been written before the newer grant": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1, 2},
			Calls: []*call{called('p', 1, 0, ann, 1, "")},
			Slots: []observation{{Slot: 1, Begin: 90, End: 91, Absent: 1999, Value: wrote(1, 0, ann, 1)}},
		}},
		"changes of names": {e: evidence{
			Calls: []*call{called('c', 1, 0, ann, 1, "ok"), called('c', 1, 0, ann, 2, ""), about('t', wrote(1, 0, ann, 1), 1, 0, ann, 3, "ok"),
				about('u', wrote(1, 0, ann, 1), 1, 0, ann, 4, "ok"), about('r', wrote(1, 0, ann, 2), 1, 0, ann, 5, "ok"), about('u', wrote(1, 0, ann, 9), 1, 0, ann, 10, "EROFS")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), changed('c', wrote(1, 0, ann, 2)), changed('t', wrote(1, 0, ann, 1)),
				changed('u', wrote(1, 0, ann, 1)), changed('r', wrote(1, 0, ann, 2)), mark(gate(2, 1, bob)), mark(begin(2, 1, bob))},
		}},
		"a name is taken away after the grant": {e: evidence{Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('u', wrote(1, 0, ann, 1), 1, 0, ann, 2, "")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), mark(begin(2, 1, bob)), changed('u', wrote(1, 0, ann, 1))},
		}, want: []string{badStale}},
		"a save after the grant, acknowledged": {e: evidence{Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('r', wrote(1, 0, ann, 1), 1, 0, ann, 2, "ok")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), mark(begin(2, 1, bob)), changed('r', wrote(1, 0, ann, 1))},
		}, want: []string{badAcked}},
		"a length changes under the taker's gate": {e: evidence{Calls: []*call{called('c', 1, 0, ann, 1, ""), about('t', wrote(1, 0, ann, 1), 1, 0, ann, 2, "")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), mark(gate(2, 1, bob)), changed('t', wrote(1, 0, ann, 1)), mark(begin(2, 1, bob))},
		}, want: []string{badGate}},
		"a refused change of a length": {e: evidence{Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('t', wrote(1, 0, ann, 1), 1, 0, ann, 2, "EROFS")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1))}, Files: []file{{wrote(1, 0, ann, 1), 0, 2}},
		}, want: []string{badLanded}},
		"a length is not as acknowledged": {e: evidence{Blind: true, Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('t', wrote(1, 0, ann, 1), 1, 0, ann, 2, "ok")},
			Files: []file{{wrote(1, 0, ann, 1), 0, 0}},
		}, want: []string{badLost}},
		"a file that was taken away is there": {e: evidence{Blind: true, Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('u', wrote(1, 0, ann, 1), 1, 0, ann, 2, "ok")},
			Files: []file{{wrote(1, 0, ann, 1), 0, 0}},
		}, want: []string{badLost}},
		"an acknowledged save that nobody saw": {e: evidence{Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('r', wrote(1, 0, ann, 1), 1, 0, ann, 2, "ok")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1))},
		}, want: []string{badLost}},
		"a refused unlink": {e: evidence{Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('u', wrote(1, 0, ann, 1), 1, 0, ann, 2, "EROFS")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), changed('u', wrote(1, 0, ann, 1))},
		}, want: []string{badLanded, badLost}},
		"a change by nobody": {e: evidence{Changes: []change{mark(begin(1, 0, ann)), changed('u', wrote(1, 0, ann, 1))}}, want: []string{badUnknown}},
		"a writer of another worktree": {e: evidence{Calls: []*call{called('c', 1, 1, bob, 7, "ok")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 1, bob, 7))}, Files: []file{{wrote(1, 1, bob, 7), 0, 0}},
		}, want: []string{badUnknown}},
		"a steal, audited": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1, 2},
			Left: map[uint64]bool{1: true, 2: true}, Steals: map[uint64]bool{2: true},
		}},
		"a steal without an audit event": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1, 2}, Left: map[uint64]bool{1: true, 2: true}},
			want: []string{badUnaudited}},
		"a holder goes on": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 0, ann)}, Claims: []uint64{1, 2}, Left: map[uint64]bool{1: true, 2: true}}},
		"a claim of somebody who died before he knew": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(3, 0, ann)}, Claims: []uint64{1, 2, 3}, Left: map[uint64]bool{2: true}},
			want: []string{badUnaudited}},
		"handed over": {e: evidence{Given: map[uint64]uint64{1: 2}, Passed: map[uint64]bool{2: true},
			Log:   []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1), gate(2, 0, bob), begin(2, 0, bob), wrote(2, 0, bob, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok"), called('a', 2, 0, bob, 1, "ok")}, Claims: []uint64{1, 2}, Left: map[uint64]bool{1: true},
		}},
		"handed over without an audit event": {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 0, bob)}, Claims: []uint64{1, 2}, Left: map[uint64]bool{1: true}},
			want: []string{badUnaudited}},
		"a handover that did not drain": {e: evidence{Given: map[uint64]uint64{1: 2},
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 0, bob), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
		}, want: []string{badGiven}},
		"tier C: an offer that did not drain, and what it let through took long": {e: evidence{Late: 140 * ms, Given: map[uint64]uint64{1: 2},
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), wrote(1, 0, ann, 2)},
			Calls: []*call{slow}, Claims: []uint64{1, 2},
		}, want: []string{badGiven}},
		"an offer that came to nothing": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), gate(2, 1, bob), wrote(1, 0, ann, 1), gate(2, 1, bob), begin(2, 1, bob)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
		}},
		"a mount observes": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), of('L', 0), wrote(1, 0, ann, 1), of('S', 0), wrote(2, 1, bob, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok"), called('a', 2, 1, bob, 1, "ok")}, Claims: []uint64{1, 2},
		}},
		"another mount observes": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), of('L', 1), wrote(1, 0, ann, 1), of('S', 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
		}, want: []string{badAcked}},
		"a switch that did not drain": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), of('L', 0), of('S', 0), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1, 2},
		}, want: []string{badAcked}},
		"a refused write landed while its mount observed": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), begin(2, 1, bob), of('L', 0), wrote(1, 0, ann, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "EROFS")}, Claims: []uint64{1, 2},
		}, want: []string{badLanded}},
		"the holder's write, under readonly": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), of('Z', 0), wrote(1, 0, ann, 1), of('U', 0)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1},
		}, want: []string{badSealed}},
		"before and after readonly, and on another host": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1), of('Z', 0), of('Z', 1), of('U', 0), wrote(1, 0, ann, 2)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok"), called('a', 1, 0, ann, 2, "ok")}, Claims: []uint64{1},
		}},
		"a name goes under readonly": {e: evidence{Calls: []*call{called('c', 1, 0, ann, 1, "ok"), about('u', wrote(1, 0, ann, 1), 1, 0, ann, 2, "")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), mark(of('Z', 0)), changed('u', wrote(1, 0, ann, 1))},
		}, want: []string{badSealed}},
		"a slot goes back, by observing": {e: evidence{Loose: []span{{Host: 0, Begin: int64(40 * ms), End: int64(80 * ms)}},
			Calls: []*call{called('p', 2, 1, bob, 1, "ok"), called('p', 1, 0, ann, 5, "ok"), called('p', 2, 1, bob, 9, "ok")},
			Slots: []observation{saw(1, 20*ms, wrote(2, 1, bob, 1)), saw(1, 55*ms, wrote(1, 0, ann, 5)), saw(1, 95*ms, wrote(2, 1, bob, 9))},
		}},
		"a slot goes back, after observing": {e: evidence{Loose: []span{{Host: 0, Begin: int64(10 * ms), End: int64(20 * ms)}},
			Calls: []*call{called('p', 2, 1, bob, 1, "ok"), called('p', 1, 0, ann, 5, "ok")},
			Slots: []observation{saw(1, 20*ms, wrote(2, 1, bob, 1)), saw(1, 55*ms, wrote(1, 0, ann, 5))},
		}, want: []string{badAcked}},
		"a lease for a stranger": {e: evidence{Strangers: map[[2]int]bool{{1, bob}: true}, Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1, 2}},
			want: []string{badStranger}},
		"a token that nobody granted": {e: evidence{Log: []plan.Record{begin(1<<60+1, 0, ann)}, Claims: []uint64{1<<60 + 1}}, want: []string{badClaims, badBounds}},
		"a holder by other records writes between the holder's writes": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1), wrote(foreignBase+1, 10, bob, 1), wrote(1, 0, ann, 2)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok"), called('a', 1, 0, ann, 2, "ok")}, Claims: []uint64{1},
		}, want: []string{badRecords}},
		"a holder by other records makes a file between those of the holder": {e: evidence{
			Calls:   []*call{called('c', 1, 0, ann, 1, "ok"), called('c', 1, 0, ann, 2, "ok")},
			Changes: []change{mark(begin(1, 0, ann)), changed('c', wrote(1, 0, ann, 1)), changed('c', wrote(foreignBase+1, 10, bob, 1)), changed('c', wrote(1, 0, ann, 2))},
			Files:   []file{{wrote(1, 0, ann, 1), 0, 0}, {wrote(1, 0, ann, 2), 0, 0}, {wrote(foreignBase+1, 10, bob, 1), 0, 0}},
		}, want: []string{badRecords}},
		"a holder by other records, when nobody held": {e: evidence{
			Log:   []plan.Record{begin(1, 0, ann), wrote(1, 0, ann, 1), wrote(foreignBase+1, 10, bob, 1)},
			Calls: []*call{called('a', 1, 0, ann, 1, "ok")}, Claims: []uint64{1},
		}},
		"other records had higher tokens":                     {e: evidence{Claims: []uint64{1, 5, 6, 7}, Raised: 5}},
		"other records had higher tokens, a claim is missing": {e: evidence{Claims: []uint64{1, 5, 6, 9, 10, 11, 12, 13}, Raised: 5}, want: []string{badClaims}},
		"a claim is missing":                                  {e: evidence{Claims: []uint64{1, 3}}, want: []string{badClaims}},
		"a grant without a claim":                             {e: evidence{Log: []plan.Record{begin(1, 0, ann), begin(2, 1, bob)}, Claims: []uint64{1}}, want: []string{badClaims}},
	} {
		t.Run(name, func(t *testing.T) {
			bad, _ := check(c.e)
			var kinds []string
			for _, b := range bad {
				kinds = append(kinds, b.Kind)
			}
			require.Equal(t, c.want, kinds, "%v", bad)
		})
	}
}

func TestAJournalRecordIsReadAsItWasWritten(t *testing.T) {
	for _, r := range []plan.Record{begin(7, 2, 33), gate(1<<63, 99, 1), wrote(3, 1, 4194304, 9999999999-1)} {
		b := r.Encode()
		require.Len(t, b, plan.RecordSize)
		back, err := plan.Parse(b)
		require.NoError(t, err)
		require.Equal(t, r, back)
	}
	_, err := plan.Parse([]byte(strings.Repeat("x", plan.RecordSize-1) + "\n"))
	require.Error(t, err)
}

// The enemy is in no binary but the one that is built for this test.
func TestFailpointsOfTheTortureAreInNoOtherBinary(t *testing.T) {
	const enemy = "github.com/jvsfs/jvsfs/integration/torture/"
	deps := func(args ...string) string {
		cmd := exec.Command("go", append(append([]string{"list", "-deps"}, args...), "./cmd/jvsfs")...)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.NotContains(t, deps(), enemy)
	require.Contains(t, deps("-tags", "jvsfs_torture"), enemy+"inject")
}
