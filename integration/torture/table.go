package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// print writes the figures as tables, a column for each tier.
func (f runFigures) print(w io.Writer, points bool) {
	for _, r := range f.Runs {
		fmt.Fprintf(w, "\nseed %d, tier %s, %d s, %d hosts with %d writers of each worktree, lease %d ms, renewed every %d, skew %d, grace %d\n",
			r.Seed, r.Tier, r.Seconds, r.Hosts, r.Writers, r.LeaseMS, r.RenewMS, r.SkewMS, r.GraceMS)
	}
	tiers := slices.Sorted(maps.Keys(f.Tiers))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "\n")
	row := func(label string, of func(*tierFigures) int) {
		fmt.Fprint(t, label)
		for _, tier := range tiers {
			fmt.Fprintf(t, "\t%9s", thousands(of(f.Tiers[tier])))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "tier")
	for _, tier := range tiers {
		fmt.Fprintf(t, "\t%9s", strings.ToUpper(tier))
	}
	fmt.Fprintln(t)
	for _, r := range figureRows {
		row(r.label, func(f *tierFigures) int { return f.Figures[r.name] })
	}
	section := func(title string, of func(*tierFigures) map[string]int) {
		fmt.Fprintf(t, "\n%s\n", title)
		for _, k := range f.keys(of) {
			row("  "+k, func(f *tierFigures) int { return of(f)[k] })
		}
	}
	section("calls by kind", func(f *tierFigures) map[string]int { return f.Calls })
	section("faults by kind", func(f *tierFigures) map[string]int { return f.Faults })
	if points {
		section("faults by point", func(f *tierFigures) map[string]int { return f.Points })
	}
	if len(f.keys(violationsOf)) > 0 {
		section("violations by kind", violationsOf)
	}
	_ = t.Flush()
	f.verdict(w)
}

func violationsOf(f *tierFigures) map[string]int { return f.Violations }

func (f runFigures) keys(of func(*tierFigures) map[string]int) []string {
	all := map[string]bool{}
	for _, t := range f.Tiers {
		for k := range of(t) {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// clean is whether nothing was found, and something was looked at.
func (f runFigures) clean() bool {
	histories := 0
	for _, t := range f.Tiers {
		histories += t.Figures["histories"]
	}
	return histories > 0 && len(f.keys(violationsOf)) == 0 && !slices.ContainsFunc(f.Runs, func(r runHead) bool { return r.Broken != "" })
}

func (f runFigures) verdict(w io.Writer) {
	for _, r := range f.Runs {
		if r.Broken != "" {
			fmt.Fprintf(w, "the run of seed %d itself failed: %s\n", r.Seed, r.Broken)
		}
	}
	switch {
	case f.clean():
		fmt.Fprintln(w, "\nno violation")
	case len(f.keys(violationsOf)) > 0:
		fmt.Fprintln(w, "\nVIOLATIONS")
	}
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// sumFiles adds the figures of several runs and prints them.
func sumFiles(names []string, json string) int {
	all := runFigures{Version: 1, Tiers: map[string]*tierFigures{}}
	for _, name := range names {
		if err := all.addFile(name); err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
			return 2
		}
	}
	all.print(os.Stdout, false)
	if json != "" {
		if err := all.save(json); err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
			return 2
		}
	}
	if !all.clean() {
		return 1
	}
	return 0
}

func (f *runFigures) addFile(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var one runFigures
	if err := json.Unmarshal(b, &one); err != nil {
		return fmt.Errorf("%s: not a file of --json: %w", name, err)
	}
	if one.Version != 1 {
		return fmt.Errorf("%s: not a file of --json", name)
	}
	f.Runs = append(f.Runs, one.Runs...)
	for tier, figures := range one.Tiers {
		if f.Tiers[tier] == nil {
			f.Tiers[tier] = newTierFigures()
		}
		f.Tiers[tier].add(figures)
	}
	return nil
}
