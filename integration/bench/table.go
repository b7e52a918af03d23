package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// grid is the table as text: the heads first.
func (run mediumRun) grid() [][]string {
	head := []string{"on " + run.Medium, "native"}
	for _, t := range run.Targets[1:] {
		head = append(head, t)
		switch {
		case t == withRules:
			head = append(head, withRules+" ÷ jvsfs")
		case isJvsfs(t):
			head = append(head, "requests", "its daemon")
		}
	}
	rows := [][]string{head}
	for _, r := range run.Rows {
		rows = append(rows, run.line(r))
	}
	return append(rows, run.means())
}

func (run mediumRun) line(r result) []string {
	line := []string{r.Row, timeText(r.perOp("native")) + "/" + r.Unit}
	for _, t := range run.Targets[1:] {
		c := r.Cells[t]
		line = append(line, ratioText(c))
		switch {
		case t == withRules:
			line = append(line, ratioOf(c.Plain))
		case isJvsfs(t):
			line = append(line, fmt.Sprintf("%.2f", total(c.Requests)), timeText(perOpOf(c.Daemon, r.Ops)))
		}
	}
	return line
}

func (run mediumRun) means() []string {
	line := []string{"geometric mean", ""}
	for _, t := range run.Targets[1:] {
		line = append(line, meanText(run.mean(t)))
		switch {
		case t == withRules:
			line = append(line, meanText(run.meanOf(func(r result) float64 { return r.Cells[t].Plain.Median })))
		case isJvsfs(t):
			line = append(line, "", "")
		}
	}
	return line
}

func meanText(mean float64) string {
	if mean == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", mean)
}

// mean is the geometric mean of a target over all rows.
func (run mediumRun) mean(target string) float64 {
	return run.meanOf(func(r result) float64 { return r.Cells[target].Ratio.Median })
}

// meanOf is the geometric mean of a figure over all rows.
func (run mediumRun) meanOf(of func(result) float64) float64 {
	var ratios []float64
	for _, r := range run.Rows {
		ratios = append(ratios, of(r))
	}
	return geometricMean(ratios)
}

// total counts the requests, without those that tell the daemon what the kernel has forgotten: they come in batches, and
// whenever the kernel likes.
func total(requests map[string]float64) float64 {
	sum := 0.0
	for kind, n := range requests {
		if kind != "Forget" {
			sum += n
		}
	}
	return sum
}

func ratioText(c *cell) string {
	if c.Error != "" || len(c.Times) == 0 {
		return "-"
	}
	return ratioOf(c.Ratio)
}

func ratioOf(s spread) string { return fmt.Sprintf("%.2f (%.2f..%.2f)", s.Median, s.Min, s.Max) }

func timeText(d time.Duration) string {
	switch {
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", float64(d)/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	}
	return fmt.Sprintf("%.1f ms", float64(d)/1e6)
}

func writeAligned(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

func writeMarkdown(w io.Writer, rows [][]string) error {
	for i, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	return nil
}

// summary is what is shown while the run goes on.
func summary(r result, targets []*mounted) string {
	parts := []string{r.Row, timeText(r.perOp("native"))}
	for _, m := range targets[1:] {
		parts = append(parts, fmt.Sprintf("%s %.2f", m.name, r.Cells[m.name].Ratio.Median))
	}
	return strings.Join(parts, "  ")
}
