package layout

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

func gitLayout(t *testing.T, r Repository) Layout { return laidOut(t, Git, "r").With(r) }

// ordinary is a repository with two linked worktrees in it.
var ordinary = Repository{Common: ".git", Linked: []Checkout{
	{ID: "a", Name: "a", Root: ".worktrees/a"}, {ID: "b", Name: "b", Root: "src/deep/b"},
}}

func TestEachPathOfARepositoryIsGuardedByTheRuleOfItsPlace(t *testing.T) {
	r, a, b := guarded("r"), guarded("a"), guarded("b")
	for path, c := range map[string]struct{ change, own *Rule }{
		"":                                  {Sealed, r},
		"src/main.go":                       {r, r},
		"yarn.lock":                         {r, r},
		".git":                              {r, r},
		".git/HEAD":                         {r, r},
		".git/HEAD.lock":                    {Common, r},
		".git/index":                        {r, r},
		".git/index.lock":                   {r, r},
		".git/MERGE_HEAD":                   {r, r},
		".git/rebase-merge/done":            {r, r},
		".git/modules/sub/HEAD":             {r, r},
		".git/hooks/pre-commit":             {r, r},
		".git/config":                       {r, r},
		".git/config.lock":                  {Common, Common},
		".git/config.worktree":              {r, r},
		".git/packed-refs":                  {r, Objects},
		".git/packed-refs.new":              {Common, Common},
		".git/shallow":                      {Common, Common},
		".git/shallow_a1b2":                 {Common, Common},
		".git/gc.pid":                       {Common, Common},
		".git/gc.pid.lock":                  {Common, Common},
		".git/objects":                      {Common, Objects},
		".git/objects/ab/cdef":              {Objects, Objects},
		".git/objects/pack/pack-1.idx":      {Objects, Objects},
		".git/info/exclude":                 {r, r},
		".git/info/refs":                    {Common, Common},
		".git/info/refs_xyz":                {Common, Common},
		".git/rr-cache/1/preimage":          {Common, Common},
		".git/lfs/objects/1":                {Common, Common},
		".git/refs":                         {Common, Common},
		".git/refs/tags/v1":                 {Common, Common},
		".git/refs/stash":                   {Common, Common},
		".git/refs/heads":                   {Common, Heads},
		".git/refs/heads/x/y":               {Heads, Heads},
		".git/refs/bisect/bad":              {r, r},
		".git/refs/worktree/w":              {r, r},
		".git/logs":                         {Common, r},
		".git/logs/HEAD":                    {r, r},
		".git/logs/HEAD.lock":               {Common, Common},
		".git/logs/refs/heads/x":            {Heads, Heads},
		".git/logs/refs/stash":              {Common, Common},
		".git/logs/refs/bisect/bad":         {r, r},
		".git/worktrees":                    {Common, r},
		".git/worktrees/a":                  {a, a},
		".git/worktrees/a/HEAD":             {a, a},
		".git/worktrees/a/HEAD.lock":        {Common, a},
		".git/worktrees/a/gc.log":           {Common, Common},
		".git/worktrees/a/gc.log.lock":      {Common, Common},
		".git/worktrees/a/index.lock":       {a, a},
		".git/worktrees/a/logs/HEAD":        {a, a},
		".git/worktrees/a/logs/HEAD.lock":   {Common, Common},
		".git/worktrees/a/modules/sub/HEAD": {a, a},
		".git/worktrees/new/HEAD":           {guarded("new"), guarded("new")},
		".worktrees":                        {r, r},
		".worktrees/a":                      {a, a},
		".worktrees/a/.git":                 {a, a},
		".worktrees/a/src/x":                {a, a},
		".worktrees/new":                    {r, r},
		".claude":                           {r, r},
		".claude/settings.json":             {r, r},
		".claude/worktrees":                 {r, r},
		".claude/worktrees/new":             {r, r},
		"src/.claude/worktrees/new":         {r, r},
		"src/deep/b":                        {b, b},
		"src/deep/b/x":                      {b, b},
		"src/deep":                          {r, r},
	} {
		t.Run(path, func(t *testing.T) {
			e := gitLayout(t, ordinary).Of(path, true)
			require.Equal(t, c.change, e.Change, "a change of the name")
			require.Equal(t, c.own, e.Own, "what lies there")
		})
	}
}

// The repository may be bare, and lie beside its worktrees or have them in it; or the main checkout
// lies beside them.
func TestEachPathAroundARepositoryIsGuardedByTheRuleOfItsPlace(t *testing.T) {
	r, w := guarded("r"), guarded("w")
	linked := []Checkout{{ID: "w", Name: "w", Root: "w"}}
	for _, c := range []struct {
		repo Repository
		path string
		own  *Rule
	}{
		{Repository{Common: ".bare", Around: true, Linked: linked}, "", Open},
		{Repository{Common: ".bare", Around: true, Linked: linked}, "notes", Open},
		{Repository{Common: ".bare", Around: true, Linked: linked}, ".git", r},
		{Repository{Common: ".bare", Around: true, Linked: linked}, ".bare/HEAD", r},
		{Repository{Common: ".bare", Around: true, Linked: linked}, ".bare/objects/x", Objects},
		{Repository{Common: ".bare", Around: true, Linked: linked}, "w/x", w},
		{Repository{Around: true, Linked: linked}, "HEAD", r},
		{Repository{Around: true, Linked: linked}, "refs/tags/x", Common},
		{Repository{Around: true, Linked: linked}, "w/yarn.lock", w},
		{Repository{Common: "repo/.git", Main: "repo", Around: true, Linked: linked}, "repo/src", r},
		{Repository{Common: "repo/.git", Main: "repo", Around: true, Linked: linked}, "repo/.git/objects/x", Objects},
		{Repository{Common: "repo/.git", Main: "repo", Around: true, Linked: linked}, "repo/.git/worktrees/w/HEAD", w},
		{Repository{Common: "repo/.git", Main: "repo", Around: true, Linked: linked}, "w/src", w},
		{Repository{Common: "repo/.git", Main: "repo", Around: true, Linked: linked}, "other/src", Open},
		{Repository{Common: "a/b/.git", Main: "a/b", Around: true, Linked: linked}, "a", Open},
		{Repository{Common: "a/b/.git", Main: "a/b", Around: true, Linked: linked}, "a/b/src", r},
		{Repository{Common: "a/b/.git", Main: "a/b", Around: true, Linked: linked}, "a/b/.git/objects/x", Objects},
		{Repository{Common: "a/b.git", Around: true, Linked: linked}, "a/b.git/objects/x", Objects},
		{Repository{Common: "a/b.git", Around: true, Linked: linked}, "a/b.git/HEAD", r},
	} {
		require.Equal(t, c.own, gitLayout(t, c.repo).Of(c.path, true).Own, "%+v %s", c.repo, c.path)
	}
}

// A lock of a branch is everybody's to take, and only the branch's own to write into: so git takes a
// whole transaction back before any of it is done.
func TestALockOfABranchIsTakenByEverybodyAndWrittenByItsHolder(t *testing.T) {
	l := gitLayout(t, ordinary)
	read := func(rel string) (string, bool) { return "ref: refs/heads/a\n", rel == ".git/worktrees/a/HEAD" }
	require.Equal(t, []*Rule{guarded("a")}, l.RuleOfRefContent("refs/heads/a.lock", []string{"a"}, read))
	require.Equal(t, []*Rule{guarded("a")}, l.RuleOfRefContent("logs/refs/heads/a", []string{"a"}, read))
	require.Equal(t, []*Rule{Common}, l.RuleOfRefContent("logs/refs/heads/a.lock", []string{"a"}, read), "git reflog expire writes it")
	require.Equal(t, []*Rule{Common}, l.RuleOfRefContent("refs/heads/b.lock", []string{"a"}, read))
}

func TestAFileIsReplacedOnlyByItsOwnLockFile(t *testing.T) {
	require.True(t, Replaces("config.lock", "config"))
	require.True(t, Replaces("packed-refs.new", "packed-refs"))
	require.True(t, Replaces("packed-refs.lock", "packed-refs"))
	require.False(t, Replaces("objects/x", "packed-refs"))
	require.False(t, Replaces("packed-refs.new", "config"))
	require.False(t, Replaces("HEAD.lock", "HEAD"))
}

func TestEverybodyMayMakeThePlacesOfWorktrees(t *testing.T) {
	l := gitLayout(t, ordinary)
	for _, path := range []string{".worktrees", ".worktrees/new", ".claude", ".claude/worktrees", ".claude/worktrees/new", ".git/worktrees/new"} {
		require.True(t, l.Of(path, true).Mkdir, path)
	}
	for _, path := range []string{"src", ".claude/agents", ".worktrees/new/src", ".worktrees/a/src", "src/.worktrees"} {
		require.False(t, l.Of(path, true).Mkdir, path)
	}
}

func TestAPathOfGitIsSplitIntoWorktreeAndRest(t *testing.T) {
	l := gitLayout(t, ordinary)
	for path, want := range map[string][]any{
		"x":                    {lease.WorktreeID("r"), "x", true},
		".worktrees/a/x":       {lease.WorktreeID("a"), "x", true},
		".git/index":           {lease.WorktreeID("r"), ".git/index", true},
		".git/worktrees/a/idx": {lease.WorktreeID(""), "", false},
		".git/objects/x":       {lease.WorktreeID(""), "", false},
	} {
		id, rest, ok := l.Split(path)
		require.Equal(t, want, []any{id, rest, ok}, path)
	}
	require.Equal(t, "src/deep/b", l.RootOf("b"))
	require.Equal(t, ".", l.RootOf("r"))
	id, ok := l.WorktreeOf(".git/objects/x")
	require.True(t, ok)
	require.Equal(t, lease.WorktreeID("r"), id, "what is everybody's goes with the repository")
}

// Two worktrees never share a lease, whatever they are called.
func TestTwoWorktreesOfGitNeverShareAnId(t *testing.T) {
	l := gitLayout(t, ordinary)
	seen := map[lease.WorktreeID]string{"r": "the main checkout"}
	for _, name := range []string{"a", "A", "r", "x.r", "x.a", "ä", "_e4", "a b", "a_20b", "x.a_20b", strings.Repeat("n", 101), strings.Repeat("n", 200), strings.Repeat("ü", 127)} {
		id := l.LinkedID(name)
		_, err := record.ParseWorktreeID(string(id))
		require.NoError(t, err, name)
		require.Empty(t, seen[id], "%s has the lease of %s", name, seen[id])
		seen[id] = name
	}
	require.Equal(t, lease.WorktreeID("feature-1"), l.LinkedID("feature-1"))
}

func TestTheRootOfACheckoutIsFoundByItsNote(t *testing.T) {
	bases := []string{"/mnt/r", "/srv/r/"}
	for _, c := range []struct {
		note, common string
		want         string
	}{
		{"/mnt/r/.worktrees/a/.git\n", ".git", ".worktrees/a"},
		{"/srv/r/a/.git", ".git", "a"},
		{"/srv/r/../r/a/.git", ".git", "a"},
		{"../../../a/.git\n", ".git", "a"},
		{"../../../../a/.git\n", ".git", ""},
		{"../../a/.git\n", "", "a"},
		{"/srv/r2/a/.git", ".git", ""},
		{"/srv/r/.git", ".git", ""},
		{"../../../.git", ".git", ""},
		{"/elsewhere/a/.git", ".git", ""},
		{"/srv/r/a", ".git", ""},
		{"", ".git", ""},
		{"/srv/r/a\x00/.git", ".git", ""},
	} {
		root, ok := CheckoutRoot(c.note, "a", c.common, bases...)
		require.Equal(t, c.want != "", ok, "%q", c.note)
		if ok {
			require.Equal(t, c.want, root, "%q", c.note)
		}
	}
}

func TestABranchIsItsCheckouts(t *testing.T) {
	files := map[string]string{
		".git/HEAD":                                     "ref: refs/heads/main\n",
		".git/worktrees/a/HEAD":                         "ref: refs/heads/feature/a\n",
		".git/worktrees/b/HEAD":                         "1234567890123456789012345678901234567890\n",
		".git/worktrees/b/rebase-merge/head-name":       "refs/heads/b\n",
		".git/worktrees/c/BISECT_START":                 "c\n",
		".git/worktrees/d/rebase-apply/head-name":       "refs/heads/d\n",
		".git/worktrees/e/HEAD":                         "ref: refs/tags/e\n",
		".git/worktrees/e/rebase-merge/head-name":       "detached HEAD\n",
		".git/worktrees/f/BISECT_START":                 "1234567890123456789012345678901234567890\n",
		".git/worktrees/f/MERGE_HEAD":                   "ref: refs/heads/nobody\n",
		".git/worktrees/f/rebase-merge/update-refs":     "refs/heads/mid\n" + hash1 + "\n" + hash1 + "\nrefs/heads/low\n" + hash1 + "\nrefs/heads/nobody\n",
		".git/worktrees/a/modules/sub/refs/heads/other": "x",
	}
	read := func(rel string) (string, bool) { text, ok := files[rel]; return text, ok }
	l, admins := gitLayout(t, ordinary), []string{"a", "b", "c", "d", "e", "f"}
	for branch, want := range map[string]lease.WorktreeID{
		"main": "r", "feature/a": "a", "b": "b", "c": "c", "d": "d", "e": "", "mid": "f", "low": "f", "nobody": "", "feature": "",
	} {
		rules := []*Rule{Common}
		if want != "" {
			rules = []*Rule{guarded(want)}
		}
		for _, rel := range []string{"refs/heads/", "logs/refs/heads/"} {
			require.Equal(t, rules, l.RuleOfRefDir(rel+branch, admins, read), branch)
			require.Equal(t, []*Rule{Common}, l.RuleOfRef(rel+branch+".lock", admins, read), "its lock")
		}
	}
	require.Equal(t, []*Rule{Common}, l.RuleOfRefDir("refs/heads", admins, read))
}

const hash1 = "1234567890123456789012345678901234567890"

const (
	old1 = "0 1 A <a> 1 +0000\tcommit: one\n"
	old2 = "1 2 A <a> 2 +0000\tcommit: two\n"
	old3 = "2 3 A <a> 3 +0000\n"
)

// A second checkout of a branch (git worktree add --force) takes it from nobody: both must agree.
func TestBothCheckoutsOfABranchMustAgree(t *testing.T) {
	files := map[string]string{".git/HEAD": "ref: refs/heads/main", ".git/worktrees/a/HEAD": "ref: refs/heads/main", ".git/worktrees/b/HEAD": "ref: refs/heads/b"}
	read := func(rel string) (string, bool) { text, ok := files[rel]; return text, ok }
	l := gitLayout(t, ordinary)
	require.Equal(t, []*Rule{guarded("r"), guarded("a")}, l.RuleOfRef("refs/heads/main", []string{"a", "b"}, read))
}

func TestLogsOfGitAreToldFromOtherFiles(t *testing.T) {
	for _, rel := range []string{"logs/HEAD", "logs/refs/heads/a", "worktrees/a/logs/HEAD"} {
		require.True(t, IsLog(rel), rel)
	}
	for _, rel := range []string{"refs/heads/fix/logs/x", "modules/s/logs/HEAD", "worktrees/logs/HEAD", "logs", "worktrees/a/refs/logs/x"} {
		require.False(t, IsLog(rel), rel)
	}
}

func TestHeadsOfGitAreToldFromOtherFiles(t *testing.T) {
	for rel, is := range map[string]bool{"HEAD": true, "worktrees/a/HEAD": true, "worktrees/HEAD": false, "modules/a/HEAD": false, "logs/HEAD": false, "worktrees/a/logs/HEAD": false} {
		require.Equal(t, is, IsHead(rel), rel)
	}
}

func TestAnExpiryOfALogIsToldFromOtherChanges(t *testing.T) {
	was := old1 + old2 + old3
	for _, is := range []string{"", was, old2, old1 + old3, strings.Replace(was, "3 +0000\n", "3 +0000\t\n", 1)} {
		require.True(t, OnlyExpires([]byte(was), []byte(is)), is)
	}
	for name, is := range map[string]string{
		"a new line": was + "3 4 A <a> 4 +0000\tmine\n", "another order": old2 + old1, "a line twice": old1 + old1,
		"a changed line": strings.Replace(was, "one", "two", 1), "a line without its end": old1 + "1 2 A <a> 2 +0000\tcommit: tw",
	} {
		require.False(t, OnlyExpires([]byte(was), []byte(is)), name)
	}
	require.False(t, OnlyExpires(nil, []byte(old1)))
}

func TestAValueOfABranchIsAWholeHash(t *testing.T) {
	hash := strings.Repeat("a1", 20)
	for text, is := range map[string]bool{hash + "\n": true, hash: true, strings.Repeat("0f", 32) + "\n": true, "": false, "\n": false,
		hash[1:] + "\n": false, hash + "\n\n": false, " " + hash: false, strings.Repeat("g", 40): false, "ref: refs/heads/x\n": false} {
		require.Equal(t, is, IsValue(text), text)
	}
}

func TestAValueOfABranchIsReadFromPackedRefs(t *testing.T) {
	h := func(digit string) string { return strings.Repeat(digit, 40) }
	packed := []byte("# pack-refs with: peeled fully-peeled sorted \n" +
		h("1") + " refs/heads/a\n" + h("2") + " refs/heads/feature/a\n" + h("3") + " refs/tags/a\n^" + h("4") + "\n")
	require.Equal(t, h("1"), PackedBranch(packed, "a"))
	require.Equal(t, h("2"), PackedBranch(packed, "feature/a"))
	require.Empty(t, PackedBranch(packed, "b"))
	require.Empty(t, PackedBranch([]byte("# refs/heads/b\n"), "b"))
	require.Equal(t, h("5"), PackedBranch([]byte("# refs/heads/b\n"+h("5")+" refs/heads/b\n"), "b"))
}

// Whether git and the mount find the same in packed-refs.
func TestPackedRefsThatGitReadsOtherwiseAreNotCanonical(t *testing.T) {
	h := strings.Repeat("0f", 20)
	head, a, b := "# pack-refs with: peeled fully-peeled sorted \n", h+" refs/heads/a\n", h+" refs/heads/b\n"
	for _, packed := range []string{"", head, a, head + a + b, head + a + "^" + h + "\n" + b, a + h + strings.Repeat("0f", 12) + " refs/heads/b\n"} {
		require.True(t, Canonical([]byte(packed)), packed)
	}
	for _, packed := range []string{b + a, a + a, a + head, "# x\n" + a, a + "\n", a + b[:len(b)-1], "^" + h + "\n", " " + a, strings.Replace(a, "\n", "\r\n", 1), h + "  refs/heads/a\n", strings.ToUpper(h) + " refs/heads/a\n", "ref: refs/heads/a\n"} {
		require.False(t, Canonical([]byte(packed)), packed)
	}
}

// A branch may stand for another one. Who has it checked out moves that.
func TestABranchThatStandsForAnotherIsItsCheckouts(t *testing.T) {
	files := map[string]string{
		".git/worktrees/a/HEAD": "ref: refs/heads/master\n", ".git/refs/heads/master": "ref: refs/heads/trunk\n",
		".git/refs/heads/trunk": "ref: refs/heads/main\n", ".git/refs/heads/main": strings.Repeat("1", 40) + "\n",
		".git/worktrees/b/HEAD": "ref: refs/heads/x\n", ".git/refs/heads/x": "ref: refs/heads/x\n",
	}
	read := func(rel string) (string, bool) { text, ok := files[rel]; return text, ok }
	for branch, want := range map[string]lease.WorktreeID{"master": "a", "trunk": "a", "main": "a", "x": "b", "other": ""} {
		rules := []*Rule{Common}
		if want != "" {
			rules = []*Rule{guarded(want)}
		}
		require.Equal(t, rules, gitLayout(t, ordinary).RuleOfRef("refs/heads/"+branch, []string{"a", "b"}, read), branch)
	}
}

// What lies in the place of a directory of branches concerns them.
func TestAFileInThePlaceOfADirectoryOfBranchesConcernsThem(t *testing.T) {
	l := gitLayout(t, ordinary)
	read := func(rel string) (string, bool) { return "ref: refs/heads/f/a\n", rel == ".git/worktrees/a/HEAD" }
	for rel, want := range map[string][2]*Rule{ // of a file, and of a directory
		"refs/heads/f":        {guarded("a"), Common},
		"logs/refs/heads/f":   {guarded("a"), Common},
		"refs/heads/f/a":      {guarded("a"), guarded("a")},
		"refs/heads/f/b":      {Common, Common},
		"refs/heads/f/a/deep": {Common, Common},
		"refs/heads/fa":       {Common, Common},
		"refs/heads/f.lock":   {Common, Common},
	} {
		require.Equal(t, want[:1], l.RuleOfRef(rel, []string{"a"}, read), rel)
		require.Equal(t, want[1:], l.RuleOfRefDir(rel, []string{"a"}, read), rel)
	}
	for rel, is := range map[string]bool{".git": true, ".git/refs": true, ".git/refs/heads": true, ".git/logs/refs/heads": true, ".git/objects": true, ".git/worktrees": true, ".git/info": false, ".git/refs/tags": false, "refs": false} {
		require.Equal(t, is, l.IsFrame(rel), rel)
	}
	for rel, is := range map[string]bool{".git/refs/heads/x": true, ".git/logs/refs/heads/x": true, ".git/refs/heads/x.lock": true, ".git/refs/heads": false, ".git/refs/tags/x": false, "refs/heads/x": false} {
		require.Equal(t, is, l.IsRef(rel), rel)
	}
}

func TestTheLayoutGitIsChosenForCheckouts(t *testing.T) {
	for name, c := range map[string]struct {
		marks Marks
		want  Name
	}{
		"a checkout":                       {Marks{Git: &Repository{Common: ".git"}}, Git},
		"a checkout that JVS looks after":  {Marks{Control: true, Main: true, Git: &Repository{Common: ".git"}}, JVS},
		"a workspace of JVS with git, too": {Marks{Locator: true, Git: &Repository{Common: ".git"}}, Folder},
	} {
		got, _, err := Choose(c.marks)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	require.Error(t, Git.Needs(Marks{}))
	require.NoError(t, Git.Needs(Marks{Git: &Repository{}}))
}

func TestObjectsOfGitAreToldFromOtherFiles(t *testing.T) {
	for _, rel := range []string{"ab/" + strings.Repeat("c", 38), "ab/" + strings.Repeat("1", 62), "pack/pack-1.pack", "pack/pack-1.idx", "pack/pack-1.rev"} {
		require.True(t, IsObject(rel), rel)
	}
	for _, rel := range []string{"ab/tmp_obj_x", "info/packs", "pack/pack-1.bitmap", "pack/tmp_pack_1", "pack/multi-pack-index", "info/commit-graph"} {
		require.False(t, IsObject(rel), rel)
	}
}

func TestTemporaryObjectsOfGitAreNotKept(t *testing.T) {
	object := strings.Repeat("c", 38)
	for rel, is := range map[string]bool{"ab/" + object: true, "pack/pack-1.pack": true, "pack/pack-1.idx": true, "pack/pack-1.rev": true, "pack/pack-1.bitmap": true,
		"pack/pack-1.mtimes": true, "pack/pack-1.promisor": true, "pack/multi-pack-index": true, "pack/multi-pack-index-1.bitmap": true,
		"pack/multi-pack-index.d/multi-pack-index-chain": true, "info/alternates": true, "info/packs": true, "info/commit-graph": true, "info/commit-graphs/graph-1.graph": true,
		"ab/tmp_obj_x": false, "pack/tmp_pack_1": false, "pack/pack_git2_Ab1": false, "incoming_1.pack": false, "incoming_1.idx": false, "noz1.tmp": false,
		"pack/pack-1.keep": false, "pack/x.pack": false, "info/commit-graphs/tmp_graph_1": false, "info/commit-graph.lock": false, "x": false} {
		require.Equal(t, is, IsKept(rel), rel)
	}
}

func TestDirectoriesOfGitCannotBeMoved(t *testing.T) {
	l := gitLayout(t, ordinary)
	for _, rel := range []string{".git", ".git/refs", ".git/refs/heads", ".git/refs/heads/feature", ".git/logs/refs/heads/feature", ".git/objects", ".git/worktrees"} {
		require.True(t, l.Unmovable(rel), rel)
	}
	for _, rel := range []string{"", "src", ".gitrefs", "refs", ".git/worktrees/a", ".git/modules/x", ".git/lfs/tmp", ".git/rebase-merge"} {
		require.False(t, l.Unmovable(rel), rel)
	}
	require.True(t, gitLayout(t, Repository{Common: "repo/.git", Main: "repo", Around: true}).Unmovable("repo"))
	require.True(t, gitLayout(t, Repository{Around: true}).Unmovable("refs/heads"))
}

func TestNoCheckoutLiesInTheRepositorysOwnDirectories(t *testing.T) {
	l := gitLayout(t, ordinary)
	for _, root := range []string{"", ".git", ".git/refs", ".git/worktrees/a"} {
		require.False(t, l.MayBeCheckout(root), root)
	}
	for _, root := range []string{"src", ".gitted", ".worktrees/a/nested"} {
		require.True(t, l.MayBeCheckout(root), root)
	}
	beside := gitLayout(t, Repository{Common: "x/repo/.git", Main: "x/repo", Around: true})
	for root, may := range map[string]bool{"x": false, "x/repo": false, "x/repo/.git": false, "x/repo/w": true, "x/w": true} {
		require.Equal(t, may, beside.MayBeCheckout(root), root)
	}
	require.True(t, gitLayout(t, Repository{Around: true}).MayBeCheckout("w"))
}

func TestPlacesOfCheckoutsAreFoundByTheirName(t *testing.T) {
	l := gitLayout(t, ordinary)
	for dir, is := range map[string]bool{".worktrees": true, ".claude/worktrees": true, "src/deep/b/.worktrees": true, "": false, ".claude": false, "src": false, "src/.worktrees": false, ".worktrees/a": false} {
		place, ok := l.PlaceOver(dir)
		require.Equal(t, is, ok && place == dir, dir)
	}
	for dir, over := range map[string]string{".worktrees/feature": ".worktrees", ".claude/worktrees/a/b": ".claude/worktrees", "src/deep/b/.worktrees/x": "src/deep/b/.worktrees",
		".worktrees/a/src": "", "src/x": "", ".git/refs": "", ".claude/agents": "", "": ""} {
		place, ok := l.PlaceOver(dir)
		require.Equal(t, over != "", ok, dir)
		if ok {
			require.Equal(t, over, place, dir)
		}
	}
}

// The .git of a checkout leads to its administration, by either form of the path.
func TestTheGitFileOfACheckoutPointsToItsAdministration(t *testing.T) {
	l := gitLayout(t, ordinary)
	for text, is := range map[string]bool{
		"gitdir: /srv/r/.git/worktrees/a\n": true,
		"gitdir: ../../.git/worktrees/a\n":  true,
		"gitdir:/mnt/.git/worktrees/a":      true,
		"gitdir: /srv/r/.git/worktrees/b\n": false,
		"gitdir: /x/r/.git/worktrees/a\n":   false,
		"gitdir: ../.git/worktrees/a\n":     false,
		"gitdir: \n":                        false,
		"/srv/r/.git/worktrees/a\n":         false,
		"":                                  false,
	} {
		require.Equal(t, is, l.PointsTo(text, ".worktrees/a", "a", "/mnt", "/srv/r"), text)
	}
}

func TestLockFilesOfGitAreToldFromOtherFiles(t *testing.T) {
	for name, is := range map[string]bool{"index.lock": true, "packed-refs.new": true, "index": false, ".lock": false, "lock": false, "a.lock.b": false} {
		require.Equal(t, is, IsLock(name), name)
	}
}
