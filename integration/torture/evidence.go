package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// The kinds of a call.
const (
	callAppend   = 'a' // a line at the end of the log
	callSlot     = 'p' // a line over a slot of the slots' file
	callMap      = 'm' // a line over the start of a page, stored through a mapping; msync is the answer
	callCreate   = 'c' // a new file in made
	callUnlink   = 'u' // a file in made goes
	callRename   = 'r' // a file in made is renamed over one in saves, as editors save
	callTruncate = 't' // a file in made gets the length that is the call's number
)

// The results of a call that the checker tells apart; every other one, and none, leaves open whether it landed.
const (
	resultOK      = "ok"
	resultRefused = "EROFS"
)

// call is one system call of a writer, as the writer saw it.
type call struct {
	Kind       byte
	Token      uint64 // of the lease that the writer's handle was opened under
	Host, PID  int
	Handle     int
	Seq        int
	Begin, End int64 // monotonic; End 0 when it never returned
	Result     string
	Target     string // unlink, rename, truncate: name of the file in made
}

func (c *call) acked() bool { return c.Result == resultOK }

// refused is whether nothing of the call may be found. A store through a mapping has been made before msync answers, and may
// have been written back in time.
func (c *call) refused() bool { return c.Result == resultRefused && c.Kind != callMap }

func (c *call) id() [3]int { return [3]int{c.Host, c.PID, c.Seq} }

// record is what the call leaves where it lands.
func (c *call) record() plan.Record {
	return plan.Record{Kind: plan.KindData, Token: c.Token, Host: c.Host, PID: c.PID, Handle: c.Handle, Seq: c.Seq}
}

// name is that of the file that the call is about.
func (c *call) name() string {
	if c.Kind == callCreate {
		return c.record().Name()
	}
	return c.Target
}

func (c *call) String() string {
	took := "never returned"
	if c.End != 0 {
		took = fmt.Sprintf("%s in %s", c.Result, time.Duration(c.End-c.Begin))
	}
	return fmt.Sprintf("%c token %d host %d pid %d handle %d seq %d: %s", c.Kind, c.Token, c.Host, c.PID, c.Handle, c.Seq, took)
}

// observation is what a reader of the backing store saw in a register: a slot, or the start of a page.
type observation struct {
	Slot       int
	Begin, End int64 // monotonic
	Absent     int64 // CLOCK_REALTIME of a look that saw it whole, but not yet there; 0: none
	Value      plan.Record
}

// change is what happened to a name on the backing store, or a mark between such changes; in the order of happening.
type change struct {
	Mark plan.Record // of kind KindGate or KindBegin, or none
	Kind byte        // as that of the call
	Name string
}

// file is a created file that was found at the end. Born is the machine's wall clock, never later than the truth.
type file struct {
	Record plan.Record // as parsed from its name
	Born   int64
	Size   int64
}

// evidence is all that is known of one worktree in one history.
type evidence struct {
	Log     []plan.Record // in the order of landing
	Calls   []*call
	Slots   []observation // in the order of observing
	Changes []change      // of names, in the order of landing
	Blind   bool          // Changes is not whole
	Files   []file
	Claims  []uint64          // tokens that have a claim on disk at the end
	Left    map[uint64]bool   // claims that are whole and were never given back
	Steals  map[uint64]bool   // tokens that the audit log calls stolen
	Passed  map[uint64]bool   // tokens that the audit log calls handed over
	WentOn  wentOn            // by the audit log
	Raised  uint64            // the highest token of other records of the same files: these go on above it
	Given   map[uint64]uint64 // tokens that were handed over, or taken when offered, by the next one: so the former holder was told
	Loose   []span            // when mounts observed
	// Replaced is when hosts' daemons were replaced: what was open stays in the mount before, which has caches of its own.
	Replaced []span
	// Strangers are processes, by host and pid, of users who may not write.
	Strangers map[[2]int]bool
	// Late is for tier C, where there is no gate: how long after its check a write may take effect without
	// being stale. A write that took longer may land stale if it is not acknowledged. 0: no write may land
	// stale, however long it takes.
	Late time.Duration
}

// span is a time in which a host's mount observed: what a call there did may land whoever holds. End 0: it did not end.
type span struct {
	Host       int
	Begin, End int64 // monotonic
}

// observed says whether the call may have landed because its mount observed. A store through a mapping may be
// written back long after the call.
func (e *evidence) observed(one *call) bool {
	return one != nil && slices.ContainsFunc(e.Loose, func(s span) bool {
		return s.Host == one.Host && (s.End == 0 || one.Begin <= s.End) && (one.End == 0 || one.Kind == callMap || one.End >= s.Begin)
	})
}

// leftBehind says whether a store that nobody synced may have been in the mount before a replacement by then. It is written back
// at some time, also over what the same holder has written through the new mount since (jvsfs-operations(7)).
func (e *evidence) leftBehind(one *call, by int64) bool {
	return one != nil && one.Kind == callMap && !one.acked() && slices.ContainsFunc(e.Replaced, func(s span) bool {
		return s.Host == one.Host && s.Begin <= by && e.openedAfter(one) <= s.Begin
	})
}

// openedAfter is a time before the handle of a call was opened: that of its writer's last call before the handle's first.
func (e *evidence) openedAfter(one *call) (before int64) {
	first := one.Begin
	for _, c := range e.Calls {
		if c.Host == one.Host && c.PID == one.PID && c.Handle == one.Handle {
			first = min(first, c.Begin)
		}
	}
	for _, c := range e.Calls {
		if c.Host == one.Host && c.PID == one.PID && c.Begin < first {
			before = max(before, c.Begin)
		}
	}
	return before
}

// finding is one thing that must not be. Line is where it shows in the log, -1 elsewhere.
type finding struct {
	Kind string
	Text string
	Line int
}

// The kinds of a finding.
const (
	badStale     = "stale write"                    // an older token's write landed after a newer grant
	badAcked     = "stale write, acknowledged"      // and the writer was told that all is well
	badGiven     = "write of a former holder"       // landed after a handover, which waits for what is in flight
	badStranger  = "a stranger's"                   // a lease, or a change, of somebody who may not write
	badBounds    = "token out of bounds"            // of 2^60 or more: from a record that no daemon wrote
	badRoot      = "write under a former name"      // landed after the root of its worktree had been renamed
	badRecords   = "two holders by two records"     // each under records of its own, at once
	badSealed    = "write under readonly"           // landed after the switch had been answered
	badTwice     = "token granted twice"            // or not above all before it
	badGate      = "write under the taker's gate"   // landed while the taker had LOCK_EX
	badLost      = "acknowledged write lost"        //
	badLanded    = "refused write landed"           //
	badRepeated  = "write landed twice"             //
	badOrder     = "writer's order not kept"        //
	badUnknown   = "write of nobody"                // no call, or no grant, explains it
	badBackwards = "slot went back"                 // an older value came after a newer one
	badClaims    = "claims and grants do not agree" //
	badUnaudited = "steal without an audit event"   //
)

// tally is what the history of a worktree was worth.
type tally struct {
	Grants, Takeovers, Landed int
	StaleLanded, StaleAcked   int
	Observed                  int // landed while the mount observed, whoever held
	Resumed                   int // holders that went on after a pause
}

// slotsCount is how many slots the slots' file has, and how many pages the pages' file: the registers behind the slots.
const slotsCount = 4

func slotOf(kind byte, seq int) int {
	if kind == callMap {
		return slotsCount + seq%slotsCount
	}
	return seq % slotsCount
}

func newFinding(kind string, of plan.Record, format string, args ...any) finding {
	return finding{kind, fmt.Sprintf("token %d host %d pid %d seq %d: %s", of.Token, of.Host, of.PID, of.Seq, fmt.Sprintf(format, args...)), -1}
}
