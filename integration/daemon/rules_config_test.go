package daemon

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Presets are listed and printed, and what is printed is a file of rules.
func TestRulesPrintsPresetsThatAreFilesOfRules(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	require.Regexp(t, `(?m)^git +git: index.lock`, m.MustCLI("rules"))
	var view struct {
		Presets []struct{ Name, About, YAML string }
	}
	require.NoError(t, json.Unmarshal([]byte(m.MustCLI("rules", "--json")), &view))
	require.Greater(t, len(view.Presets), 8)
	for _, p := range view.Presets[:2] {
		file := m.WriteConfig("own.yaml", m.MustCLI("rules", "show", p.Name))
		require.Contains(t, m.MustCLI("rules", "--config", file), "rules."+p.Name+".lock")
	}
	_, errs, exit := m.CLI("rules", "show", "gitt")
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, `there is no preset "gitt"; did you mean git?`)
	_, errs, exit = m.CLI("rules", m.Source)
	require.Equal(t, harness.ExitDead, exit)
	require.Contains(t, errs, "is on no jvsfs mount")
}

// What a rule says of a path can be asked before anything is mounted.
func TestRulesTestTellsWhatARuleSaysOfAPath(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	require.Equal(t, "repos/a/meta.json: guarded by agency{repo=a}: its lock is repos/a/.lock\n"+
		"repos/a/.lock: it is the lock of agency{repo=a}\n"+
		"repos/a: as a directory, its name is guarded by agency{repo=a}: its lock is repos/a/.lock\n"+
		"other: no rule says anything\n", m.MustCLI("rules", "test", "agency", "repos/a/meta.json", "./repos//a/.lock", "repos/a", "other"))
	file := m.WriteConfig("c.yaml", "mode: shared\nrules:\n  - name: r\n    once: ['a/*']\n    keep: ['a/b']\n    append: ['**/*.log']\n")
	require.Equal(t, "a/b: never changed once it is there (once of r)\na/b: never removed or renamed (keep of r)\nx.log: may only grow (append of r)\n",
		m.MustCLI("rules", "test", file, "a/b", "x.log"))
	require.JSONEq(t, `[{"path": "repos/a/.lock", "locks": [{"rule": "agency", "instance": "agency{repo=a}", "lock": "repos/a/.lock", "captures": {"repo": "a"}}]},
		{"path": "x"}]`, m.MustCLI("rules", "test", "--json", "agency", "repos/a/.lock", "x"))
	for _, path := range []string{"/a", "../a", "a/../..", "."} {
		_, errs, exit := m.CLI("rules", "test", "git", path)
		require.Equal(t, harness.ExitUsage, exit, path)
		require.Contains(t, errs, "want a path below the root of the source", path)
	}
}

// A mistake in a rule is told with its place by everybody who reads a configuration, together with all others.
func TestAMistakeInARuleIsToldWithItsPlace(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	file := m.WriteConfig("c.yaml", "moed: shared\nrules:\n  - preset: git\n    guards: ['{r...}/x']\n  - {name: a, lock: 'l', taken_by: lease, on_gone: 7}\n  - {name: b, lock: 'l'}\n")
	for _, args := range [][]string{{"config", "check", file}, {"rules", "test", file, "x"}, {"rules", "--config", file}, {"config", "show", "--config", file},
		{"mount", "--config", file, "--control", m.LockDir, m.Source, m.Mountpoint}} {
		_, errs, exit := m.CLI(args...)
		require.Equal(t, harness.ExitUsage, exit, args)
		for _, want := range []string{
			`:1:1: unknown key "moed"; did you mean mode?`, `:4:14: rule git: guards: "{r...}/x": {f} of the lock is missing`, `:5:52: on_gone wants a word, not the number 7`,
			`:6:21: rule b: lock: want taken_by beside it`,
		} {
			require.Contains(t, errs, want, args)
		}
	}
	own := m.WriteConfig("own.yaml", "- name: a\n  keep: ['../l']\n- name: p\n  taken_by: lease\n  guards: ['p/{x}/**']\n  holder: user\n"+
		"- name: q\n  taken_by: lease\n  guards: ['p/q/{y}/**']\n- name: r\n  taken_by: lease\n  guards: ['**']\n")
	for _, option := range [][]string{{"--rules", own}, {"-o", "rules=" + own}} {
		_, errs, exit := m.CLI(append(append([]string{"mount"}, option...), "--control", m.LockDir, m.Source, m.Mountpoint)...)
		require.Equal(t, harness.ExitUsage, exit)
		for _, want := range []string{
			`:2:10: rule a: keep: "../l": want no '..'`, `:6:11: rule p: holder: who holds a lease is said by scope`,
			`:9:12: rule q: guards: "p/q/{y}/**" overlaps with "p/{x}/**" of rule 2, and a file has one lease`,
			`:12:12: rule r: guards: "**": it matches everything: one lease for all of the source is what the layout tree has`,
		} {
			require.Contains(t, errs, own+want)
		}
	}
	require.Empty(t, harness.TopType(t, m.Mountpoint))
}

// The rules in force are those of the configuration, with presets expanded, also after the daemon was killed or replaced.
func TestRulesInForceAreThoseOfTheConfiguration(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	own := m.WriteConfig("own.yaml", "- name: builds\n  lock: '{d...}/.build.lock'\n  taken_by: create\n  guards: ['{d...}/out/**']\n  break: {after: 2h}\n")
	m.Opts.Extra = []string{"--rules", "git", "--rules", own}
	m.Mount()
	rules := func() map[string][2]string {
		all := map[string][2]string{}
		var view struct {
			Values []struct{ Key, Value, Where string }
		}
		require.NoError(t, json.Unmarshal([]byte(m.MustCLI("rules", "--json", m.Mountpoint+"/f")), &view))
		for _, v := range view.Values {
			require.True(t, strings.HasPrefix(v.Key, "rules"), v.Key)
			all[v.Key] = [2]string{v.Value, v.Where}
		}
		return all
	}
	before := rules()
	require.Equal(t, [2]string{"{r...}/.git/{f...}.lock", "preset git"}, before["rules.git.lock"])
	require.Equal(t, [2]string{"{after: 2h0m0s}", own + ":5"}, before["rules.builds.break"])
	require.Equal(t, [2]string{own, "flag"}, before["rules"])

	m.WriteConfig("own.yaml", "gone: true\n") // the mount goes on with what it has
	m.KillDaemon()
	m.Recover()
	after := rules()
	require.Len(t, after, len(before))
	for key, was := range before {
		require.Equal(t, was[0], after[key][0], key)
	}
}

// Without rules there is nothing to list.
func TestRulesListsNothingWhereThereAreNone(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	require.Equal(t, "no rules\n", m.MustCLI("rules", m.Mountpoint))
}
