package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/integration/conformance/cases"
)

// table is what one directory gave: case to outcome.
type table map[string]string

func readTable(path string) (table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	t := make(table)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		name, outcome, _ := strings.Cut(lines.Text(), "\t")
		t[name] = outcome
	}
	return t, lines.Err()
}

// suiteCount is one line of the summary.
type suiteCount struct{ cases, differ, excepted int }

// report compares, prints what differs and a line for each suite, and returns how
// many differences nothing excuses.
func report(w io.Writer, native, mount table, excused cases.Exceptions, all bool) (total suiteCount) {
	suites := make(map[string]*suiteCount)
	for _, name := range slices.Sorted(maps.Keys(union(native, mount))) {
		suite := cases.Topic(name)
		if suites[suite] == nil {
			suites[suite] = new(suiteCount)
		}
		n, m := outcomeOf(native, name), outcomeOf(mount, name)
		suites[suite].cases++
		if n == m {
			if all {
				fmt.Fprintf(w, "same    %s\t%s\n", name, n)
			}
			continue
		}
		suites[suite].differ++
		cause := excused.Cause(name)
		if passes(m) && !passes(n) {
			cause = "the plain directory fails it"
		}
		if cause != "" {
			suites[suite].excepted++
		}
		showDifference(w, name, n, m, cause)
	}
	fmt.Fprintf(w, "\n%-16s %8s %8s %8s\n", "suite", "cases", "differ", "excepted")
	for _, suite := range slices.Sorted(maps.Keys(suites)) {
		s := suites[suite]
		fmt.Fprintf(w, "%-16s %8d %8d %8d\n", suite, s.cases, s.differ, s.excepted)
		total.cases, total.differ, total.excepted = total.cases+s.cases, total.differ+s.differ, total.excepted+s.excepted
	}
	return total
}

// passes reads the verdicts of the suites that give one; notes of cases give none.
func passes(outcome string) bool { return outcome == "pass" || outcome == "PASS" }

func union(a, b table) table {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func outcomeOf(t table, name string) string {
	if o, ran := t[name]; ran {
		return o
	}
	return "did not run"
}

// showDifference prints the steps that differ, not the whole story.
func showDifference(w io.Writer, name, native, mount, cause string) {
	label := "DIFFERS"
	if cause != "" {
		label = "except "
	}
	fmt.Fprintf(w, "%s %s\n", label, name)
	n, m := strings.Split(native, " | "), strings.Split(mount, " | ")
	shown := 0
	for i := range max(len(n), len(m)) {
		a, b := stepOf(n, i), stepOf(m, i)
		if a == b {
			continue
		}
		if shown++; shown > 3 {
			fmt.Fprintf(w, "          ...\n")
			break
		}
		fmt.Fprintf(w, "          native %s\n          mount  %s\n", a, b)
	}
	if cause != "" {
		fmt.Fprintf(w, "          because %s\n", cause)
	}
}

func stepOf(steps []string, i int) string {
	if i < len(steps) {
		return steps[i]
	}
	return "-"
}
