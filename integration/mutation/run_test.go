package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/part"
)

// small is a module with one package.
func small(t *testing.T) (string, *runner, *bytes.Buffer) {
	dir, out := t.TempDir(), &bytes.Buffer{}
	for name, text := range map[string]string{
		"go.mod": "module small\n\ngo 1.26\n",
		"p/p.go": "package p\n\nconst least = 1\n\nfunc Max(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn max(b, least)\n}\n",
		"p/p_test.go": `package p

import ("os"; "testing")

func TestMax(t *testing.T) { if Max(2, 3) != 3 || Max(3, 2) != 3 { t.Fatal("not the larger one") } }
func TestLeast(t *testing.T) { if Max(0, 0) != 1 { t.Fatal("less than the least") } }
func TestBeside(t *testing.T) { if _, err := os.Stat("p_test.go"); err != nil { t.Fatal("not where go test runs it") } }
func TestFails(t *testing.T) { t.Fatal("as it is") }
func TestSkipped(t *testing.T) { t.Skip("not here") }
`,
	} {
		at := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	return dir, &runner{root: dir, part: part.Part{I: 1, N: 1}, jobs: 2, out: out}, out
}

func TestWhatARunTells(t *testing.T) {
	dir, r, out := small(t)
	err := r.run(t.Context(), in("p/p.go", mutation{
		What: "the smaller one", Old: "a > b", New: "a < b", Tests: []string{"TestMax", "TestBeside"},
	}, mutation{
		What: "equals are otherwise", Old: "a > b", New: "a >= b", Tests: []string{"TestMax", "TestBeside"},
	}, mutation{
		What: "a word is missing", Old: "return a\n", New: "return missing\n", Tests: []string{"TestMax"},
	}, mutation{
		What: "no least", Old: "least = 1", New: "least = 0", Tests: []string{"TestLeast"},
	}))
	require.ErrorContains(t, err, "2 of 4 mutations were not caught")
	said := out.String()
	require.Contains(t, said, "ok    no rule  the smaller one: TestMax, ")
	require.Contains(t, said, "FAIL  no rule  equals are otherwise: NOT CAUGHT by TestMax, TestBeside\n")
	require.Contains(t, said, "FAIL  no rule  a word is missing: no test failed, but: exit status 1\n")
	require.Contains(t, said, "undefined: missing\n")
	require.Contains(t, said, "ok    no rule  no least: TestLeast, ")
	require.Contains(t, said, "a build of its own: no rule  a word is missing: it does not compile among the others: undefined: missing\n")
	require.Contains(t, said, "a build of its own: no rule  no least: it changes more than a function's body")
	require.Contains(t, said, "4 mutations (2 of them with builds of their own), 2 caught, 2 not, ")
	is, err := os.ReadDir(filepath.Join(dir, "p"))
	require.NoError(t, err)
	require.Len(t, is, 2, "something was left in the tree")
}

func TestTestsMustPassUnmutated(t *testing.T) {
	_, r, out := small(t)
	for name, why := range map[string]string{"TestFails": "without any mutation, ./p fails", "TestSkipped": "does not pass, is skipped", "TestNone": "or does not exist"} {
		err := r.run(t.Context(), in("p/p.go", mutation{What: "the smaller one", Old: "a > b", New: "a < b", Tests: []string{"TestMax", name}}))
		require.ErrorContains(t, err, why)
	}
	require.Empty(t, out.String())
}
