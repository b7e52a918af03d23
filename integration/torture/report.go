package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// report is what a run says.
type report struct {
	options
	began time.Time

	mu      sync.Mutex
	started int
	tiers   map[string]*tierFigures
	broken  error
}

func newReport(o options) *report {
	return &report{options: o, began: time.Now(), tiers: map[string]*tierFigures{}}
}

// next is the next history, nil when there is to be none.
func (r *report) next(length time.Duration) *history {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil || r.untilCaught && r.violations() > 0 {
		return nil
	}
	h := &history{options: r.options, number: r.started, seed: plan.SeedOf(r.seed, uint64(r.started))}
	h.length = length
	r.started++
	return h
}

func (r *report) count(figure string) (n int) {
	for _, f := range r.tiers {
		n += f.Figures[figure]
	}
	return n
}

func (r *report) violations() int {
	if r.broken != nil {
		return r.count("violations") + 1
	}
	return r.count("violations")
}

// kinds names the findings and their numbers.
func (r *report) kinds() string {
	all := newTierFigures()
	for _, f := range r.tiers {
		all.add(f)
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(all.Violations)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, all.Violations[kind]))
	}
	return strings.Join(parts, ", ")
}

// add takes a history that has ended.
func (r *report) add(h *history, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.broken = fmt.Errorf("history %d: %w (see %s)", h.number, err, h.Base)
		return
	}
	f := h.figures()
	if r.tiers[h.tier] == nil {
		r.tiers[h.tier] = newTierFigures()
	}
	r.tiers[h.tier].add(f)
	if h.stuck {
		fmt.Printf("history %d (tier %s, seed %d of the run): after the end of all faults nobody could write for %v; see %s\n", h.number, h.tier, h.options.seed, h.patience(), h.Base)
	}
	if r.verbose {
		n := f.Figures
		fmt.Printf("history %d (tier %s, seed %d): %d calls, %d grants, %d takeovers, %d steals, %d findings\n",
			h.number, h.tier, h.seed, n["calls"], n["grants"], n["takeovers"], n["steals"], len(h.bad))
	}
	if len(h.bad) > 0 && !r.untilCaught {
		h.tell()
	}
}

// tell prints the findings of a history, with what landed around them.
func (h *history) tell() {
	fmt.Printf("\nVIOLATION in history %d, tier %s, seed %d of the run (%d of the history); all of it is in %s\n", h.number, h.tier, h.options.seed, h.seed, h.Base)
	for _, t := range h.trees {
		t.tell()
	}
	for _, b := range h.bad {
		if !slices.ContainsFunc(h.trees, func(t *tree) bool { return slices.Contains(t.bad, b) }) {
			fmt.Printf("  %s: %s\n", b.Kind, b.Text)
		}
	}
}

func (t *tree) tell() {
	for i, b := range t.bad {
		if i == 5 {
			fmt.Printf("  and %d more\n", len(t.bad)-i)
			return
		}
		fmt.Printf("  %s%s: %s\n", map[bool]string{true: "worktree " + t.ID + ": ", false: ""}[t.ID != ""], b.Kind, b.Text)
		if b.Line < 0 {
			continue
		}
		for j := max(0, b.Line-6); j < min(len(t.Log), b.Line+4); j++ {
			mark := " "
			if j == b.Line {
				mark = ">"
			}
			fmt.Printf("    %s %6d  %s", mark, j, t.evidence.Log[j].Encode())
		}
	}
}

// runFigures is a run, or the sum of several, in the form that --json writes and --sum reads.
type runFigures struct {
	Version int                     `json:"version"`
	Runs    []runHead               `json:"runs"`
	Tiers   map[string]*tierFigures `json:"tiers"`
}

type runHead struct {
	Seed    uint64 `json:"seed"`
	Tier    string `json:"tier"`
	Seconds int    `json:"seconds"`
	Hosts   int    `json:"hosts"`
	Writers int    `json:"writers_of_a_worktree"`
	LeaseMS int    `json:"lease_ms"`
	RenewMS int    `json:"renew_ms"`
	SkewMS  int    `json:"skew_ms"`
	GraceMS int    `json:"grace_ms"`
	Broken  string `json:"broken,omitempty"` // why the run itself failed
}

func (r *report) sum() runFigures {
	head := runHead{r.seed, r.tier, int(time.Since(r.began).Seconds()), r.hosts, r.writers, r.LeaseMS, r.RenewMS, r.SkewMS, r.GraceMS, ""}
	if r.broken != nil {
		head.Broken = r.broken.Error()
	}
	return runFigures{1, []runHead{head}, r.tiers}
}

func (f runFigures) save(name string) error {
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(b, '\n'), 0o666)
}
