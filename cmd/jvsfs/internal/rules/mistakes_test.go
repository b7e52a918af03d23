package rules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/mountcfg"
)

// told is what a person reads of a file of rules, without the file's name.
func told(t *testing.T, text string) (all []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	_, err := mountcfg.Rules(file, Check)
	require.Error(t, err)
	for line := range strings.Lines(err.Error()) {
		if at, found := strings.CutPrefix(line, file+":"); found {
			all = append(all, strings.TrimSpace(at))
		}
	}
	return all
}

// Each mistake in what a rule means is told once, at the word that is wrong.
func TestMistakesHaveTheirPlaces(t *testing.T) {
	const lock = "- name: a\n  lock: 'd/{x}.lock'\n  taken_by: create\n"
	for name, c := range map[string]struct{ text, want string }{
		"lock without taken_by":     {"- name: a\n  lock: 'l'\n", `2:9: rule a: lock: want taken_by beside it: what takes the lock`},
		"taken_by":                  {"- name: a\n  lock: 'l'\n  taken_by: fcntl\n", `3:13: rule a: taken_by: want create or flock or record or lease, not "fcntl"`},
		"holder":                    {lock + "  holder: me\n", `4:11: rule a: holder: want tree or parent or session or user, not "me"`},
		"without":                   {lock + "  without: ask\n", `4:12: rule a: without: want deny or create or allow, not "ask"`},
		"on_gone":                   {lock + "  on_gone: kill\n", `4:12: rule a: on_gone: want keep or remove, not "kill"`},
		"no name":                   {"- lock: 'l'\n  taken_by: create\n", `1:3: rule 1: name: want a name of 1 to 64 letters, digits, dots and dashes, not ""`},
		"a bad name":                {"- name: a b\n  keep: [x]\n", `1:9: rule a b: name: want a name of 1 to 64 letters, digits, dots and dashes, not "a b"`},
		"a name twice":              {"- git\n- name: git\n  keep: [x]\n", `2:9: rule git: name: rule 1 is called "git", too`},
		"a preset twice":            {"- git\n- git\n", `2:3: rule git: name: rule 1 is called "git", too`},
		"capture missing":           {lock + "  guards:\n    - 'd/{x}/**'\n    - 'd/y'\n", `6:7: rule a: guards: "d/y": {x} of the lock is missing, so it is not known which lock guards a name`},
		"capture unknown":           {lock + "  guards: ['d/{x}/y', 'd/{x}/{y}']\n", `4:23: rule a: guards: "d/{x}/{y}": {y} is not in the lock`},
		"wildcard in lock":          {"- name: a\n  lock: 'd/*.lock'\n  taken_by: create\n  guards: ['x']\n", `2:9: rule a: lock: "d/*.lock": want captures instead of wildcards, so that what is guarded tells which lock is meant`},
		"absolute":                  {"- name: a\n  keep: [x, /y]\n", `2:13: rule a: keep: "/y": want a pattern relative to the worktree's root, without a slash in front`},
		"dot dot":                   {"- name: a\n  once: ['x/../y']\n", `2:10: rule a: once: "x/../y": want no '..': a pattern stays below the worktree's root`},
		"everything":                {lock + "  except: ['**']\n", `4:12: rule a: except: "**": it matches everything`},
		"the records":               {"- name: a\n  append: ['.jvs/locks/**']\n", `2:12: rule a: append: ".jvs/locks/**": .jvs/locks is jvsfs' own, and no rule reaches it`},
		"a capture not closed":      {"- name: a\n  lock: 'd/{x'\n  taken_by: create\n", `2:9: rule a: lock: "d/{x": a capture is not closed: want {name} or {name...}`},
		"guards itself":             {lock + "  guards: ['d/{x}.*']\n", `4:12: rule a: guards: "d/{x}.*" guards the lock "d/{x}.lock" itself; take it out with except`},
		"lease with lock":           {"- name: a\n  lock: 'l'\n  taken_by: lease\n  guards: ['d/{x}/**']\n", `2:9: rule a: lock: taken_by: lease has no lock file: guards says which directories have a lease of their own`},
		"lease of everything":       {"- name: a\n  taken_by: lease\n  guards: ['**']\n", `3:12: rule a: guards: "**": it matches everything: one lease for all of the source is what the layout tree has, without a rule`},
		"lease of a part of one":    {"- name: a\n  taken_by: lease\n  guards: ['d/{x...}/**']\n", `3:12: rule a: guards: "d/{x...}/**": want whole components, each a text or one capture, and '/**' at the end, such as packages/{pkg}/**`},
		"two leases of one file":    {"- name: a\n  taken_by: lease\n  guards: ['d/{x}/**']\n- name: b\n  taken_by: lease\n  guards: ['{y}/e/**']\n", `6:12: rule b: guards: "{y}/e/**" overlaps with "d/{x}/**" of rule 1, and a file has one lease`},
		"lease without guards":      {"- name: a\n  taken_by: lease\n", `2:13: rule a: taken_by: want guards beside it: the directories that are worktrees, such as packages/{pkg}/**`},
		"break with flock":          {"- name: a\n  lock: 'l'\n  taken_by: flock\n  break: {after: 2h}\n", `4:11: rule a: break: a lock that is taken by flock ends with its holder: there is nothing to break or to remove`},
		"on_gone with flock":        {"- name: a\n  lock: 'l'\n  taken_by: flock\n  on_gone: remove\n", `1:3: rule a: break: a lock that is taken by flock ends with its holder: there is nothing to break or to remove`},
		"guards without lock":       {"- name: a\n  guards: [x]\n  keep: [y]\n", `2:11: rule a: guards: guards without lock says nothing`},
		"nothing":                   {"- name: a\n", `1:3: rule a: want a lock, or at least one of once, keep and append`},
		"too many patterns":         {"- name: a\n  keep: [" + strings.Repeat("x,", 32) + "x]\n", `2:9: rule a: keep: want at most 32 patterns`},
		"preset with a wrong key":   {"- preset: agency\n  guards: ['repos/**']\n", `2:12: rule agency: guards: "repos/**": {repo} of the lock is missing, so it is not known which lock guards a name`},
		"preset that breaks itself": {"- preset: git\n  except: []\n", `1:3: rule git: guards: "{r...}/.git/{f...}" guards the lock "{r...}/.git/{f...}.lock" itself; take it out with except`},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, []string{c.want}, told(t, c.text)) })
	}
}

// There is a bound for rules, too.
func TestTooManyRules(t *testing.T) {
	var text strings.Builder
	for i := range 65 {
		text.WriteString("- {name: r" + string(rune('a'+i%26)) + string(rune('a'+i/26)) + ", keep: [x]}\n")
	}
	require.Equal(t, []string{`65:4: rule rmc: want at most 64 rules`}, told(t, text.String()))
}

// Rules that a configuration cannot have come from elsewhere: a state file that somebody wrote to.
func TestCompileRefusesToo(t *testing.T) {
	cfg := mountcfg.Default()
	cfg.Rules = []mountcfg.LockRule{{Name: "a", Lock: "l", TakenBy: "magic"}}
	_, err := Compile(cfg)
	require.EqualError(t, err, `rule 1: taken_by: want create or flock or record or lease, not "magic"`)
}
