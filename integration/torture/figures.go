package main

import (
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// The figures of a tier, in the order of the table. The names are those of the JSON form.
var figureRows = []struct{ name, label string }{
	{"histories", "histories"},
	{"worktrees", "  worktrees in them"},
	{"calls", "calls of writers"},
	{"acknowledged", "  acknowledged"},
	{"refused", "  refused"},
	{"open", "  no answer, or another one"},
	{"writes_landed", "writes and changes of names that landed, as the backing store shows"},
	{"grants", "grants"},
	{"takeovers", "  takeovers: by another writer than before"},
	{"resumed", "  by a holder that went on after a pause"},
	{"steals", "  steals, by the audit log"},
	{"handover", "handovers to another writer of the same host"},
	{"offer", "offers that were taken on another host"},
	{"offer_asked", "  of all offers"},
	{"switches", "switches to observe or readonly, and back"},
	{"observed", "  landed while its mount observed"},
	{"recoveries", "recoveries of a killed daemon's mount"},
	{"replacements", "replacements of a daemon that serves"},
	{"strange_calls", "calls of users without permission"},
	{"hostile", "records forged, and things put beside them"},
	{"renames", "renames of a worktree's root"},
	{"roamed", "  writes that landed there"},
	{"second_mounts", "second mounts of a source on the same host"},
	{"second_refused", "  refused, for they have other records"},
	{"takeovers_held", "takeovers with a write of the holder held between check and backing call"},
	{"takeovers_held_stop", "  of them with its whole daemon stopped there"},
	{"kills_claim", "daemons killed in a step of claim"},
	{"kills_publish", "  of publish"},
	{"kills_renew", "  of renew"},
	{"kills_release", "  of release"},
	{"stale_landed", "stale landed"},
	{"acknowledged_stale", "acknowledged stale"},
	{"reported_late", "reported late"},
	{"unblocked", "unblocked by an admin"},
	{"could_not_die", "killed daemons that died only when their connection was aborted"},
	{"violations", "violations"},
}

// tierFigures is all that is counted of the histories of a tier; two of them can be added.
type tierFigures struct {
	Figures    map[string]int `json:"figures"`
	Calls      map[string]int `json:"calls_by_kind"`
	Faults     map[string]int `json:"faults_by_kind"`
	Points     map[string]int `json:"faults_by_point"` // "where what"
	Violations map[string]int `json:"violations_by_kind"`
}

func newTierFigures() *tierFigures {
	return &tierFigures{map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}}
}

func (f *tierFigures) add(o *tierFigures) {
	for _, pair := range [][2]map[string]int{{f.Figures, o.Figures}, {f.Calls, o.Calls}, {f.Faults, o.Faults}, {f.Points, o.Points}, {f.Violations, o.Violations}} {
		for k, n := range pair[1] {
			pair[0][k] += n
		}
	}
}

// figures counts a history that has ended.
func (h *history) figures() *tierFigures {
	f := newTierFigures()
	n := f.Figures
	n["histories"], n["worktrees"], n["reported_late"], n["unblocked"] = 1, len(h.trees), h.late, int(h.unblockedBy.Load())
	for _, t := range h.trees {
		n["writes_landed"] += t.Landed
		n["grants"] += t.Grants
		n["takeovers"] += t.Takeovers
		n["steals"] += len(t.Steals)
		n["resumed"] += t.Resumed
		n["observed"] += t.Observed
		n["stale_landed"] += t.StaleLanded
		n["acknowledged_stale"] += t.StaleAcked
		all, stopped := h.takeoversHeld(t)
		n["takeovers_held"] += all
		n["takeovers_held_stop"] += stopped
		f.countCalls(t.Calls)
	}
	f.countEvents(h.events)
	for name, times := range h.did {
		n[name] += times
	}
	for _, b := range h.bad {
		f.Violations[b.Kind]++
		n["violations"]++
	}
	return f
}

var callNames = map[byte]string{callAppend: "append", callSlot: "pwrite", callMap: "mmap store", callCreate: "create",
	callUnlink: "unlink", callRename: "rename over", callTruncate: "truncate"}

func (f *tierFigures) countCalls(calls []*call) {
	for _, c := range calls {
		f.Figures["calls"]++
		f.Calls[callNames[c.Kind]]++
		switch {
		case c.acked():
			f.Figures["acknowledged"]++
		case c.Result == resultRefused:
			f.Figures["refused"]++
		default:
			f.Figures["open"]++
		}
	}
}

func (f *tierFigures) countEvents(events []event) {
	for _, e := range events {
		if e.what == "stopping" { // noted again when it ends
			continue
		}
		if e.what == "could_not_die" { // nothing that was done to it
			f.Figures[e.what]++
			continue
		}
		if name := operationOf(e); name != "" {
			f.Figures[name]++
			continue
		}
		f.Points[e.where+" "+e.what]++
		f.Faults[e.kind()]++
		if s := stepOf(e.where); s != "" && e.what == "kill" {
			f.Figures["kills_"+s]++
		}
	}
}

// operationOf is the figure that counts an operation of a host; what did not come about has none.
func operationOf(e event) string {
	switch e.where + " " + e.what {
	case "mode observe", "mode readonly":
		return "switches"
	case "record litter", "record forge":
		return "hostile"
	case "mounts serves":
		return "second_mounts"
	case "mounts refused":
		return "second_refused"
	case "recover done":
		return "recoveries"
	case "replace done":
		return "replacements"
	}
	return ""
}

// stepOf is the step of the protocol that a point belongs to.
func stepOf(point string) string {
	if point == "claim.after_publish" {
		return "publish"
	}
	step, _, _ := strings.Cut(point, ".")
	switch step {
	case "withdraw":
		return "release"
	case "claim", "publish", "renew", "release":
		return step
	}
	return ""
}

// kind is what a fault is called in the report.
func (e event) kind() string {
	switch e.what {
	case "short":
		return "thread held for up to 10 ms, at a point"
	case "long":
		return "thread held for half a lease or more, at a point"
	case "kill", "stop":
		return map[string]string{"writer": "writer", "thread": "one thread of a daemon, anywhere,", "process": "daemon, anywhere,"}[e.where] +
			map[bool]string{true: "", false: "daemon, at a point,"}[e.where == "writer" || e.where == "thread" || e.where == "process"] +
			map[string]string{"kill": " killed", "stop": " stopped"}[e.what]
	case "step", "slew":
		return "wall clock: " + e.what
	}
	if strings.HasPrefix(e.what, "E") {
		return diskOf(e.where) + ": " + e.what
	}
	return strings.ReplaceAll(e.where+": "+e.what, "_", " ")
}

func diskOf(where string) string {
	switch {
	case where == "disk":
		return "spell of a failing disk"
	case strings.HasPrefix(where, "audit."):
		return "audit log"
	case where == "open" || where == "open.create" || where == "list" || where == "look":
		return "lock directory, " + where
	}
	return "lock directory, change"
}

// takeoversHeld counts the takeovers over a write that was held between its check and its backing call: under the token that
// was taken over, on the host of its holder, and the last thing that was done under it, for nothing that began later was
// acknowledged.
func (h *history) takeoversHeld(t *tree) (all, stopped int) {
	acked := map[uint64]int64{} // by token: when the last call began that was acknowledged
	for _, c := range t.Calls {
		if c.acked() {
			acked[c.Token] = max(acked[c.Token], c.Begin)
		}
	}
	held := h.holds(t)
	real := plan.Realtime() - plan.Monotonic() // grants are stamped with the wall clock
	var last plan.Record
	for _, r := range t.Log {
		if r.Kind != plan.KindBegin || r.Token < last.Token {
			continue
		}
		mattered := func(e event) bool {
			return e.token == last.Token && e.host == last.Host && e.begin+real < r.Wall && acked[e.token] <= e.end
		}
		if last.Token != 0 && !sameHolder(r, last) {
			if slices.ContainsFunc(held, mattered) {
				all++
			}
			if slices.ContainsFunc(held, func(e event) bool { return mattered(e) && e.what != "long" }) {
				stopped++
			}
		}
		last = r
	}
	return all, stopped
}

// holds are the long pauses of writes to the worktree. A stop whose end was not noted ended with its daemon.
func (h *history) holds(t *tree) (held []event) {
	type stop struct {
		host  int
		begin int64
	}
	ended := map[stop]bool{}
	for _, e := range h.events {
		if e.what == "stop" {
			ended[stop{e.host, e.begin}] = true
		}
	}
	for _, e := range h.events {
		if !strings.HasPrefix(e.where, "admitted.") || h.treeOf(e.worktree) != t {
			continue
		}
		switch {
		case e.what == "long", e.what == "stop":
			held = append(held, e)
		case e.what == "stopping" && !ended[stop{e.host, e.begin}]:
			e.end = 1<<63 - 1
			held = append(held, e)
		}
	}
	return held
}
