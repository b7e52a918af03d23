package lockfile

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ofLease is a rule with taken_by: lease.
func ofLease(name, guards string, except ...string) Spec {
	return Spec{Name: name, TakenBy: ByLease, Guards: []string{guards}, Except: except}
}

// A rule with taken_by: lease says which directories have leases of their own, and nothing about lock files.
func TestOnlyRulesOfLeasesGiveDirectoriesALease(t *testing.T) {
	r := compiled(t, ofLease("packages", "packages/{pkg}/**", "packages/node_modules/**"), ofLease("teams", "teams/{team}/src/{part}/**", "teams/*/src/old/**"),
		ofLease("docs", "docs/**"), agency)
	require.Len(t, r.All(), 1)
	require.Len(t, r.Leases(), 3)
	for _, row := range []struct {
		path  string
		root  string // the id of the instance whose root it is
		lies  string // the same of the one that it lies in
		below bool   // roots may lie below
	}{
		{"packages", "", "", true},
		{"packages/a", "packages{pkg=a}", "packages{pkg=a}", false},
		{"packages/a/b/c", "", "packages{pkg=a}", false},
		{"packages/node_modules", "", "", false},
		{"packages/node_modules/a", "", "", false},
		{"packagesx/a", "", "", false},
		{"x/packages/a", "", "", false},
		{"teams", "", "", true},
		{"teams/x", "", "", true},
		{"teams/x/src", "", "", true},
		{"teams/x/lib", "", "", false},
		{"teams/x/src/ui", "teams{team=x,part=ui}", "teams{team=x,part=ui}", false},
		{"teams/x/src/old", "", "", false},
		{"docs", "docs", "docs", false},
		{"docs/a", "", "docs", false},
		{"repos/x/f", "", "", false},
	} {
		at, is := r.LeaseAt(row.path)
		require.Equal(t, row.root != "", is, row.path)
		of, in := r.LeaseOf(row.path)
		require.Equal(t, row.lies != "", in, row.path)
		if is {
			require.Equal(t, row.root, at.ID(), row.path)
		}
		if in {
			require.Equal(t, row.lies, of.ID(), row.path)
		}
		require.Equal(t, row.below, r.LeasesBelow(row.path), row.path)
	}
	require.True(t, r.LeasesBelow(""))
	require.True(t, r.At("packages/a/f").Free(), "no lock file guards it")
	require.False(t, compiled(t, agency).LeasesBelow(""))
}

// JVS keeps its records in .jvs: it is no worktree.
func TestTheRecordsOfJVSAreNoWorktree(t *testing.T) {
	r := compiled(t, ofLease("all", "{top}/{x}/**"))
	for path, want := range map[string]bool{"a/b": true, ".jvs/locks": false, ".jvsx/a": true} {
		_, is := r.LeaseAt(path)
		require.Equal(t, want, is, path)
	}
	require.False(t, r.LeasesBelow(".jvs"))
}

// Two patterns overlap if a name could lie in a worktree of each. Each way round is the same.
func TestPatternsOfLeasesThatOverlapAreFound(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want bool
	}{
		{"a/**", "a/**", true},
		{"a/**", "b/**", false},
		{"a/**", "ab/**", false},
		{"a/**", "a/{x}/**", true},
		{"{x}/**", "a/**", true},
		{"a/{x}/**", "a/{y}/**", true},
		{"a/{x}/**", "a/b/{y}/**", true},
		{"a/{x}/**", "b/{x}/**", false},
		{"a/{x}/c/**", "a/{y}/d/**", false},
		{"a/{x}/c/**", "a/b/{y}/**", true},
		{"{x}/a/**", "{y}/b/**", false},
		{"{x}/a/**", "b/{y}/**", true},
	} {
		_, mistakes := Compile([]Spec{ofLease("a", row.a), ofLease("b", row.b)})
		_, turned := Compile([]Spec{ofLease("b", row.b), ofLease("a", row.a)})
		require.Equal(t, row.want, len(mistakes) > 0, "%s %s: %v", row.a, row.b, mistakes)
		require.Equal(t, row.want, len(turned) > 0, "%s %s: %v", row.b, row.a, turned)
		if row.want {
			require.Equal(t, []Mistake{{1, KeyGuards, 0, `"` + row.b + `" overlaps with "` + row.a + `" of rule 1, and a file has one lease`}}, mistakes)
		}
	}
}

// Whatever rules are accepted together, no name lies in two worktrees.
func TestNoNameHasTwoLeases(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "{x}", "{y}", "{z}"})
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 5)
	rapid.Check(t, func(t *rapid.T) {
		var specs []Spec
		for i := range 3 {
			dirs := rapid.SliceOfNDistinct(part, 1, 3, rapid.ID[string]).Draw(t, "dirs")
			specs = append(specs, ofLease(string(rune('p'+i)), strings.Join(dirs, "/")+"/**"))
		}
		r, _ := Compile(specs)
		path := names.Draw(t, "path")
		var in []string
		for end := range len(path) {
			for _, one := range r.Leases() {
				if dir := path[:end+1]; len(dir) == len(one.dirs) && one.mayHave(dir) {
					in = append(in, one.Name)
				}
			}
		}
		if len(in) > 1 {
			t.Fatalf("%v lies in worktrees of %v: %v", path, in, specs)
		}
	})
}

func TestEveryMistakeInARuleOfLeasesIsTold(t *testing.T) {
	const shape = `: want whole components, each a text or one capture, and '/**' at the end, such as packages/{pkg}/**`
	with := func(change func(*Spec)) Spec {
		s := ofLease("a", "d/{x}/**")
		change(&s)
		return s
	}
	for says, s := range map[string]Spec{
		`lock: taken_by: lease has no lock file: guards says which directories have a lease of their own`:                  with(func(s *Spec) { s.Lock = "l" }),
		`holder: who holds a lease is said by scope, for the mount or the worktree`:                                        with(func(s *Spec) { s.Holder = Session }),
		`without: what becomes of a write without a lease is said by on_free, for the mount or the worktree`:               with(func(s *Spec) { s.Without = Deny }),
		`break: a lease ends by its own rules: there is no lock file to break`:                                             with(func(s *Spec) { s.Break.Gone = true }),
		`on_gone: a lease ends with its holder: there is no lock file to keep or to remove`:                                with(func(s *Spec) { s.OnGone = KeepIt }),
		`record: it needs taken_by: record`:                                                                                with(func(s *Spec) { s.Record.Nonce = "n" }),
		`once: want a rule of its own for it, without taken_by: lease`:                                                     with(func(s *Spec) { s.Once = []string{"x"} }),
		`keep: want a rule of its own for it, without taken_by: lease`:                                                     with(func(s *Spec) { s.Keep = []string{"x"} }),
		`append: want a rule of its own for it, without taken_by: lease`:                                                   with(func(s *Spec) { s.Append = []string{"x"} }),
		`taken_by: want guards beside it: the directories that are worktrees, such as packages/{pkg}/**`:                   with(func(s *Spec) { s.Guards = nil }),
		`guards: want one pattern: a worktree has one directory; write another rule`:                                       with(func(s *Spec) { s.Guards = append(s.Guards, "e/**") }),
		`guards: "**": it matches everything: one lease for all of the source is what the layout tree has, without a rule`: ofLease("a", "**"),
		`guards: "d/{x}"` + shape:       ofLease("a", "d/{x}"),
		`guards: "d/{x...}/**"` + shape: ofLease("a", "d/{x...}/**"),
		`guards: "d/p-{x}/**"` + shape:  ofLease("a", "d/p-{x}/**"),
		`guards: "d/*/**"` + shape:      ofLease("a", "d/*/**"),
		`guards: "d/**/e/**"` + shape:   ofLease("a", "d/**/e/**"),
		`guards: "../d/**": want no '..': a pattern stays below the worktree's root`:                    ofLease("a", "../d/**"),
		`guards: ".jvs/{x}/**": .jvs is no worktree`:                                                    ofLease("a", ".jvs/{x}/**"),
		`except: "d/{x}/e/**" lies in one of the worktrees, and a worktree has one lease for all of it`: ofLease("a", "d/{x}/**", "d/{x}/e/**"),
		`except: "d/*.o"` + shape:                                               ofLease("a", "d/{x}/**", "d/*.o"),
		`except: want at most 32 patterns`:                                      ofLease("a", "d/{x}/**", make([]string, 33)...),
		`name: want a name of 1 to 64 letters, digits, dots and dashes, not ""`: ofLease("", "d/{x}/**"),
	} {
		_, mistakes := Compile([]Spec{s})
		var all []string
		for _, m := range mistakes {
			all = append(all, m.Key+": "+m.Text)
		}
		require.Equal(t, []string{says}, all)
	}
}

// A root is found again by the values of its captures.
func TestTheRootOfAPartIsFoundByItsValues(t *testing.T) {
	r := compiled(t, ofLease("teams", "teams/{team}/src/{part}/**")).Leases()[0]
	for values, want := range map[string]string{"x ui": "teams/x/src/ui", "x": "", "": "", "x ui y": ""} {
		dir, ok := r.LeaseRoot(slices.DeleteFunc(strings.Split(values, " "), func(s string) bool { return s == "" }))
		require.Equal(t, want != "", ok, values)
		if ok {
			require.Equal(t, want, dir)
		}
	}
}
