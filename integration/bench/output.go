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
	return errors.Join(rep.draw(opts.plot), rep.writeJSON(opts.json))
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
	fmt.Fprintln(w, "\nrequests to jvsfs for each operation:")
	for _, r := range run.Rows {
		fmt.Fprintf(w, "  %s: %s\n", r.Row, kinds(r.Requests))
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
