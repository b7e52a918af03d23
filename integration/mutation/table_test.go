package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// The table follows the code: each snippet stands in its file once, and changes something.
func TestEverySnippetIsInItsFileOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range allMutations() {
		text, err := m.apply(root)
		require.NoError(t, err)
		require.NotEqual(t, m.Old, m.New, m)
		require.NotEmpty(t, text, m)
		require.False(t, seen[m.String()], "twice: %s", m)
		seen[m.String()] = true
	}
}

func TestEveryRuleIsBroken(t *testing.T) {
	broken := map[int]bool{}
	for _, m := range allMutations() {
		broken[m.Rule] = true
	}
	delete(broken, 0)
	for rule := 1; rule <= 18; rule++ {
		require.True(t, broken[rule], "rule %d", rule)
	}
	require.Len(t, broken, 18)
}

// The manual says how many clauses are removed, rounded down.
func TestTheManualKnowsHowMany(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "cmd/jvsfs/pages/jvsfs-testing.7.md"))
	require.NoError(t, err)
	said := regexp.MustCompile("`scripts/mutations.sh` removes more than (\\d+) clauses").FindSubmatch(text)
	require.NotNil(t, said)
	number, err := strconv.Atoi(string(said[1]))
	require.NoError(t, err)
	all := len(allMutations())
	require.Greater(t, all, number)
	require.Less(t, all, number+50, "tell of the new ones")
}

// A build for one mutation takes as long as a hundred mutations in the build of all.
func TestFewMutationsNeedABuildOfTheirOwn(t *testing.T) {
	files, alone := map[string]*rewriting{}, []string{}
	for i, m := range allMutations() {
		if files[m.File] == nil {
			b, err := os.ReadFile(filepath.Join(root, m.File))
			require.NoError(t, err)
			files[m.File], err = newRewriting(m.File, b)
			require.NoError(t, err)
		}
		text, err := m.apply(root)
		require.NoError(t, err)
		if err := files[m.File].add(i+1, text); err != nil {
			alone = append(alone, m.String()+": "+err.Error())
		}
	}
	require.LessOrEqual(t, len(alone), 5, "%q", alone)
}

// A test that was renamed would leave its mutation uncaught in the next long run; say so at once.
func TestEveryTestIsThere(t *testing.T) {
	for _, m := range allMutations() {
		for _, name := range m.Tests {
			require.True(t, defined(t, m.Package, name), "%s: %s has no %s", m, m.Package, name)
		}
	}
}

func defined(t *testing.T, pkg, name string) bool {
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	require.NoError(t, err)
	is := regexp.MustCompile(`(?m)^func ` + name + `\(t \*testing\.T\)`)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		if is.Match(b) {
			return true
		}
	}
	return false
}

func TestVerdict(t *testing.T) {
	fails, hangs := mutation{Tests: []string{"TestA"}}, mutation{Tests: []string{"TestA"}, Hangs: true}
	exit := errors.New("exit status 1")
	timeout := "panic: test timed out after 6s\n\trunning tests:\n\t\tTestA (6s)\n"
	for name, c := range map[string]struct {
		m   mutation
		out string
		err error
		by  string
	}{
		"a failed test":                {fails, "=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\n", exit, "TestA"},
		"a panic in a test":            {fails, "--- FAIL: TestA (0.00s)\npanic: nil pointer\n", exit, "TestA"},
		"it passes":                    {fails, "--- PASS: TestA (0.00s)\nok\n", nil, ""},
		"it does not compile":          {fails, "./x.go:1: undefined: y\nFAIL x [build failed]\n", exit, ""},
		"it hangs, which is no answer": {fails, timeout, exit, ""},
		"it hangs, as foretold":        {hangs, timeout, exit, "TestA (hangs)"},
	} {
		by, err := verdict(c.m, []byte(c.out), c.err)
		require.Equal(t, c.by, by, name)
		require.Equal(t, c.by == "", err != nil, name)
	}
}
