package mountcfg

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoadExempt(t *testing.T) {
	path := writeConfig(t, `exempt:
  - '**/node_modules/.cache/**'
  - "build/*.o"
exempt_git: true
worktrees:
  a: {exempt: [x, .git/gc/**]}
  b: {exempt: []}
  c: {mode: shared}
`)
	c, err := Load(path)
	require.NoError(t, err)
	mount := []string{"**/node_modules/.cache/**", "build/*.o"}
	require.Equal(t, mount, c.Exempt)
	require.True(t, c.ExemptGit)
	require.Equal(t, []string{"x", ".git/gc/**"}, c.For("a").Exempt)
	require.Empty(t, c.For("b").Exempt)
	require.Equal(t, mount, c.For("c").Exempt)
	require.Equal(t, mount, c.For("unknown").Exempt)
	require.True(t, c.Exempts())
	require.Subset(t, c.Origins(), []Origin{
		{"exempt", "**/node_modules/.cache/**", path + ":2"}, {"exempt", "build/*.o", path + ":3"}, {"exempt_git", "true", path + ":4"},
		{"worktrees.a.exempt", "x", path + ":6"}, {"worktrees.a.exempt", ".git/gc/**", path + ":6"}, {"worktrees.b.exempt", "[]", path + ":7"},
	})
}

func TestExempts(t *testing.T) {
	c := Default()
	require.False(t, c.Exempts())
	c.Worktrees = map[string]WorktreeRule{"a": {Exempt: []string{}}}
	require.False(t, c.Exempts())
	c.Worktrees["b"] = WorktreeRule{Exempt: []string{"x"}}
	require.True(t, c.Exempts())
}

func TestLoadRefusesExempt(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a word":             {"exempt: x\n", `:1:9: exempt wants a list of patterns, not the text "x"`},
		"nothing":            {"exempt:\n", "exempt wants a list of patterns, not nothing"},
		"not quoted":         {"exempt:\n  - **/x\n", ":2:"},
		"a number":           {"exempt:\n  - 7\n", ":2:5: exempt wants a pattern in quotes, not the number 7"},
		"empty":              {"exempt: ['']\n", `:1:10: exempt "": want a pattern, not an empty value`},
		"absolute":           {"exempt:\n  - a\n  - /b/**\n", `:3:5: exempt "/b/**": want a pattern relative to the worktree's root`},
		"dot dot":            {"exempt: [a/../b]\n", "want no '..'"},
		"dot":                {"exempt: [./b]\n", "no '.'"},
		"slash at the end":   {"exempt: [a/]\n", "no empty component"},
		"bracket":            {"exempt: ['a[b']\n", `:1:10: exempt "a[b": not a pattern`},
		"brace":              {"exempt: ['{a,b']\n", "not a pattern"},
		"slash in braces":    {"exempt: ['{a/.git,b}/x']\n", "no slash between brackets or braces"},
		"everything":         {"exempt: ['**']\n", "it matches everything"},
		"everything, longer": {"exempt: ['*/**/?*']\n", "it matches everything"},
		"a star":             {"exempt: ['*']\n", "it matches everything"},
		"not nothing":        {"exempt: ['[!.]*']\n", "it matches everything"},
		"slash in brackets":  {"exempt: ['[!/]*']\n", "no slash between brackets or braces"},
		"control character":  {"exempt: [\"a\\nb\"]\n", "no control characters"},
		"jvs":                {"exempt: [.jvs/locks/**]\nexempt_git: true\n", ".jvs is never exempt"},
		"jvs by a pattern":   {"exempt: ['a/.j*/x']\n", ".jvs is never exempt"},
		"jvs by braces":      {"exempt: ['{x,.jvs}/x']\n", ".jvs is never exempt"},
		"git":                {"exempt: ['**/.git/**']\n", `exempt "**/.git/**" (`},
		"git by a pattern":   {"exempt: ['a/.g*/x']\n", "set exempt_git as well"},
		"git by a class":     {"exempt: ['a/[.]git/x']\n", "set exempt_git as well"},
		"git by an escape":   {"exempt: ['a/\\.git/x']\n", "set exempt_git as well"},
		"git asked by half":  {"exempt: ['a/[.]git/x']\nexempt_git: true\n", "write .git itself"},
		"git of a worktree":  {"worktrees:\n  w: {exempt: ['.git/x']}\n", `worktrees.w.exempt ".git/x" (`},
		"a worktree's":       {"worktrees:\n  w:\n    exempt:\n      - /x\n", `:4:9: exempt "/x": want a pattern relative`},
		"exempt_git":         {"exempt_git: maybe\n", `exempt_git "maybe": want true or false`},
		"exempt_git, number": {"exempt_git: 1\n", "exempt_git wants true or false, not the number 1"},
		"too many":           {"exempt: [" + strings.Repeat("a,", maxGlobs) + "a]\n", "at most 64 patterns"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(writeConfig(t, c.text))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestExemptFlags(t *testing.T) {
	path := writeConfig(t, "exempt: [a, b]\n")
	fs, err := parseFlags(t, "--exempt=x/**", "--exempt", "{y,z}", "--exempt-git", "--exempt=.git/gc/**")
	require.NoError(t, err)
	c, err := Resolve(path, fs)
	require.NoError(t, err)
	require.Equal(t, []string{"x/**", "{y,z}", ".git/gc/**"}, c.Exempt, "flags win over the file")
	require.Subset(t, c.Origins(), []Origin{{"exempt", "{y,z}", "flag"}, {"exempt_git", "true", "flag"}})

	fs, err = parseFlags(t, "--exempt-git")
	require.NoError(t, err)
	c, err = Resolve(writeConfig(t, "exempt: [.git/gc/**]\n"), fs)
	require.NoError(t, err, "asked twice, in two places")
	require.True(t, c.ExemptGit)

	_, err = parseFlags(t, "--exempt=/x")
	require.ErrorContains(t, err, `invalid argument "/x" for "--exempt" flag: want a pattern relative`)
	fs, err = parseFlags(t, "--exempt=.git/x")
	require.NoError(t, err)
	_, err = Resolve("", fs)
	require.ErrorContains(t, err, `exempt ".git/x" (flag): it reaches into .git`)
}

// Set adds to a list from the same place and replaces a list from another.
func TestSetOfAList(t *testing.T) {
	c := Default()
	require.NoError(t, c.Set("exempt", "a", "option"))
	other := c
	require.NoError(t, c.Set("exempt", "b", "option"))
	require.Equal(t, []string{"a", "b"}, c.Exempt)
	require.Equal(t, []string{"a"}, other.Exempt)
	require.ErrorContains(t, c.Set("exempt", "..", "option"), `exempt ".." (option): want no '..'`)
	require.NoError(t, c.Set("exempt", "c", WhereFlag))
	require.Equal(t, []string{"c"}, c.Exempt)
}
