package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// Each line of long.txt names a story that is there: one that was renamed would begin last again.
func TestLongStoriesAreThere(t *testing.T) {
	for line := range strings.Lines(longText) {
		pkg, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		files, err := filepath.Glob(filepath.Join(root, "integration", pkg, "*_test.go"))
		require.NoError(t, err)
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			found = found || bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T)"))
		}
		require.True(t, found, "integration/runner/long.txt: %s has no %s", pkg, name)
	}
}

func TestLongStoriesBeginFirst(t *testing.T) {
	first, _, _ := strings.Cut(longText, "\n")
	pkg, name, _ := strings.Cut(first, " ")
	all := []story{{pkg: "./integration/fence", name: "TestShort"}, {pkg: "./integration/" + pkg, name: name}, {pkg: "./integration/lease", name: "TestB"}}
	inOrder(all)
	require.Equal(t, []string{name, "TestShort", "TestB"}, []string{all[0].name, all[1].name, all[2].name})
}

// says is what a story printed, with the marks of -test.v=test2json.
func says(lines ...string) []byte {
	return []byte(strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "^", "\x16"))
}

func TestEveryEndIsCounted(t *testing.T) {
	exit := errors.New("exit status 1")
	for name, c := range map[string]struct {
		output                  []byte
		err                     error
		passed, failed, skipped int
	}{
		"passes":               {says("^=== RUN   TestA", "^--- PASS: TestA (0.10s)", "PASS"), nil, 1, 0, 0},
		"a case fails":         {says("^    --- PASS: TestA/x (0.10s)", "^    --- FAIL: TestA/y (0.10s)", "^--- FAIL: TestA (0.10s)"), exit, 1, 2, 0},
		"behind half a line":   {says("a program said^--- PASS: TestA (0.10s)"), nil, 1, 0, 0},
		"a program's own word": {says("--- FAIL: TestB (0.00s)", "^--- PASS: TestA (0.10s)"), nil, 1, 0, 0},
		"is skipped":           {says("^--- SKIP: TestA (0.00s)"), nil, 0, 0, 1},
		"panics":               {says("^=== RUN   TestA", "panic: x"), exit, 0, 1, 0},
		"leaves a process":     {says("^--- PASS: TestA (0.10s)", "integration: left by the tests: process 7"), exit, 1, 1, 0},
		"skips and hangs":      {says("^    --- SKIP: TestA/x (0.00s)"), exit, 0, 1, 1},
		"ends in the middle":   {says("^    --- PASS: TestA/x (0.00s)"), nil, 1, 1, 0},
		"is not there":         {says("testing: warning: no tests to run", "PASS"), nil, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r := &report{out: &out, logs: t.TempDir()}
			r.tell(outcome{story: story{pkg: "./integration/lease", name: "TestA"}, took: time.Second, output: c.output, err: c.err})
			require.Equal(t, []int{c.passed, c.failed, c.skipped}, []int{r.passed, r.failed, r.skipped})
			if c.failed+c.skipped > 0 {
				require.Contains(t, out.String(), "go test -count=1 -v -run '^TestA$' ./integration/lease")
				require.Len(t, r.broken, 1)
			} else {
				require.Equal(t, "pass  lease TestA (1.0s)\n", out.String())
			}
		})
	}
}

// A failure is one screen, and all of it is in a file.
func TestAFailureIsOneScreen(t *testing.T) {
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	var out bytes.Buffer
	r := &report{out: &out, logs: t.TempDir()}
	r.tell(outcome{story: story{pkg: "./integration/lease", name: "TestA"}, output: says(append(lines, "^--- FAIL: TestA (0.10s)")...), err: errors.New("exit status 1")})
	require.LessOrEqual(t, strings.Count(out.String(), "\n"), firstLines+lastLines+6)
	require.Contains(t, out.String(), "line 4999")
	_, path, _ := strings.Cut(out.String(), "all of its output: ")
	path, _, _ = strings.Cut(path, "\n")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), "line 2500\n")
}

// machine is a processor that is idle, or not, for each slots' look.
type machine struct{ idle, all uint64 }

func (m *machine) times(idle bool) func() (uint64, uint64) {
	return func() (uint64, uint64) {
		m.all += 100
		if idle {
			m.idle += 50
		}
		return m.idle, m.all
	}
}

func TestMoreStoriesBeginWhileProcessorsAreIdle(t *testing.T) {
	for idle, begun := range map[bool]int{true: 5, false: 2} {
		synctest.Test(t, func(t *testing.T) {
			s := &slots{least: 2, most: 5, ended: make(chan struct{}), times: new(machine).times(idle)}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			n := 0
			for s.take(ctx) == nil {
				n++
			}
			require.Equal(t, begun, n, "idle: %v", idle)
		})
	}
}

// A story that has ended makes room for the next, however busy the processors are.
func TestAStoryThatEndsMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{least: 1, most: 5, ended: make(chan struct{}), times: new(machine).times(false)}
		for range 3 {
			require.NoError(t, s.take(t.Context()))
			go s.give()
		}
		s.rest()
		require.Zero(t, s.running)
	})
}

// Whoever is interrupted does not wait for a story that has not begun.
func TestAnInterruptedRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{least: 2, most: 5, ended: make(chan struct{}), times: new(machine).times(false)}
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, s.take(ctx))
		cancel()
		require.Error(t, s.take(ctx))
		go s.give()
		s.rest()
	})
}

func TestProcessorTimes(t *testing.T) {
	idle, all := sumTimes("cpu  10 20 30 400 50 6 7 8 90 100")
	require.Equal(t, []uint64{400, 531}, []uint64{idle, all})
	idle, all = sumTimes("")
	require.Equal(t, []uint64{0, 0}, []uint64{idle, all})
}
