package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// The ratios of a release are kept beside the program, to be compared with later ones.

// slower is how much a ratio, or the number of requests, may grow unremarked.
const slower = 1.10

var savedHead = []string{"medium", "row", "target", "ratio", "smallest", "largest", "requests", "daemon µs"}

// saved is a file of ratios.
type saved struct {
	about []string // its comments: machine, date, command
	cells map[cellKey]savedCell
}

type cellKey struct{ medium, row, target string }

type savedCell struct{ ratio, requests float64 } // requests below 0: not known

// save writes what was measured.
func (rep report) save(path string) error {
	if path == "" {
		return nil
	}
	var out bytes.Buffer
	for _, line := range rep.Conditions.lines() {
		fmt.Fprintln(&out, "# "+line)
	}
	w := csv.NewWriter(&out)
	_ = w.Write(savedHead) // a buffer takes all
	for _, run := range rep.Media {
		for _, r := range run.Rows {
			for _, t := range run.Targets[1:] {
				if c := r.Cells[t]; c.Error == "" && len(c.Times) > 0 {
					_ = w.Write(append([]string{run.Medium, r.Row, t}, c.fields(r, t)...))
				}
			}
		}
	}
	w.Flush()
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func (c *cell) fields(r result, target string) []string {
	out := []string{fmt.Sprintf("%.3f", c.Ratio.Median), fmt.Sprintf("%.3f", c.Ratio.Min), fmt.Sprintf("%.3f", c.Ratio.Max), ""}
	if isJvsfs(target) {
		out[3] = fmt.Sprintf("%.2f", total(c.Requests))
	}
	return append(out, fmt.Sprintf("%.2f", float64(perOpOf(c.Daemon, r.Ops))/1e3))
}

// lines are what a reader must know of the figures.
func (c conditions) lines() []string {
	out := []string{
		fmt.Sprintf("jvsfs at commit %s; %s; %s", c.Commit, c, c.Processor),
		fmt.Sprintf("%s, by: %s", c.When.Format("2006-01-02 15:04 MST"), c.Command),
	}
	if c.busy() {
		out = append(out, fmt.Sprintf("provisional: others used the machine (load average %.1f before the run)", c.Load))
	}
	return out
}

func readSaved(path string) (saved, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return saved{}, err
	}
	s := saved{cells: map[cellKey]savedCell{}}
	for line := range strings.Lines(string(text)) {
		if about, ok := strings.CutPrefix(line, "# "); ok {
			s.about = append(s.about, strings.TrimSpace(about))
		}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment = '#'
	r.FieldsPerRecord = len(savedHead)
	records, err := r.ReadAll()
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	for _, f := range records[min(1, len(records)):] {
		c, err := savedFields(f)
		if err != nil {
			return s, fmt.Errorf("%s: %v: %w", path, f, err)
		}
		s.cells[cellKey{f[0], f[1], f[2]}] = c
	}
	return s, nil
}

func savedFields(f []string) (c savedCell, err error) {
	c.requests = -1
	if c.ratio, err = strconv.ParseFloat(f[3], 64); err != nil || f[6] == "" {
		return c, err
	}
	c.requests, err = strconv.ParseFloat(f[6], 64)
	return c, err
}

// compareWith prints the rows that got worse. Whoever calls it decides what that means: a ratio of a busy machine, or of
// another one, says little, the number of requests much.
func (rep report) compareWith(path string) error {
	if path == "" {
		return nil
	}
	s, err := readSaved(path)
	if err != nil {
		return err
	}
	rep.printCompared(os.Stdout, s)
	return nil
}

func (rep report) printCompared(w io.Writer, s saved) {
	fmt.Fprintf(w, "\ncompared with: %s\n", strings.Join(s.about, "\n  "))
	compared, worse := 0, 0
	for _, run := range rep.Media {
		for _, r := range run.Rows {
			for _, t := range run.Targets[1:] {
				was, ok := s.cells[cellKey{run.Medium, r.Row, t}]
				if c := r.Cells[t]; ok && c.Error == "" && len(c.Times) > 0 {
					compared++
					worse += printWorse(w, fmt.Sprintf("%s on %s, %s", r.Row, run.Medium, t), c, was)
				}
			}
		}
	}
	fmt.Fprintf(w, "%d of %d rows are worse by more than 10 %%\n", worse, compared)
	if rep.Conditions.busy() {
		fmt.Fprintf(w, "the machine was busy (load average %.1f): only requests, and rows that come again, tell something\n", rep.Conditions.Load)
	}
}

// printWorse returns 1 if the cell is worse than it was.
func printWorse(w io.Writer, name string, c *cell, was savedCell) int {
	worse := 0
	if was.ratio > 0 && c.Ratio.Median > slower*was.ratio {
		every := ""
		if c.Ratio.Min > slower*was.ratio {
			every = ", in every round"
		}
		fmt.Fprintf(w, "regression: %s: %.2f times native, was %.2f (%+.0f %%%s)\n",
			name, c.Ratio.Median, was.ratio, 100*(c.Ratio.Median/was.ratio-1), every)
		worse = 1
	}
	// A hundredth of a request is one that came by chance.
	if now := total(c.Requests); was.requests >= 0 && now > slower*was.requests && now > was.requests+0.02 {
		fmt.Fprintf(w, "regression: %s: %.2f requests, were %.2f\n", name, now, was.requests)
		worse = 1
	}
	return worse
}
