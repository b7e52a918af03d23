package layout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// withParts is a tree of the worktree t with rules NAME: PATTERN.
func withParts(t *testing.T, tree lease.WorktreeID, rules ...string) Layout {
	t.Helper()
	l, err := laidOut(t, Tree, tree).WithParts(partRules(t, rules...))
	require.NoError(t, err)
	return l
}

func partRules(t *testing.T, rules ...string) *lockfile.Rules {
	t.Helper()
	var specs []lockfile.Spec
	for _, rule := range rules {
		name, guards, _ := strings.Cut(rule, ": ")
		specs = append(specs, lockfile.Spec{Name: name, TakenBy: lockfile.ByLease, Guards: []string{guards}})
	}
	r, mistakes := lockfile.Compile(specs)
	require.Empty(t, mistakes)
	return r
}

// A part's directory belongs to its own lease, its name to whoever may write beside it while nobody else holds the part,
// and a file beside the parts to the tree.
func TestAPathInAPartIsGuardedByTheLeaseOfThePart(t *testing.T) {
	l := withParts(t, "t", "packages: packages/{pkg}/**", "teams: teams/{team}/src/{part}/**")
	for _, row := range []struct {
		path       string
		file       bool
		own        lease.WorktreeID
		rest, part string // below its root; the root of the part that the name is
	}{
		{"", false, "t", "", ""},
		{"x/y", false, "t", "x/y", ""},
		{"packages", false, "t", "packages", ""},
		{"packages/README", true, "t", "packages/README", "packages/README"},
		{"packages/a", false, "packages.a", "", "packages/a"},
		{"packages/a/packages/b", false, "packages.a", "packages/b", ""},
		{"teams/x/src/ui", false, "teams.x.ui", "", "teams/x/src/ui"},
		{"teams/x/src", false, "t", "teams/x/src", ""},
		{"teams/x/lib/ui", false, "t", "teams/x/lib/ui", ""},
	} {
		e := l.Of(row.path, !row.file)
		require.Equal(t, row.own, e.Own.Worktree, row.path)
		require.Equal(t, row.part != "", e.Part != nil, row.path)
		if e.Part != nil {
			require.Equal(t, Rule{Kind: Unheld, Worktree: PartID(mustBePart(t, l, row.part)), Name: row.part}, *e.Part, row.path)
		}
		if row.file {
			continue
		}
		id, rest, ok := l.Split(row.path)
		require.True(t, ok, row.path)
		require.Equal(t, []any{row.own, row.rest}, []any{id, rest}, row.path)
		named, ok := l.WorktreeOf(row.path)
		require.True(t, ok, row.path)
		require.Equal(t, row.own, named, row.path)
	}
	require.Equal(t, guarded("t"), l.Of("packages/a", true).Change, "the name is of the directory that it lies in")
	require.True(t, l.ByName())
	require.False(t, laidOut(t, Tree, "t").ByName())
	require.True(t, l.IsPart("packages.a"))
	require.False(t, l.IsPart("t"))
}

// Other layouts have worktrees of their own.
func TestOnlyATreeHasParts(t *testing.T) {
	for _, n := range []Name{JVS, Folder, Git} {
		_, err := laidOut(t, n, treeOf(n)).WithParts(partRules(t, "p: p/{x}/**"))
		require.EqualError(t, err, "rule p makes worktrees of directories (taken_by: lease), and the layout "+string(n)+" has worktrees of its own")
		l, err := laidOut(t, n, treeOf(n)).WithParts(nil)
		require.NoError(t, err)
		require.False(t, l.HasParts())
	}
}

// The ids of parts are fit for a record, and tell where the part lies. A dot or a slash does not make one of two.
func TestTheIDOfAPartIsFitForARecordAndTellsWhereItLies(t *testing.T) {
	l := withParts(t, "p.tree", "p: p/{x}/**", "p.q: q/{x}/{y}/**", "r: r/**")
	long := strings.Repeat("l", 255)
	for dir, want := range map[string]lease.WorktreeID{
		"p/a":           "p.a",
		"p/q.a":         "p.q_.a",
		"p/a_b":         "p.a__b",
		"p/a b":         "p.a_20b",
		"p/.git":        "p._.git",
		"p/\xff\x00":    "p._ff_00",
		"p/tree":        "p._t80c2b2c66eb2f5da5bd0ba1a83a61f5f",
		"q/a/b":         "p_.q.a.b",
		"q/a.b/c":       "p_.q.a_.b.c",
		"q/a/b.c":       "p_.q.a.b_.c",
		"r":             "r",
		"p/" + long:     "p._s",
		"p/" + long[1:]: "p._s",
	} {
		id := l.Of(dir, true).Own.Worktree
		_, err := record.ParseWorktreeID(string(id))
		require.NoError(t, err, dir)
		if strings.Contains(string(want), "._s") || strings.Contains(string(want), "._t") {
			require.True(t, strings.HasPrefix(string(id), string(want[:4])), "%s: %s", dir, id)
			require.Len(t, id, len("p._s")+32)
			require.Empty(t, l.RootOf(id), "a hash does not tell")
			continue
		}
		require.Equal(t, want, id, dir)
		require.Equal(t, dir, l.RootOf(id))
	}
	for _, id := range []lease.WorktreeID{"p", "p.", "p.a.b", "x.a", "p._", "p._2", "p._zz", "p.a_2fb", "r.a", "p..", "p._61"} {
		require.Empty(t, l.RootOf(id), id)
	}
	require.Equal(t, ".", l.RootOf("p.tree"))
}

// Two parts never have one id, and none has that of the tree, whatever their names are.
func TestTwoPartsHaveTwoIDs(t *testing.T) {
	name := rapid.OneOf(
		rapid.StringMatching(`[ab._-]{1,4}`), rapid.StringMatching(`[_.0-9a-f]{1,6}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 255), func(b []byte) string { return strings.NewReplacer("/", "_", "\x00", ".").Replace(string(b)) }),
	).Filter(func(name string) bool { return name != "." && name != ".." })
	dir := rapid.Custom(func(t *rapid.T) string {
		top := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "top")
		if top == "b" {
			return top + "/" + name.Draw(t, "x") + "/" + name.Draw(t, "y")
		}
		return top + "/" + name.Draw(t, "x")
	})
	rules := partRules(t, "a: a/{x}/**", "a.b: b/{x}/{y}/**", "a-b: c/{x}/**")
	rapid.Check(t, func(t *rapid.T) {
		one, other := dir.Draw(t, "one"), dir.Draw(t, "other")
		i, _ := rules.LeaseAt(other)
		tree := rapid.SampledFrom([]lease.WorktreeID{"t", PartID(i)}).Draw(t, "tree")
		l, err := Layout{name: Tree, tree: tree}.WithParts(rules)
		require.NoError(t, err)
		a, b := l.Of(one, true).Own.Worktree, l.Of(other, true).Own.Worktree
		require.Equal(t, one == other, a == b, "%q %q: %s %s", one, other, a, b)
		for _, id := range []lease.WorktreeID{a, b} {
			_, err := record.ParseWorktreeID(string(id))
			require.NoError(t, err)
			require.NotEqual(t, tree, id)
		}
		if root := l.RootOf(a); root != "" {
			require.Equal(t, one, root)
		}
	})
}

func mustBePart(t *testing.T, l Layout, dir string) lockfile.Instance {
	t.Helper()
	i, ok := l.parts.LeaseAt(dir)
	require.True(t, ok, dir)
	return i
}
