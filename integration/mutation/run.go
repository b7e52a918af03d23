package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/integration/part"
)

const (
	testTime  = time.Minute     // for the tests of one mutant
	hangTime  = 6 * time.Second // for those that are expected to hang
	totalTime = 3 * time.Minute // for one mutant with its build, on a machine that does other things too
)

// runner runs mutations and tells about each.
type runner struct {
	root, what string
	rule, jobs int
	part       part.Part
	keep       bool
	out        io.Writer

	mu     sync.Mutex // of out and failed
	failed int
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
	began := time.Now()
	if err := r.unmutated(ctx, all); err != nil {
		return err
	}
	r.each(ctx, scratch, all)
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "%d mutations, %d caught, %d not, %d s\n", len(all), len(all)-r.failed, r.failed, int(time.Since(began).Seconds()))
	if r.failed > 0 {
		return fmt.Errorf("%d of %d mutations were not caught", r.failed, len(all))
	}
	return nil
}

// each runs the mutations, jobs at a time.
func (r *runner) each(ctx context.Context, scratch string, all []mutation) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(r.jobs, 1))
	for i, m := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			by, err := r.mutated(ctx, filepath.Join(scratch, fmt.Sprint(i)), m)
			if ctx.Err() == nil {
				r.tell(m, by, err, time.Since(began))
			}
		})
	}
	wg.Wait()
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

// unmutated demands that every test of the table is there and passes as the code is.
func (r *runner) unmutated(ctx context.Context, all []mutation) error {
	tests := map[string][]string{}
	for _, m := range all {
		tests[m.Package] = append(tests[m.Package], m.Tests...)
	}
	for pkg, names := range tests {
		slices.Sort(names)
		names = slices.Compact(names)
		out, err := r.goTest(ctx, "", pkg, "^("+strings.Join(names, "|")+")$", time.Minute)
		if err != nil {
			return fmt.Errorf("without any mutation, %s fails: %w\n%s", pkg, err, out)
		}
		for _, name := range names {
			if !bytes.Contains(out, []byte("--- PASS: "+name+" (")) {
				return fmt.Errorf("without any mutation, %s of %s does not pass, is skipped, or does not exist", name, pkg)
			}
		}
	}
	return nil
}

// mutated runs the tests of one mutation over its mutant. The answer is which test failed.
func (r *runner) mutated(ctx context.Context, dir string, m mutation) (string, error) {
	overlay, err := r.overlay(dir, m)
	if err != nil {
		return "", err
	}
	limit := testTime
	if m.Hangs {
		limit = hangTime
	}
	out, err := r.goTest(ctx, overlay, m.Package, m.pattern(), limit)
	if r.keep {
		r.mu.Lock()
		fmt.Fprintf(r.out, "%s\n%s", m, out)
		r.mu.Unlock()
	}
	return verdict(m, out, err)
}

// overlay writes the mutant, and the file that lays it over the tree.
func (r *runner) overlay(dir string, m mutation) (string, error) {
	text, err := m.apply(r.root)
	if err != nil {
		return "", err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	mutant := filepath.Join(dir, filepath.Base(m.File))
	if err := os.WriteFile(mutant, text, 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(r.root, m.File): mutant}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

var (
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

// goTest runs tests of a package in a process group of its own, so that nothing outlives an interrupted run.
func (r *runner) goTest(ctx context.Context, overlay, pkg, pattern string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTime)
	defer cancel()
	args := []string{"test", "-count=1", "-vet=off", "-v", "-timeout", limit.String(), "-run", pattern}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = r.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.CombinedOutput()
}
