package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/integration/part"
	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// options are those of a run.
type options struct {
	seed           uint64
	limit, length  time.Duration
	tier, mutant   string
	part           part.Part
	lacks          []string
	quick          bool
	root           string // of the module, of which mutants are built
	focus          string
	theme          theme // "": they take turns
	untilCaught    bool
	jvsfs, dir     string
	hosts, writers int
	parallel, slow int
	verbose        bool
	noFaults       bool
	onFree         string // "": drawn
	without        repertoire
	json           string
	policy
}

// shortest is a history that is worth its start.
const shortest = 3 * time.Second

// runAll runs histories until the time is over.
func runAll(o options) *report {
	tidyOnSignal()
	r := newReport(o)
	end := r.began.Add(o.limit - time.Second) // its hosts must end, too
	var all sync.WaitGroup
	for range o.parallel {
		all.Go(func() {
			runtime.LockOSThread() // hosts die with the thread that started them
			for left := time.Until(end); left > shortest; left = time.Until(end) {
				h := r.next(min(o.length, left))
				if h == nil {
					return
				}
				r.add(h, h.run())
			}
		})
	}
	all.Wait()
	return r
}

// history is a fresh backing directory, some hosts, and the record of their actions.
type history struct {
	options
	layout
	number int
	seed   uint64
	stuck  bool // nobody could write any more after the faults had ended
	// How often a record's stamp was set right (tier C).
	unblockedBy atomic.Int64

	roamer *os.File // the log of the roaming worktree
	roamed []plan.Record
	// roamedOn is WentOn of the roaming worktree.
	roamedOn wentOn
	trees    []*tree
	bad      []finding
	events   []event
	log      []string       // what daemons said that no daemon should
	late     int            // late writes that daemons reported
	did      map[string]int // operations, by the name of their figure
}

// tree is one worktree of a history, and what is known of it.
type tree struct {
	place
	evidence
	tally
	bad []finding
}

func (h *history) run() (err error) {
	rng := rand.New(rand.NewPCG(h.seed, 3))
	if h.tier == "both" {
		h.tier = "a"
		if h.number%4 == 3 {
			h.tier = "c"
		}
	}
	h.did = map[string]int{}
	h.theme = h.themeOf(h.number)
	h.Repo = rng.IntN(4) > 0 || h.theme.dense() && rng.IntN(2) == 0
	h.Roams = h.Repo && !h.noFaults && h.without.has(opRename) && !h.theme.dense()
	if h.Roams && h.focus == "" && h.theme.alone(rng) {
		h.hosts = 1 // else somebody else nearly always serves the repository, and no root is renamed
	}
	if h.Base, err = os.MkdirTemp(h.dir, "jvsfs-torture-"); err != nil {
		return err
	}
	if err := h.make(); err != nil {
		return err
	}
	for _, p := range h.places() {
		h.trees = append(h.trees, &tree{place: p})
	}
	if h.Roams {
		if h.roamer, err = h.makeRoamer(); err != nil {
			return err
		}
		defer h.roamer.Close() //nolint:errcheck // the hosts have their own
	}
	if err := h.play(rng); err != nil {
		return err
	}
	if err := h.collect(); err != nil {
		return err
	}
	h.judge()
	if len(h.bad) == 0 && !h.stuck || h.untilCaught {
		return os.RemoveAll(h.Base)
	}
	return nil
}

// Findings that are not the checker's.
const (
	badStuck = "stuck"
	badLog   = "a daemon's log"
)

func (h *history) judge() {
	for _, t := range h.trees {
		t.bad, t.tally = check(t.evidence)
		h.bad = append(h.bad, t.bad...)
	}
	if h.Roams {
		bad, moved, landed := checkRoam(h.roamed, h.roamedOn, h.tier == "c")
		h.bad = append(h.bad, bad...)
		h.did["renames"] += moved
		h.did["roamed"] += landed
	}
	if h.stuck && h.tier == "a" { // where there is no lock manager safety is promised, and not progress
		h.bad = append(h.bad, finding{Kind: badStuck, Text: fmt.Sprintf("after the end of all faults nobody could write for %v", h.patience()), Line: -1})
	}
	for _, line := range h.log {
		h.bad = append(h.bad, finding{Kind: badLog, Text: line, Line: -1})
	}
}

// logSize is how far the log of a worktree has come.
func (h *history) logSize(p place) int64 {
	info, err := os.Stat(h.backing(p, "log"))
	if err != nil {
		return 0
	}
	return info.Size()
}

func (h *history) span(ms int) time.Duration { return h.policy.span(ms) }

// progressPatience is how long a history may take to get going again once its faults are over.
// A rule that is broken keeps writers out for ever. A machine that has no time for the renewal
// of leases this short (a load of 90) keeps them out for some seconds.
const progressPatience = 40 * time.Second

// patience is that of a history whose leases last longer.
func (o options) patience() time.Duration { return time.Duration(max(o.slow, 1)) * progressPatience }

// awaitProgress waits until the writers of every worktree are at work again.
func (h *history) awaitProgress() {
	time.Sleep(300 * time.Millisecond)
	was := map[place]int64{}
	for _, p := range h.places() {
		was[p] = h.logSize(p)
	}
	for end := time.Now().Add(h.patience()); len(was) > 0; time.Sleep(10 * time.Millisecond) {
		if h.stuck = time.Now().After(end); h.stuck {
			return
		}
		for p, size := range was {
			if h.logSize(p) > size+10*plan.RecordSize {
				delete(was, p)
			}
		}
	}
}
