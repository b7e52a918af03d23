package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// firstLines and lastLines of a failed story's output are printed: one screen. All of it is in a file.
const (
	firstLines = 15
	lastLines  = 70
)

// report tells of stories as they end, and counts tests and subtests.
type report struct {
	out                     io.Writer
	quiet                   bool
	passed, failed, skipped int
	ended                   []outcome // without their output
	broken                  []string  // what failed, with how to repeat it
	logs                    string    // the directory of whole outputs
}

// result is a line of a test's or subtest's end, behind the mark of test2json.
var result = regexp.MustCompile(`\x16 *--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)`)

// tell prints how a story ended.
func (r *report) tell(o outcome) {
	failed, passed, skipped := 0, 0, 0
	for _, m := range result.FindAllSubmatch(o.output, -1) {
		switch string(m[1]) {
		case "PASS":
			passed++
		case "FAIL":
			failed++
		default:
			skipped++
		}
	}
	// Whatever made it fail, it must not get lost in the counting: a panic, a check after the tests, or that no test was there.
	ended := regexp.MustCompile(`\x16--- (PASS|FAIL|SKIP): ` + o.name + ` \(`).Match(o.output)
	if failed == 0 && (!ended || o.err != nil) {
		failed = 1
	}
	bad := failed+skipped > 0
	r.passed, r.failed, r.skipped = r.passed+passed, r.failed+failed, r.skipped+skipped
	text := o.output
	o.output = nil
	r.ended = append(r.ended, o)
	switch {
	case bad:
		r.failure(o, text, skipped > 0 && failed == 0)
	case !r.quiet:
		fmt.Fprintf(r.out, "pass  %s (%.1fs)\n", o.key(), o.took.Seconds())
	}
}

// failure prints what there is to see of a story that failed, or was skipped.
func (r *report) failure(o outcome, text []byte, skipped bool) {
	what := "FAIL"
	if skipped {
		what = "SKIP"
	}
	text = bytes.ReplaceAll(text, []byte{0x16}, nil)
	r.broken = append(r.broken, fmt.Sprintf("%s  %s: %s", what, o.key(), o.again()))
	fmt.Fprintf(r.out, "%s  %s (%.1fs)\n%s", what, o.key(), o.took.Seconds(), excerpt(string(text)))
	if o.err != nil {
		fmt.Fprintf(r.out, "its process: %v\n", o.err)
	}
	if path, err := r.keep(o, text); err != nil {
		fmt.Fprintln(r.out, "its output could not be kept:", err)
	} else {
		fmt.Fprintln(r.out, "all of its output:", path)
	}
	// A story's own report has it, too (harness/failure.go), but for one that ended before it could tell.
	if !bytes.Contains(text, []byte("go test -count=1")) {
		fmt.Fprintln(r.out, "again, alone:", o.again())
	}
}

// excerpt is the beginning and the end of what a story said, without the lines that say only that a test begins.
func excerpt(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if trimmed != "" && !strings.HasPrefix(trimmed, "=== ") && !strings.HasPrefix(trimmed, "--- PASS") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	if n := len(lines) - firstLines - lastLines; n > 0 {
		lines = slices.Concat(lines[:firstLines], []string{fmt.Sprintf("  ... %d lines ...", n)}, lines[len(lines)-lastLines:])
	}
	return strings.Join(append(lines, ""), "\n")
}

// keep writes all of the output to a file that stays.
func (r *report) keep(o outcome, text []byte) (string, error) {
	path := filepath.Join(r.logs, fmt.Sprintf("%s-%d.log", strings.ReplaceAll(o.key(), " ", "-"), len(r.broken)))
	return path, os.WriteFile(path, text, 0o600)
}

// end prints the sum, and writes the files that were asked for.
func (r *report) end(o options) error {
	for _, line := range r.broken {
		fmt.Fprintln(r.out, line)
	}
	if o.times != "" {
		if err := os.WriteFile(o.times, r.times(), 0o644); err != nil {
			return err
		}
	}
	if o.counts != "" {
		if err := os.WriteFile(o.counts, fmt.Appendf(nil, "%d %d %d\n", r.passed, r.failed, r.skipped), 0o644); err != nil {
			return err
		}
	}
	var sum, cpu time.Duration
	for _, e := range r.ended {
		sum, cpu = sum+e.took, cpu+e.cpu
	}
	fmt.Fprintf(r.out, "%d stories, %s one after the other, %s of processor\n", len(r.ended), sum.Round(time.Second), cpu.Round(time.Second))
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	return nil
}

// times are the seconds and the processor seconds of each story, longest first.
func (r *report) times() []byte {
	slices.SortFunc(r.ended, func(a, b outcome) int { return cmp.Compare(b.took, a.took) })
	var text []byte
	for _, e := range r.ended {
		text = fmt.Appendf(text, "%.1f %.1f %s\n", e.took.Seconds(), e.cpu.Seconds(), e.key())
	}
	return text
}
