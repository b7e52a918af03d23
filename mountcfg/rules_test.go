package mountcfg

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLoadRules(t *testing.T) {
	path := writeConfig(t, `rules:
  - terraform
  - preset: agency
    break: {gone: true}
    on_gone: remove
  - name: builds
    lock: '{dir...}/.build.lock'
    taken_by: create
    holder: parent
    guards:
      - '{dir...}/out/**'
      - '{dir...}/log'
    except: ['{dir...}/out/tmp']
    without: create
    once: ['a/*']
    keep: ['b/*']
    append: ['c/*']
    break:
      after: 2h
      unknown: 500ms
`)
	c, err := Load(path)
	require.NoError(t, err)
	require.Len(t, c.Rules, 3)
	require.Equal(t, "terraform", c.Rules[0].Name)
	require.True(t, c.Rules[0].Break.Gone)
	agency := c.Rules[1]
	require.Equal(t, []any{"agency", "agency", "agency", "repos/{repo}/.lock", LockBreak{Gone: true}, "remove"},
		[]any{agency.Name, agency.From, agency.Preset, agency.Lock, agency.Break, agency.OnGone})
	require.Equal(t, LockRule{
		Name: "builds", From: "builds", Lock: "{dir...}/.build.lock", TakenBy: "create", Holder: "parent",
		Guards: []string{"{dir...}/out/**", "{dir...}/log"}, Except: []string{"{dir...}/out/tmp"}, Without: "create",
		Once: []string{"a/*"}, Keep: []string{"b/*"}, Append: []string{"c/*"},
		Break: LockBreak{After: 2 * time.Hour, Unknown: 500 * time.Millisecond},
	}, c.Rules[2])
	require.Subset(t, c.Origins(), []Origin{
		{"rules", "terraform", path + ":2"}, {"rules.terraform.taken_by", "create", "preset terraform"},
		{"rules", "agency", path + ":3"}, {"rules.agency.lock", "repos/{repo}/.lock", "preset agency"},
		{"rules.agency.on_gone", "remove", path + ":5"}, {"rules.agency.break", "{gone: true}", path + ":4"},
		{"rules", "builds", path + ":6"}, {"rules.builds.guards", "{dir...}/log", path + ":12"},
		{"rules.builds.break", "{after: 2h0m0s, unknown: 500ms}", path + ":19"},
	})
}

// A key beside a preset replaces the preset's key whole, for the rule that it makes and for no other mount.
func TestAPresetIsChangedForOneRule(t *testing.T) {
	for range 2 {
		c, err := Load(writeConfig(t, "rules:\n  - preset: git\n    except: [x]\n  - {preset: jit, holder: session}\n"))
		require.NoError(t, err)
		require.Equal(t, []string{"x"}, c.Rules[0].Except)
		require.Len(t, c.Rules, 5)
		for _, rule := range c.Rules[1:] {
			require.Equal(t, "session", rule.Holder)
		}
		plain, err := presetRules("git")
		require.NoError(t, err)
		require.Greater(t, len(plain[0].Except), 3)
	}
}

func TestLoadRefusesRules(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a word":               {"rules: git\n", `:1:8: rules wants a list of presets and rules, not the text "git"`},
		"nothing":              {"rules:\n", `rules wants a list of presets and rules, not nothing`},
		"a number":             {"rules:\n  - 7\n", `:2:5: a rule wants the name of a preset or lines of 'key: value', not the number 7`},
		"a list":               {"rules:\n  - [git]\n", `:2:5: a rule wants the name of a preset`},
		"unknown preset":       {"rules:\n  - gitt\n", `:2:5: there is no preset "gitt"; did you mean git?`},
		"unknown preset, far":  {"rules:\n  - preset: subversion\n", `:2:13: there is no preset "subversion"; jvsfs rules lists them`},
		"preset of a number":   {"rules:\n  - preset: 1\n", `:2:13: preset wants a word, not the number 1`},
		"unknown key":          {"rules:\n  - name: a\n    gaurds: [x]\n", `:3:5: unknown key "gaurds" of a rule; did you mean guards?`},
		"dash for underscore":  {"rules:\n  - {name: a, taken-by: create}\n", `:2:15: unknown key "taken-by" of a rule; did you mean taken_by?`},
		"key of a later day":   {"rules:\n  - {name: a, fcntl: {}}\n", `:2:15: unknown key "fcntl" of a rule`},
		"key twice":            {"rules:\n  - name: a\n    lock: b\n    name: c\n", `:4:5: `},
		"lock of a mapping":    {"rules:\n  - {name: a, lock: {d}/x}\n", `:2:`},
		"lock without quotes":  {"rules:\n  - name: a\n    lock: {d: x}\n", `lock wants a pattern in quotes, not a mapping`},
		"empty lock":           {"rules:\n  - name: a\n    lock: ''\n", `:3:11: lock wants a pattern in quotes, not an empty value`},
		"name of a number":     {"rules:\n  - name: 7\n", `:2:11: name wants a word, not the number 7`},
		"on_gone of a boolean": {"rules:\n  - {name: a, on_gone: true}\n", `:2:24: on_gone wants a word, not the boolean true`},
		"guards of a word":     {"rules:\n  - {name: a, guards: x}\n", `:2:23: guards wants a list of patterns, not the text "x"`},
		"guards of a number":   {"rules:\n  - name: a\n    guards:\n      - x\n      - 8\n", `:5:9: guards wants a pattern in quotes, not the number 8`},
		"record of a word":     {"rules:\n  - {name: a, record: x}\n", `:2:23: record wants lines of 'key: value', not the text "x"`},
		"key of record":        {"rules:\n  - {name: a, record: {nonse: x}}\n", `:2:24: unknown key "nonse" of record; want nonce, token or expires; did you mean nonce?`},
		"break of a word":      {"rules:\n  - {name: a, break: gone}\n", `:2:22: break wants lines of 'key: value', not the text "gone"`},
		"key of break":         {"rules:\n  - {name: a, break: {gon: true}}\n", `:2:23: unknown key "gon" of break; want gone, after or unknown; did you mean gone?`},
		"break.gone":           {"rules:\n  - {name: a, break: {gone: 1}}\n", `:2:29: gone wants true or false, not the number 1`},
		"break.gone, a word":   {"rules:\n  - {name: a, break: {gone: yes}}\n", `:2:29: gone "yes": want true or false`},
		"break.after":          {"rules:\n  - {name: a, break: {after: 30}}\n", `:2:30: after wants a duration with a unit, such as 30s or 30ms`},
		"break.after, endless": {"rules:\n  - {name: a, break: {after: 9999h}}\n", `:2:30: after "9999h": want at most 8760h0m0s`},
		"break.after, fine":    {"rules:\n  - {name: a, break: {after: 1us}}\n", `want whole milliseconds`},
		"break.unknown":        {"rules:\n  - {name: a, break: {unknown: 0s}}\n", `:2:32: unknown "0s": want more than zero`},
		"of four rules":        {"rules:\n  - preset: jit\n    guards: [x]\n", `:3:5: guards cannot be changed for the 4 rules of preset jit at once; write rules of your own`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(writeConfig(t, c.text))
			require.ErrorContains(t, err, c.want)
			var at *FileError
			require.ErrorAs(t, err, &at)
			require.NotEmpty(t, at.Text, "with its line, and a caret")
		})
	}
}

// mistakes finds fault with names that begin with x, and with patterns that are "bad".
func mistakes(rules []LockRule) (all []RuleMistake) {
	for i, r := range rules {
		if strings.HasPrefix(r.Name, "x") {
			all = append(all, RuleMistake{i, "", -1, "no x"}, RuleMistake{i, "name", -1, "x again"})
		}
		for j, g := range r.Guards {
			if g == "bad" {
				all = append(all, RuleMistake{i, "guards", j, `"bad" is bad`})
			}
		}
		if r.OnGone == "never" {
			all = append(all, RuleMistake{i, "on_gone", -1, "never say never"})
		}
	}
	return all
}

// What the check finds is told at its place, together with all else, and in the order of the file.
func TestMistakesOfTheCheckHaveTheirPlaces(t *testing.T) {
	path := writeConfig(t, `mood: bad
rules:
  - {name: a, guards: [good, bad], on_gone: never}
  - name: b
    guards: 7
    on_gone: never
  - preset: git
    on_gone: never
  - lock: y
    name: xyz
`)
	_, err := Load(path, mistakes)
	var all []string
	for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
		head, _, _ := strings.Cut(strings.TrimPrefix(one.Error(), path), "\n")
		all = append(all, head)
	}
	require.Equal(t, []string{
		`:1:1: unknown key "mood"; did you mean mode?`,
		`:5:13: guards wants a list of patterns, not the number 7`,
		`:3:30: rule a: guards: "bad" is bad`,
		`:3:45: rule a: on_gone: never say never`,
		`:8:14: rule git: on_gone: never say never`,
		`:9:5: rule xyz: no x`,
		`:10:11: rule xyz: name: x again`,
	}, all)
}

func writeRules(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Presets and files of rules come by flags and options, which win over the file as a whole.
func TestRulesOfFlagsAndOptions(t *testing.T) {
	own := writeRules(t, "- name: a\n  keep: [x]\n- name: b\n  keep: [y]\n")
	keyed := writeRules(t, "rules:\n  - preset: agency\n    name: other\n")
	path := writeConfig(t, "rules: [jit]\n")
	names := func(c Config) (all []string) {
		for _, rule := range c.Rules {
			all = append(all, rule.Name)
		}
		return all
	}
	opts, err := ParseOptions("rules=git,rules=" + own)
	require.NoError(t, err)
	require.Equal(t, "rules=git,rules="+own, opts.String())
	c, err := ResolveOptions(path, opts, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"git", "a", "b"}, names(c))
	require.Subset(t, c.Origins(), []Origin{{"rules", "git", "-o option"}, {"rules", own, "-o option"}, {"rules.b.keep", "y", own + ":4"}})

	flags, err := parseFlags(t, "--rules", keyed, "--rules=terraform")
	require.NoError(t, err)
	c, err = ResolveOptions(path, opts, flags)
	require.NoError(t, err)
	require.Equal(t, []string{"other", "terraform"}, names(c))
	require.Contains(t, c.Origins(), Origin{"rules", keyed, "flag"})

	for text, want := range map[string]string{
		"gitt": `there is no preset "gitt"; did you mean git?`, "./absent.yaml": "no such file", "": "there is no preset",
		writeRules(t, "mode: shared\n"): `"mode" has no meaning in a file of rules`, writeRules(t, "rules: []\n"): "has no rules",
		writeRules(t, "- git\n- name: 7\n"): `own.yaml:2:9: name wants a word`,
	} {
		_, err = parseFlags(t, "--rules="+text)
		require.ErrorContains(t, err, want)
	}
	flags, err = parseFlags(t, "--rules="+writeRules(t, "- git\n- name: xx\n  keep: [y]\n"))
	require.NoError(t, err)
	_, err = ResolveOptions("", Options{}, flags, mistakes)
	require.ErrorContains(t, err, "own.yaml:2:9: rule xx: name: x again")
	_, err = ResolveOptions("", Options{}, flags, mistakes)
	require.ErrorContains(t, err, "own.yaml:2:3: rule xx: no x")
}

// Rules takes what a person has at hand.
func TestRulesOfAnything(t *testing.T) {
	for _, text := range []string{"git", writeRules(t, "- git\n"), writeRules(t, "rules: [git]\n"), writeConfig(t, "mode: shared\nrules: [git]\n")} {
		c, err := Rules(text, mistakes)
		require.NoError(t, err)
		require.Equal(t, "git", c.Rules[0].Name)
	}
	for text, want := range map[string]string{"gitt": "did you mean git?", writeRules(t, "- {name: xx}\n"): ":1:10: rule xx: name: x again", "/absent.yaml": "no such file"} {
		_, err := Rules(text, mistakes)
		require.ErrorContains(t, err, want)
	}
}

// A recovery has the rules as they were, presets expanded: another release may have other presets.
func TestSnapshotKeepsRules(t *testing.T) {
	c := Default()
	c.Rules = []LockRule{everyKey()}
	v := reflect.ValueOf(c.Rules[0])
	for i := range v.NumField() {
		require.False(t, v.Field(i).IsZero(), v.Type().Field(i).Name)
	}
	require.NoError(t, c.Set("rules", "jit", WhereFlag))
	c.Rules = append(c.Rules, everyKey())
	require.Contains(t, c.Origins(), Origin{"rules.jit-index.taken_by", "flock", "preset jit"})
	raw, err := c.Snapshot()
	require.NoError(t, err)
	got, err := Restore(raw, "the state file", mistakes)
	require.NoError(t, err)
	require.Equal(t, c.Rules, got.Rules)
	require.Subset(t, got.Origins(), []Origin{{"rules", "jit", "the state file"}, {"rules.all.holder", "user", "the state file"}})
	_, err = Restore([]byte(`{"Rules":[{"Name":"x"}]}`), "the state file", mistakes)
	require.ErrorContains(t, err, "rule x: no x")
}

func everyKey() LockRule {
	return LockRule{
		Name: "all", From: "all", Preset: "none", Lock: "l", TakenBy: "create", Holder: "user", Guards: []string{"g"}, Except: []string{"e"},
		Without: "deny", Once: []string{"o"}, Keep: []string{"k"}, Append: []string{"a"}, Break: LockBreak{true, time.Second, time.Minute}, OnGone: "remove",
		Record: LockRecord{"n", "t", "e"},
	}
}

func TestPresetsAreWhole(t *testing.T) {
	require.Greater(t, len(Presets()), 8)
	for _, p := range Presets() {
		require.NotContains(t, p.Name, ".", "it would be taken for a file")
		require.NotEmpty(t, p.About)
		require.Less(t, len(p.About), 100, p.Name)
		require.True(t, strings.HasPrefix(p.Text, "# "+p.About+"\n#\n# "), "%s: one line, and where that is known from", p.Name)
		rules, err := presetRules(p.Name)
		require.NoError(t, err)
		require.NotEmpty(t, rules)
	}
	r := newReader("preset x", "", nil)
	r.inPreset = true
	_, err := r.read([]byte("- git\n"), (*reader).ruleFile, nil)
	require.ErrorContains(t, err, "a preset is made of rules")
}
