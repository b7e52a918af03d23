package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/jvsfs/jvsfs/integration/torture/plan"
)

// sums are the figures of all histories of a tier.
type sums struct {
	histories, calls, acked, refused, open int
	steals, held, late, stuck              int
	tally
	bad map[string]int
}

// report is what a run says.
type report struct {
	options
	began time.Time

	mu        sync.Mutex
	started   int
	histories int // ended
	tiers     map[string]*sums
	faults    map[[2]string]int // where, what
	broken    error
}

func newReport(o options) *report {
	return &report{options: o, began: time.Now(), tiers: map[string]*sums{}, faults: map[[2]string]int{}}
}

// next is the next history, nil when there is to be none.
func (r *report) next() *history {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil || r.untilCaught && r.violations() > 0 {
		return nil
	}
	h := &history{options: r.options, number: r.started, seed: plan.SeedOf(r.seed, uint64(r.started))}
	r.started++
	return h
}

func (r *report) violations() (n int) {
	for _, s := range r.tiers {
		for _, k := range s.bad {
			n += k
		}
	}
	if r.broken != nil {
		n++
	}
	return n
}

// kinds names what was found, with how often.
func (r *report) kinds() string {
	all := map[string]int{}
	for _, s := range r.tiers {
		for kind, n := range s.bad {
			all[kind] += n
		}
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", kind, all[kind]))
	}
	return strings.Join(parts, ", ")
}

// add takes a history that has ended.
func (r *report) add(h *history, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.broken = fmt.Errorf("history %d: %w (see %s)", h.number, err, h.base)
		return
	}
	r.histories++
	s := r.tiers[h.tier]
	if s == nil {
		s = &sums{bad: map[string]int{}}
		r.tiers[h.tier] = s
	}
	s.histories++
	for _, c := range h.Calls {
		s.calls++
		switch {
		case c.acked():
			s.acked++
		case c.refused():
			s.refused++
		default:
			s.open++
		}
	}
	s.steals += h.steals
	s.late += h.late
	s.stuck += h.unblocked
	s.held += h.takeoversWithWriteHeld()
	s.Grants += h.tally.Grants
	s.Takeovers += h.tally.Takeovers
	s.Landed += h.tally.Landed
	s.StaleLanded += h.tally.StaleLanded
	s.StaleAcked += h.tally.StaleAcked
	for _, e := range h.events {
		if e.what != "stopping" {
			r.faults[[2]string{e.where, e.what}]++
		}
	}
	for _, b := range h.bad {
		s.bad[b.Kind]++
	}
	if h.stuck {
		fmt.Printf("history %d (tier %s, seed %d of the run): after the end of all faults nobody could write for 8 s; see %s\n", h.number, h.tier, h.options.seed, h.base)
	}
	if r.verbose {
		fmt.Printf("history %d (tier %s, seed %d): %d calls, %d grants, %d takeovers, %d steals, %d findings\n",
			h.number, h.tier, h.seed, len(h.Calls), h.tally.Grants, h.tally.Takeovers, h.steals, len(h.bad))
	}
	if len(h.bad) > 0 && !r.untilCaught {
		h.tell()
	}
}

// takeoversWithWriteHeld counts the grants to another writer that came while, or as soon as, a daemon was held between the
// check of a write and its backing call.
func (h *history) takeoversWithWriteHeld() (n int) {
	type span struct{ begin, end int64 }
	var spans []span
	real := plan.Realtime() - plan.Monotonic() // grants are stamped with the wall clock
	for _, e := range h.events {
		if strings.HasPrefix(e.where, "admitted.") && (e.what == "long" || e.what == "stop") {
			spans = append(spans, span{e.begin + real, e.end + real + int64(h.span(h.RenewMS))})
		}
	}
	var last plan.Record
	for _, r := range h.evidence.Log {
		if r.Kind != plan.KindBegin {
			continue
		}
		taken := last.Token != 0 && (r.Host != last.Host || r.PID != last.PID)
		last = r
		if taken && slices.ContainsFunc(spans, func(s span) bool { return s.begin < r.Wall && r.Wall < s.end }) {
			n++
		}
	}
	return n
}

// tell prints the findings of a history, with what landed around them.
func (h *history) tell() {
	fmt.Printf("\nVIOLATION in history %d, tier %s, seed %d of the run (%d of the history); all of it is in %s\n", h.number, h.tier, h.options.seed, h.seed, h.base)
	for i, b := range h.bad {
		if i == 5 {
			fmt.Printf("  and %d more\n", len(h.bad)-i)
			break
		}
		fmt.Printf("  %s: %s\n", b.Kind, b.Text)
		if b.Line < 0 {
			continue
		}
		for j := max(0, b.Line-6); j < min(len(h.evidence.Log), b.Line+4); j++ {
			mark := " "
			if j == b.Line {
				mark = ">"
			}
			fmt.Printf("    %s %6d  %s", mark, j, h.evidence.Log[j].Encode())
		}
	}
}

func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "\nseed %d, %s, %d hosts with %d writers each, lease %d ms, renewed every %d, skew %d, grace %d\n",
		r.seed, time.Since(r.began).Round(time.Second), r.hosts, r.writers, r.LeaseMS, r.RenewMS, r.SkewMS, r.GraceMS)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...any) {
		for _, c := range cells {
			fmt.Fprintf(t, "%v\t", c)
		}
		fmt.Fprintln(t)
	}
	row("tier", "histories", "calls", "acknowledged", "refused", "open", "grants", "takeovers", "steals", "with a write held",
		"stale landed", "acknowledged stale", "reported late", "unblocked by an admin", "violations")
	for _, tier := range slices.Sorted(maps.Keys(r.tiers)) {
		s, bad := r.tiers[tier], 0
		for _, n := range s.bad {
			bad += n
		}
		row(tier, s.histories, s.calls, s.acked, s.refused, s.open, s.Grants, s.Takeovers, s.steals, s.held,
			s.StaleLanded, s.StaleAcked, s.late, s.stuck, bad)
	}
	_ = t.Flush()
	r.printFaults(w)
	if r.broken != nil {
		fmt.Fprintln(w, "the run itself failed:", r.broken)
	}
	if k := r.kinds(); k != "" {
		fmt.Fprintln(w, "violations:", k)
	} else {
		fmt.Fprintln(w, "no violation")
	}
}

func (r *report) printFaults(w io.Writer) {
	what := map[string]bool{}
	where := map[string]map[string]int{}
	for k, n := range r.faults {
		what[k[1]] = true
		if where[k[0]] == nil {
			where[k[0]] = map[string]int{}
		}
		where[k[0]][k[1]] += n
	}
	columns := slices.Sorted(maps.Keys(what))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\nfaults at\t%s\t\n", strings.Join(columns, "\t"))
	for _, place := range slices.Sorted(maps.Keys(where)) {
		fmt.Fprintf(t, "%s\t", place)
		for _, c := range columns {
			if n := where[place][c]; n > 0 {
				fmt.Fprint(t, n)
			}
			fmt.Fprint(t, "\t")
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}
