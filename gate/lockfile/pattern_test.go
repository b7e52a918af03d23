package lockfile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAPatternMatchesThePathsThatItMeans(t *testing.T) {
	for _, row := range []struct {
		pattern, path string
		caught        string // "x=..." joined; "-": no match
	}{
		{"a", "a", ""},
		{"a", "b", "-"},
		{"a", "a/b", "-"},
		{"*.json", "7.json", ""},
		{"*.json", "d/7.json", "-"},
		{"event-[0-9]*.json", "event-7.json", ""},
		{"event-[0-9]*.json", "event-x.json", "-"},
		{"a?c", "abc", ""},
		{"a?c", "a/c", "-"},
		{"d/**", "d/x", ""},
		{"d/**", "d/x/y", ""},
		{"d/**", "d", "-"},
		{"d/**", "dx/y", "-"},
		{"**/f", "f", ""},
		{"**/f", "a/b/f", ""},
		{"**/f", "af", "-"},
		{"a/**/f", "a/f", ""},
		{"a/**/f", "a/b/c/f", ""},
		{"repos/{repo}/.lock", "repos/abc/.lock", "repo=abc"},
		{"repos/{repo}/.lock", "repos/a/b/.lock", "-"},
		{"repos/{repo}/.lock", "repos//.lock", "-"},
		{"{gid}.lock", "g1.lock", "gid=g1"},
		{"{gid}.lock", ".lock", "-"},
		{"{p...}/ledger/ledger.lock", "a/b/ledger/ledger.lock", "p=a/b"},
		{"{p...}/ledger/ledger.lock", "ledger/ledger.lock", "p="},
		{"{p...}/ledger/ledger.lock", "xledger/ledger.lock", "-"},
		{"{r...}/.git/{f...}.lock", ".git/refs/heads/main.lock", "r= f=refs/heads/main"},
		{"{r...}/.git/{f...}.lock", "sub/.git/index.lock", "r=sub f=index"},
		{".{f}.lock.info", ".terraform.tfstate.lock.info", "f=terraform.tfstate"},
		{"a.b", "axb", "-"},
		{"f", "f\n", "-"},
	} {
		p, err := parsePattern(row.pattern)
		require.NoError(t, err, row.pattern)
		caught, ok := p.match(row.path)
		if !ok {
			require.Equal(t, row.caught, "-", "%s on %s", row.pattern, row.path)
			continue
		}
		var said []string
		for _, c := range caught {
			said = append(said, c.Name+"="+c.Value)
		}
		require.Equal(t, row.caught, strings.Join(said, " "), "%s on %s", row.pattern, row.path)
	}
}

func TestABadPatternIsAMistake(t *testing.T) {
	for text, says := range map[string]string{
		"":                                  "not an empty value",
		"/a":                                "without a slash in front",
		"a/":                                "no empty component",
		"a//b":                              "no empty component",
		"./a":                               "no '.'",
		"a/../b":                            "stays below",
		"a\nb":                              "no control characters",
		"a**":                               "whole component",
		"**b":                               "whole component",
		"[a-":                               "want a class",
		"[]":                                "want a class",
		"[^a]":                              "want a class",
		"[z-a]":                             "look at its ranges",
		"a]":                                "outside",
		"a}":                                "outside",
		`a\b`:                               "outside",
		"{a":                                "not closed",
		"{}":                                "want {name}",
		"{A}":                               "want {name}",
		"{a..}":                             "want {name}",
		"{a}{b}":                            "want something between",
		"{a}/{a}":                           "twice",
		"x{a...}":                           "beginning of a component",
		strings.Repeat("a", 5000):           "at most",
		"{" + strings.Repeat("a", 33):       "not closed",
		"{" + strings.Repeat("a", 33) + "}": "want {name}",
	} {
		_, err := parsePattern(text)
		require.ErrorContains(t, err, says, text)
	}
	_, err := parsePattern("{" + strings.Repeat("a", 32) + "}")
	require.NoError(t, err)
}

// What a lock's captures catch makes the same path again.
func TestCapturesMakeThePathAgain(t *testing.T) {
	locks := []string{"{p...}/ledger/ledger.lock", "repos/{repo}/.lock", "{r...}/.git/{f...}.lock", "{gid}.lock", ".{f}.lock.info", "issues/{id}.lock", "{a...}/x/{b...}/y.lock"}
	rapid.Check(t, func(t *rapid.T) {
		p, err := parsePattern(rapid.SampledFrom(locks).Draw(t, "lock"))
		require.NoError(t, err)
		path := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"ledger", ".git", "repos", "x", "y.lock", ".lock", "ledger.lock", "a.lock", "é", ".f.lock.info", "issues"}), 1, 5).Draw(t, "path"), "/")
		if caught, ok := p.match(path); ok {
			require.Equal(t, path, p.fill(caught))
		}
	})
}
