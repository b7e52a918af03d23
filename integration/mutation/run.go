package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jvsfs/jvsfs/integration/part"
)

const (
	testTime      = 2 * time.Minute  // for the tests of one mutant: longer than a test waits for what never comes
	unmutatedTime = 10 * time.Minute // for all tests of a package as they are: only a hang takes so long
	hangTime      = 6 * time.Second  // for those that are expected to hang
	totalTime     = 4 * time.Minute  // for one mutant with its build, on a machine that does other things too
)

// runner runs mutations and tells about each.
type runner struct {
	root, what string
	rule, jobs int
	part       part.Part
	keep       bool
	out        io.Writer

	mu     sync.Mutex // of what follows, and of out
	failed int
	took   map[string]time.Duration // unmutated tests, by "package name"

	temporary string // where tests make directories: those that are killed leave them
}

func (r *runner) run(ctx context.Context, all []mutation) error {
	all = slices.DeleteFunc(slices.Clone(all), func(m mutation) bool {
		return r.rule != 0 && m.Rule != r.rule || !strings.Contains(m.What, r.what)
	})
	index := -1
	all = slices.DeleteFunc(all, func(mutation) bool { index++; return !r.part.Has(index) })
	if len(all) == 0 {
		return errors.New("no mutation is like that")
	}
	root, err := filepath.Abs(r.root)
	if err != nil {
		return err
	}
	r.root = root
	scratch, err := os.MkdirTemp("", "jvsfs-mutation-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // only read from
	if err := r.newTemporary(scratch); err != nil {
		return err
	}
	began := time.Now()
	todo := make([]mutant, len(all))
	for i, m := range all {
		todo[i] = mutant{mutation: m, number: i + 1}
	}
	built, err := r.build(ctx, scratch, todo)
	if err != nil {
		return err
	}
	compiled := time.Since(began)
	if err := r.unmutated(ctx, built, todo); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "built in %d s, unmutated they pass in %d s\n", int(compiled.Seconds()), int((time.Since(began) - compiled).Seconds()))
	r.each(ctx, scratch, built, todo)
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.total(todo, time.Since(began))
}

// total tells how it went, and which mutants had a build of their own.
func (r *runner) total(all []mutant, took time.Duration) error {
	alone := 0
	for _, m := range all {
		if m.alone != nil {
			alone++
			fmt.Fprintf(r.out, "a build of its own: %s: %v\n", m, m.alone)
		}
	}
	fmt.Fprintf(r.out, "%d mutations (%d of them with builds of their own), %d caught, %d not, %d s\n", len(all), alone, len(all)-r.failed, r.failed, int(took.Seconds()))
	if r.failed > 0 {
		return fmt.Errorf("%d of %d mutations were not caught", r.failed, len(all))
	}
	return nil
}

// each runs the mutants, jobs at a time. What takes longest begins first.
func (r *runner) each(ctx context.Context, scratch string, built programs, all []mutant) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b mutant) int { return cmp.Compare(r.lasts(b), r.lasts(a)) })
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(r.jobs, 1))
	for _, m := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			by, err := r.mutated(ctx, scratch, built, m)
			if ctx.Err() == nil {
				r.tell(m.mutation, by, err, time.Since(began))
			}
		})
	}
	wg.Wait()
}

// lasts is about how long a mutant takes: as long as its tests do unmutated.
func (r *runner) lasts(m mutant) (d time.Duration) {
	if m.alone != nil {
		d = totalTime
	}
	if m.Hangs {
		d += hangTime
	}
	for _, name := range m.Tests {
		d += r.took[m.Package+" "+name]
	}
	return d
}

func (r *runner) tell(m mutation, by string, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed++
		fmt.Fprintf(r.out, "FAIL  %s: %v\n", m, err)
		return
	}
	fmt.Fprintf(r.out, "ok    %s: %s, %.1f s\n", m, by, took.Seconds())
}

// unmutated demands that every test of the table is there and passes as the code is: in the same programs, and with the code where mutants
// have it. So no test fails for the way in which mutants are made.
func (r *runner) unmutated(ctx context.Context, built programs, all []mutant) error {
	tests := map[string][]string{}
	for _, m := range all {
		tests[m.Package] = append(tests[m.Package], m.Tests...)
	}
	r.took = map[string]time.Duration{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU()) // not jobs: here no test may be late
	for pkg, names := range tests {
		group.Go(func() error { return r.passes(ctx, built, pkg, names) })
	}
	return group.Wait()
}

func (r *runner) passes(ctx context.Context, built programs, pkg string, names []string) error {
	slices.Sort(names)
	names = slices.Compact(names)
	out, err := r.test(ctx, built, pkg, asIs, "^("+strings.Join(names, "|")+")$", unmutatedTime)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("without any mutation, %s fails: %w\n%s", pkg, err, out)
	}
	took := map[string]time.Duration{}
	for _, passed := range passedTest.FindAllSubmatch(out, -1) {
		if took[string(passed[1])], err = time.ParseDuration(string(passed[2])); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		d, ok := took[name]
		if !ok {
			return fmt.Errorf("without any mutation, %s of %s does not pass, is skipped, or does not exist", name, pkg)
		}
		r.took[pkg+" "+name] = d
	}
	return nil
}

// mutated runs the tests of one mutant. The answer is which test failed.
func (r *runner) mutated(ctx context.Context, scratch string, built programs, m mutant) (string, error) {
	limit := testTime
	if m.Hangs {
		limit = hangTime
	}
	var out []byte
	var err error
	if m.alone != nil {
		out, err = r.testAlone(ctx, filepath.Join(scratch, fmt.Sprint("alone", m.number)), m.mutation, limit)
	} else {
		out, err = r.test(ctx, built, m.Package, m.number, m.pattern(), limit)
	}
	if r.keep {
		r.mu.Lock()
		fmt.Fprintf(r.out, "%s\n%s", m, out)
		r.mu.Unlock()
	}
	return verdict(m.mutation, out, err)
}

var (
	passedTest = regexp.MustCompile(`(?m)^--- PASS: (\S+) \((\S+)\)`)
	failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\S+) `)
	hungTest   = regexp.MustCompile(`(?s)panic: test timed out after .*?running tests:\s+(\S+)`)
)

// verdict reads which test noticed the mutant. A mutant that crashes in a test has the test's name in no line of its own
// but fails it all the same.
func verdict(m mutation, out []byte, err error) (string, error) {
	if hung := hungTest.FindSubmatch(out); hung != nil {
		if m.Hangs {
			return string(hung[1]) + " (hangs)", nil
		}
		return "", fmt.Errorf("%s ran into the time limit, which no test may rely on", hung[1])
	}
	if failed := failedTest.FindSubmatch(out); failed != nil {
		return string(failed[1]), nil
	}
	if err == nil {
		return "", fmt.Errorf("NOT CAUGHT by %s", strings.Join(m.Tests, ", "))
	}
	return "", fmt.Errorf("no test failed, but: %w\n%s", err, bytes.TrimSpace(out))
}
