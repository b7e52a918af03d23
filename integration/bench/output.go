package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func (rep report) write(opts options) error {
	fmt.Println(rep.Conditions)
	for _, run := range rep.Media {
		fmt.Println()
		write := writeAligned
		if opts.markdown {
			write = writeMarkdown
		}
		if err := run.print(os.Stdout, opts, write); err != nil {
			return err
		}
	}
	return errors.Join(rep.draw(opts.plot), rep.writeJSON(opts.json), rep.compareWith(opts.compare), rep.save(opts.save))
}

func (run mediumRun) print(w io.Writer, opts options, write func(io.Writer, [][]string) error) error {
	if len(run.Rows) > 0 {
		if err := write(w, run.grid()); err != nil {
			return err
		}
	}
	if opts.cpu {
		fmt.Fprintln(w)
		if err := write(w, run.cpuGrid()); err != nil {
			return err
		}
	}
	if opts.requests {
		run.printRequests(w)
	}
	if opts.floor || run.hasFloor() {
		if err := run.printFloors(w, write); err != nil {
			return err
		}
	}
	run.printLeftOut(w)
	return errors.Join(printRefusals(w, run.Refusals, write), printSessions(w, run, write), printScalings(w, run, write))
}

func (rep report) writeJSON(path string) error {
	if path == "" {
		return nil
	}
	b, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// printRequests shows the kinds of the requests.
func (run mediumRun) printRequests(w io.Writer) {
	for _, t := range run.Targets {
		if !isJvsfs(t) {
			continue
		}
		fmt.Fprintf(w, "\nrequests to %s for each operation:\n", t)
		for _, r := range run.Rows {
			fmt.Fprintf(w, "  %s: %s\n", r.Row, kinds(r.Cells[t].Requests))
		}
	}
}

func (run mediumRun) printLeftOut(w io.Writer) {
	for _, what := range run.LeftOut {
		fmt.Fprintf(w, "left out on %s: %s\n", run.Medium, what)
	}
}

func kinds(requests map[string]float64) string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(requests)) {
		if n := requests[kind]; n >= 0.005 {
			out = append(out, fmt.Sprintf("%s %.2f", kind, n))
		}
	}
	return strings.Join(out, ", ")
}
