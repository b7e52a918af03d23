package layout

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

func laidOut(t *testing.T, n Name, tree lease.WorktreeID) Layout {
	l, err := New(n, tree)
	require.NoError(t, err)
	return l
}

// Who judges a change of each name, and what lies there.
func TestEachPathIsGuardedByTheRuleOfItsLayout(t *testing.T) {
	w := func(id lease.WorktreeID) *Rule { return guarded(id) }
	badMain, badSpace := &Rule{Kind: BadName, Name: "main"}, &Rule{Kind: BadName, Name: "a b"}
	for _, c := range []struct {
		layout      Name
		path        string
		change, own *Rule
	}{
		{Tree, "", Sealed, w("t")},
		{Tree, ".jvs", w("t"), w("t")},
		{Tree, "main/x", w("t"), w("t")},
		{JVS, "", Sealed, Open},
		{JVS, "notes", Open, Open},
		{JVS, "main", w("main"), w("main")},
		{JVS, "main/src/.jvs", w("main"), w("main")},
		{JVS, "worktrees", Sealed, Open},
		{JVS, "worktrees/a", w("a"), w("a")},
		{JVS, "worktrees/a/main", w("a"), w("a")},
		{JVS, "worktrees/main", badMain, badMain},
		{JVS, "worktrees/a b", badSpace, badSpace},
		{JVS, ".jvs", Sealed, Open},
		{JVS, ".jvs/snapshots", Open, Snapshots},
		{JVS, ".jvs/snapshots/1", Snapshots, Snapshots},
		{JVS, ".jvs/snapshots/1/.jvs/snapshots", Snapshots, Snapshots},
		{JVS, ".jvs/descriptors/1.json", Snapshots, Snapshots},
		{JVS, ".jvs/intents/1.json", Open, Open},
		{JVS, "main.restore-tmp-1", w("main"), w("main")},
		{JVS, "main.restore-backup-1/f", w("main"), w("main")},
		{JVS, "main.restore-tmp-", Open, Open},
		{JVS, "other.restore-tmp-1", Open, Open},
		{JVS, "worktrees/a.restore-tmp-1", w("a"), w("a")},
		{JVS, "worktrees/a.recovery-restore-tmp-1", w("a"), w("a")},
		{JVS, "worktrees/main.restore-tmp-1", w("main.restore-tmp-1"), w("main.restore-tmp-1")},
		{JVS, ".jvs/locks", Sealed, Sealed},
		{JVS, ".jvs/locks/main.lock", Sealed, Sealed},
		{JVS, ".jvs/audit/audit.jsonl", Append, Append},
		{JVS, "other/.jvs/locks", Open, Open},
		{Folder, "", Sealed, w("t")},
		{Folder, "src/x", w("t"), w("t")},
		{Folder, "main", w("t"), w("t")},
		{Folder, ".jvs", w("t"), Open},
		{Folder, ".jvs/locks/repo.lock", Open, Open},
		{Folder, ".jvs/snapshots/1/f", Snapshots, Snapshots},
		{Folder, ".jvs/descriptors", Open, Snapshots},
		{Folder, "src/.jvs", w("t"), w("t")},
	} {
		t.Run(string(c.layout)+" "+c.path, func(t *testing.T) {
			e := laidOut(t, c.layout, treeOf(c.layout)).Of(c.path, true)
			require.Equal(t, c.change, e.Change, "a change of the name")
			require.Equal(t, c.own, e.Own, "what lies there")
		})
	}
}

func treeOf(n Name) lease.WorktreeID {
	if n == JVS {
		return ""
	}
	return "t"
}

// A file in the place of a directory that has rules in it is under the rule of its name.
func TestAFileInThePlaceOfADirectoryIsUnderTheRuleOfItsName(t *testing.T) {
	l := laidOut(t, JVS, "")
	require.Equal(t, Sealed, l.Of("worktrees", false).Own)
	require.Equal(t, Open, l.Of("worktrees", true).Own)
	require.True(t, l.Of("worktrees", true).Mkdir, "a repository may get its first worktree")
	require.False(t, l.Of(".jvs/locks/worktrees", true).Mkdir)
	f := laidOut(t, Folder, "t")
	require.Equal(t, guarded("t"), f.Of(".jvs", false).Own, "the locator of a workspace")
	require.Equal(t, Open, f.Of(".jvs", true).Own)
}

func TestAPathIsSplitIntoWorktreeAndRest(t *testing.T) {
	for _, c := range []struct {
		layout Name
		path   string
		id     lease.WorktreeID
		rest   string
		ok     bool
	}{
		{Tree, "", "t", "", true},
		{Tree, "a/b", "t", "a/b", true},
		{JVS, "main", "main", "", true},
		{JVS, "main/a", "main", "a", true},
		{JVS, "worktrees/w/a/b", "w", "a/b", true},
		{JVS, "worktrees", "", "", false},
		{JVS, "worktrees/main/a", "", "", false},
		{JVS, ".jvs/x", "", "", false},
		{JVS, "", "", "", false},
		{Folder, "a", "t", "a", true},
		{Folder, ".jvs/a", "", "", false},
	} {
		id, rest, ok := laidOut(t, c.layout, treeOf(c.layout)).Split(c.path)
		require.Equal(t, []any{c.id, c.rest, c.ok}, []any{id, rest, ok}, "%s %q", c.layout, c.path)
	}
}

func TestTheRootOfAWorktreeIsFoundByItsId(t *testing.T) {
	require.Equal(t, ".", laidOut(t, Tree, "t").RootOf("t"))
	require.Equal(t, ".", laidOut(t, Folder, "t").RootOf("t"))
	require.Equal(t, "main", laidOut(t, JVS, "").RootOf("main"))
	require.Equal(t, "worktrees/w", laidOut(t, JVS, "").RootOf("w"))
}

func TestTheLayoutIsChosenByWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		marks Marks
		want  Name
	}{
		"nothing":                      {Marks{Main: true}, Tree},
		"a repository":                 {Marks{Control: true, Main: true}, JVS},
		"a repository without main":    {Marks{Control: true, Worktrees: true}, JVS},
		"a folder":                     {Marks{Control: true, Mode: "embedded_control"}, Folder},
		"a folder that has a main":     {Marks{Control: true, Mode: "embedded_control", Main: true, Worktrees: true}, Folder},
		"a workspace":                  {Marks{Locator: true}, Folder},
		"a repository of another mode": {Marks{Control: true, Mode: "separated_control", Main: true}, JVS},
	} {
		got, why, err := Choose(c.marks)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
		require.NotEmpty(t, why, name)
	}
	_, _, err := Choose(Marks{Control: true})
	require.ErrorIs(t, err, ErrNothing)
	for _, looked := range []string{"main", "worktrees", ".jvs/repo_mode"} {
		require.ErrorContains(t, err, looked)
	}
}

func TestALayoutThatDoesNotFitIsAnError(t *testing.T) {
	require.Error(t, JVS.Needs(Marks{}))
	require.Error(t, JVS.Needs(Marks{Locator: true}))
	require.Error(t, Folder.Needs(Marks{}))
	require.NoError(t, Folder.Needs(Marks{Locator: true}))
	require.NoError(t, JVS.Needs(Marks{Control: true}), "a repository that is yet to get its main")
	require.NoError(t, Tree.Needs(Marks{Control: true}))
}

func TestALayoutWithoutANameOrATreeIsRefused(t *testing.T) {
	for _, c := range []struct {
		name Name
		tree lease.WorktreeID
	}{{"", "t"}, {Auto, "t"}, {Git, ""}, {Tree, ""}, {Folder, ""}} {
		_, err := New(c.name, c.tree)
		require.Error(t, err, "%q", c.name)
	}
}
