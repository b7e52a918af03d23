package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// The floor is what no daemon that answers each request by itself can be better than: the native time, and for each
// request that somebody waits for a round trip between the caller and a server that does nothing.

// floorRows are the 15 rows of the floor: a row for each kind of request, and the work that people wait for. They are
// our choice: warm reads and cached names, which make no request, are there once each, as much as users meet them.
func floorRows() []string {
	return []string{
		"sequential read 4 KiB, warm", "sequential write 4 KiB, warm", "sequential write 128 KiB, warm",
		"stat, cached", "stat, cold", "open+read+close 4 KiB, warm",
		"create", "unlink", "save by rename over",
		"untar", "rm -rf", "grep -r, warm",
		"git clone", "git status, warm", "sqlite, 200 inserts one by one",
	}
}

// roundTrips were measured on an idle machine with two processors: a null server on /dev/fuse on its caller's processor,
// one on io_uring, and two that the handlers of a file system make slower.
var roundTrips = []time.Duration{8500, 10500, 14500, 17000}

func isFloorRow(name string) bool { return slices.Contains(floorRows(), name) }

// waitedFor counts the requests that hold up their caller. The kernel sends the others and goes on.
func waitedFor(requests map[string]float64) float64 {
	sum := 0.0
	for kind, n := range requests {
		switch kind {
		case "Forget", "Release", "ReleaseDir":
		default:
			sum += n
		}
	}
	return sum
}

// floor is the ratio to native of a daemon with that round trip.
func floor(native time.Duration, requests float64, trip time.Duration) float64 {
	return (float64(native) + requests*float64(trip)) / float64(max(native, 1))
}

// floorGrid is a table for one target: the model beside what was measured.
func (run mediumRun) floorGrid(target string) [][]string {
	head := []string{target + " and its floor on " + run.Medium, "native", "requests waited for", "measured"}
	for _, trip := range roundTrips {
		head = append(head, fmt.Sprintf("at %.1f µs", float64(trip)/1e3))
	}
	rows, measured, floors := [][]string{head}, []float64(nil), make([][]float64, len(roundTrips))
	for _, r := range run.Rows {
		c := r.Cells[target]
		if !isFloorRow(r.Row) || c == nil || c.Error != "" || len(c.Times) == 0 {
			continue
		}
		native, waited := r.perOp("native"), waitedFor(c.Requests)
		line := []string{r.Row, timeText(native), fmt.Sprintf("%.2f", waited), fmt.Sprintf("%.2f", c.Ratio.Median)}
		for i, trip := range roundTrips {
			f := floor(native, waited, trip)
			line, floors[i] = append(line, fmt.Sprintf("%.2f", f)), append(floors[i], f)
		}
		rows, measured = append(rows, line), append(measured, c.Ratio.Median)
	}
	means := []string{fmt.Sprintf("geometric mean of %d", len(measured)), "", "", meanText(geometricMean(measured))}
	for _, f := range floors {
		means = append(means, meanText(geometricMean(f)))
	}
	return append(rows, means)
}

// hasFloor says that all rows of the floor were measured.
func (run mediumRun) hasFloor() bool {
	n := 0
	for _, r := range run.Rows {
		if isFloorRow(r.Row) {
			n++
		}
	}
	return n == len(floorRows())
}

func (run mediumRun) printFloors(w io.Writer, write func(io.Writer, [][]string) error) error {
	for _, t := range run.Targets {
		if !isJvsfs(t) || t == withRules {
			continue
		}
		fmt.Fprintln(w)
		if err := write(w, run.floorGrid(t)); err != nil {
			return err
		}
	}
	return nil
}
