package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// program has one of each kind of declaration that can be mutated. It prints what they do, without the mutant "-".
const program = `package main

import (
	"errors"
	"fmt"
	"runtime"
)

type counter struct{ n int }

func (c *counter) add(by int) int { c.n += by; return c.n }

func (counter) name(string, int) string { return "counter" }

func (c counter) twice() (n int) {
	defer func() { n *= 2 }()
	c.n, n = c.n+1, c.n
	return
}

type stack[T any] struct{ all []T }

func (s *stack[T]) push(more ...T) (size int, _ error) {
	s.all = append(s.all, more...)
	return len(s.all), nil
}

func first[K comparable, V any](m map[K]V, k K, _ bool) (v V, err error) {
	v, ok := m[k]
	if !ok {
		err = errors.New("none")
	}
	return v, err
}

var limits = map[string]int{"few": 3}

var (
	shown, most = &counter{n: 5}, []int{1, 2}
	from        = func(n int) int { return n + limits["few"] }
	typed       int64 = 7
)

func closure() func() int {
	n := 1
	return func() int { n++; return n }
}

func nothing(out *[]string) {
	for i := range 3 {
		if i == 1 { continue }
		*out = append(*out, fmt.Sprint(i))
	}
}

func even(n int) bool { return n == 0 || odd(n-1) }

func odd(n int) bool { return n != 0 && even(n-1) }

func spread(parts ...string) (joined string) { for _, p := range parts { joined += p }; return }

func here() (string, int) { _, file, line, _ := runtime.Caller(0); return file[len(file)-7:], line }

func init() { started = "yes" }

var started string

func main() {
	c := counter{n: 1}
	s := stack[string]{}
	size, _ := s.push("a", "b")
	v, err := first(map[string]int{"x": 1}, "x", true)
	next := closure()
	next()
	var out []string
	nothing(&out)
	file, line := here()
	fmt.Println(c.add(2), c.n, c.name("", 0), c.twice(), size, v, err, shown.n, most, from(1), typed, next(), out, even(4), spread("a", "b"), started, file, line)
}
`

func TestMutantsInOneProgram(t *testing.T) {
	before, _, _ := strings.Cut(program, "func here")
	unmutated := "3 3 counter 6 2 1 <nil> 5 [1 2] 4 7 3 [0 2] true ab yes main.go " + strconv.Itoa(strings.Count(before, "\n")+1)
	cases := []struct{ name, old, new, was, is string }{
		{"a method", "c.n += by", "c.n -= by", "3 3 counter 6", "-1 -1 counter -2"},
		{"the same method again", "c.n += by", "c.n += 2*by", "3 3 counter 6", "5 5 counter 10"},
		{"parameters without names", `return "counter"`, `return "none"`, "counter", "none"},
		{"a named result that a deferred call changes", "n *= 2", "n *= 3", "counter 6", "counter 9"},
		{"a generic method with any number of arguments", "len(s.all), nil", "len(more) + 7, nil", "6 2 1", "6 9 1"},
		{"a generic function", "if !ok {", "if ok {", "<nil>", "none"},
		{"a variable that others are made of", `"few": 3`, `"few": 4`, "] 4 7", "] 5 7"},
		{"one of two variables", "n: 5", "n: 6", "5 [1 2]", "6 [1 2]"},
		{"both variables", "n: 5}, []int{1, 2}", "n: 6}, []int{2, 2}", "5 [1 2]", "6 [2 2]"},
		{"a variable that is a function", "return n + limits", "return n * limits", "] 4 7", "] 3 7"},
		{"a variable with a type", "int64 = 7", "int64 = 8", "4 7 3", "4 8 3"},
		{"a function in a function", "n++; return n", "n--; return n", "7 3 [0", "7 -1 [0"},
		{"no result", "if i == 1 { continue }", "if i == 1 { return }", "[0 2]", "[0]"},
		{"two functions", "n == 0 || odd(n-1) }\n\nfunc odd(n int) bool { return n != 0 &&", "n != 0 && odd(n-1) }\n\nfunc odd(n int) bool { return n == 0 ||", "true", "false"},
		{"any number of arguments", "joined += p", "joined = p + joined", "ab", "ba"},
		{"init", `started = "yes"`, `started = "no"`, "yes", "no"},
	}
	dir := t.TempDir()
	w, err := newRewriting(filepath.Join(dir, "main.go"), []byte(program))
	require.NoError(t, err)
	for i, c := range cases {
		require.Equal(t, 1, strings.Count(program, c.old), c.name)
		require.NoError(t, w.add(i+1, []byte(strings.Replace(program, c.old, c.new, 1))), c.name)
	}
	bin := filepath.Join(dir, "program")
	out, err := compileAt(t, dir, bin, w)
	require.NoError(t, err, "%s", out)
	require.Equal(t, unmutated, says(t, bin, 0))
	require.Equal(t, unmutated, says(t, bin, asIs))
	for i, c := range cases {
		require.Equal(t, strings.Replace(unmutated, c.was, c.is, 1), says(t, bin, i+1), c.name)
	}
}

func says(t *testing.T, bin string, number int) string {
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), switchVar+"="+strconv.Itoa(number))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(bytes.TrimSpace(out))
}

func compileAt(t *testing.T, dir, bin string, w *rewriting) ([]byte, error) {
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module program\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(w.text()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, switchFileName), []byte(switchFile("main")), 0o600))
	cmd := exec.Command("go", "build", "-o", bin, ".")
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

func TestMutantsThatDoNotCompileAreNamed(t *testing.T) {
	dir := t.TempDir()
	w, err := newRewriting(filepath.Join(dir, "main.go"), []byte(program))
	require.NoError(t, err)
	for i, by := range []string{"c.n += by + 1", "c.n += missing", "c.n += by + 2", "c.n += len(by)"} {
		require.NoError(t, w.add(i+1, []byte(strings.Replace(program, "c.n += by", by, 1))))
	}
	out, err := compileAt(t, dir, filepath.Join(dir, "program"), w)
	require.Error(t, err)
	named := namedIn(out)
	require.Len(t, named, 2, "%s", out)
	require.Contains(t, named[2], "undefined: missing")
	require.Contains(t, named[4], "invalid argument")
}

func TestWhatNoSwitchCanDo(t *testing.T) {
	for name, c := range map[string]struct{ text, old, new, why string }{
		"a constant":                {"const few = 3", "3", "4", "more than a function's body"},
		"a type":                    {"type t struct{ a int }", "a int", "a, b int", "more than a function's body"},
		"an import":                 {`import "os"`, "os", "io", "more than a function's body"},
		"a signature":               {"func f(a int) {}", "a int", "a int8", "signature of f"},
		"a result":                  {"func f() int { return 1 }", "int {", "int8 {", "signature of f"},
		"a function more":           {"func f() {}", "{}", "{}\nfunc g() {}", "made or removed"},
		"a variable's type":         {"var a int = 1", "int ", "int8 ", "more than the value of a"},
		"a variable without a type": {"var a = f()\nfunc f() int { return 1 }", "= f()", "= 2*f()", "no type"},
		"variables of one call":     {"var a, b = f(1)\nfunc f(n int) (int, int) { return n, n }", "f(1)", "f(2)", "more than the value of a"},
		"an array that is counted":  {"var a = [...]int{1}", "{1}", "{2}", "no type"},
		"another type of value":     {"var a = []int{1}", "[]int{1}", "[]int8{1}", "no type"},
		"recover":                   {"func f() { recover() }", "recover()", "_ = recover()", "calls recover"},
		"a directive":               {"//go:noinline\nfunc f() int { return 1 }", "1", "2", "directive"},
		"a comment":                 {"// f\nfunc f() {}", "// f", "// g", "no declaration changes"},
		"what cannot be parsed":     {"func f() {}", "{}", "{", "expected"},
	} {
		text := "package p\n\n" + c.text + "\n"
		w, err := newRewriting("p.go", []byte(text))
		require.NoError(t, err, name)
		require.ErrorContains(t, w.add(1, []byte(strings.Replace(text, c.old, c.new, 1))), c.why, name)
		require.Equal(t, text, w.text(), name)
	}
	text := "package p\n\nfunc f() { defer func() { recover() }() }\n"
	w, err := newRewriting("p.go", []byte(text))
	require.NoError(t, err)
	require.NoError(t, w.add(1, []byte(strings.Replace(text, "defer", "go", 1))), "recover in a function of its own")
}
