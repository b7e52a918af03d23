package rules

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Nothing moves between two parts, or in or out: mv copies, and each part asks.
func TestNothingMovesBetweenParts(t *testing.T) {
	m := parts(t, harness.Calm)
	a, both := harness.StartActor(t, "a"), harness.StartActor(t, "both")
	try(t, a, []attempt{
		{"from a to b", rename(m, "packages/a/f", "packages/b/g"), "EXDEV"}, {"out of a", rename(m, "packages/a/f", "docs/g"), "EXDEV"},
		{"into a", rename(m, "docs/f", "packages/a/g"), "EXDEV"}, {"a file among them", rename(m, "packages/a/f", "packages/g"), "EXDEV"},
		{"a link", harness.Command{Op: "link", Path: m.At("packages/a/f"), To: m.At("packages/b/g")}, "EXDEV"},
		{"a link among them", harness.Command{Op: "link", Path: m.At("packages/a/f"), To: m.At("packages/g")}, "EXDEV"},
		{"within a", rename(m, "packages/a/f", "packages/a/g"), ""},
	})
	m.Acquire(both, "packages", "b")
	exit, out := a.Run(m.Mountpoint, "", "mv packages/a/g packages/b/g")
	require.NotZero(t, exit, "b is held by another: %s", out)
	a.End()
	harness.Eventually(t, "a is free", func() bool { return m.WorktreeStatus("packages.a").State == "free" })
	exit, out = both.Run(m.Mountpoint, "", "mv packages/a/g packages/b/g")
	require.Zero(t, exit, out)
	require.Equal(t, "0123456789", harness.ReadText(t, m.Behind("packages/b/g")))
	require.Equal(t, "held", m.WorktreeStatus("packages.a").State, "mv has asked for both")
}

// To make, remove or rename a part's root is a change of the directory beside it, while nobody else holds the part.
func TestTheRootOfAPartIsNotRenamedWhileAnotherHoldsIt(t *testing.T) {
	m := parts(t, harness.Calm)
	a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
	m.Acquire(a, "packages", "a")
	m.Acquire(b, "packages", "new")
	try(t, c, []attempt{
		{"away", rename(m, "packages/a", "packages/c"), "EROFS"}, {"out", rename(m, "packages/a", "docs/a"), "EROFS"},
		{"over it", rename(m, "packages/b", "packages/a"), "EROFS"}, {"to a name that is held", rename(m, "packages/b", "packages/new"), "EROFS"},
		{"exchange", harness.Command{Op: "rename", Path: m.At("packages/b"), To: m.At("packages/a"), Flags: unix.RENAME_EXCHANGE}, "EROFS"},
		{"a name that is held", mkdir(m, "packages/new"), "EROFS"},
		{"all of them", rename(m, "packages", "pk"), "EXDEV"}, {"in their place", rename(m, "docs", "packages"), "EXDEV"},
		{"one that nobody holds", rename(m, "packages/b", "packages/c"), ""}, {"a new one", mkdir(m, "packages/d"), ""},
		{"and away with it", rmdir(m, "packages/d"), ""}, {"out", rename(m, "packages/c", "docs/c"), ""}, {"what is beside now", write(m, "docs/c/f"), ""},
		{"in", rename(m, "docs/c", "packages/b"), ""},
	})
	require.Equal(t, "free", m.WorktreeStatus("packages.b").State, "a root that is renamed needs no lease, and takes none")
	try(t, a, []attempt{
		{"empty it", harness.Command{Op: "unlink", Path: m.At("packages/a/f")}, ""}, {"the holder renames it", rename(m, "packages/a", "packages/z"), ""},
		{"and back", rename(m, "packages/z", "packages/a"), ""},
	})
	try(t, c, []attempt{{"empty, and held", rmdir(m, "packages/a"), "EROFS"}})
	try(t, a, []attempt{{"the holder removes it", rmdir(m, "packages/a"), ""}})
	try(t, c, []attempt{{"the name is held still", mkdir(m, "packages/a"), "EROFS"}})
	m.Release(a, "packages", "a")
	try(t, c, []attempt{{"the name is free", mkdir(m, "packages/a"), ""}})
	require.EqualValues(t, 2, m.Acquire(c, "packages", "a").TokenNumber(t), "its records were kept")
}

// A file that is open goes with its directory, and is under the lease of the new name.
func TestAnOpenFileIsUnderTheLeaseOfItsMovedPart(t *testing.T) {
	m := parts(t, harness.Calm)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	try(t, a, []attempt{
		{"open", harness.Command{Op: "open", Path: m.At("packages/a/f"), Handle: "h", Flags: unix.O_RDWR}, ""},
		{"write", harness.Command{Op: "pwrite", Handle: "h", Data: []byte("1")}, ""},
		{"move", rename(m, "packages/a", "packages/c"), ""},
	})
	m.Acquire(b, "packages", "c")
	try(t, b, []attempt{{"the new holder", write(m, "packages/c/f"), ""}})
	r := a.Do(harness.Command{Op: "pwrite", Handle: "h", Data: []byte("2")})
	require.NotEmpty(t, r.Errno, "the file is b's now")
	require.Equal(t, "x123456789", harness.ReadText(t, m.Behind("packages/c/f")))
}

// Parts come and go past the mount as well.
func TestPartsMadePastTheMountAreGuarded(t *testing.T) {
	m := parts(t, harness.Calm)
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	require.NoError(t, os.MkdirAll(m.Behind("packages/by hand/sub"), 0o777))
	try(t, a, []attempt{{"the first takes it", write(m, "packages/by hand/sub/f"), ""}})
	try(t, b, []attempt{{"the second", write(m, "packages/by hand/g"), "EROFS"}, {"beside", write(m, "packages/a/f"), ""}})
	require.Equal(t, "held", m.WorktreeStatus("packages.by_20hand").State)
	require.NoError(t, os.RemoveAll(m.Behind("packages/by hand")))
	harness.Eventually(t, "it is gone", func() bool {
		return b.Do(harness.Command{Op: "readdir", Path: m.At("packages/by hand")}).Errno == "ENOENT"
	})
	try(t, b, []attempt{{"its name is held", mkdir(m, "packages/by hand"), "EROFS"}})
}

// In mode exclusive what no part covers has the lease of the tree, names of parts among it.
func TestWhatNoPartCoversHasTheLeaseOfTheTree(t *testing.T) {
	m := parts(t, harness.Calm, "--mode", "exclusive")
	tree, a := harness.StartActor(t, "tree"), harness.StartActor(t, "a")
	m.Acquire(tree)
	m.Acquire(a, "packages", "a")
	try(t, a, []attempt{
		{"its own", write(m, "packages/a/f"), ""}, {"beside", write(m, "docs/f"), "EROFS"}, {"among them", write(m, "packages/README"), "EROFS"},
		{"its name", rename(m, "packages/a", "packages/c"), "EROFS"}, {"a new one", mkdir(m, "packages/c"), "EROFS"},
	})
	try(t, tree, []attempt{
		{"beside", write(m, "docs/f"), ""}, {"a part", write(m, "packages/a/f"), "EROFS"}, {"its name", rename(m, "packages/a", "packages/c"), "EROFS"},
		{"a new one", mkdir(m, "packages/c"), ""}, {"of one that is free", rename(m, "packages/b", "packages/d"), ""},
	})
}

// A user may hold a part whose name is too long for an id, and nobody else's.
func TestAPartWithALongNameHasALeaseOfItsOwn(t *testing.T) {
	m := parts(t, harness.Calm)
	long := "packages/" + strings.Repeat("ö", 100)
	require.NoError(t, os.MkdirAll(m.Behind(long), 0o755))
	require.NoError(t, os.Chown(m.Behind(long), 1000, 1000))
	a, b := harness.StartActorAs(t, "a", harness.Identity{UID: 1000, GID: 1000}), harness.StartActor(t, "b")
	m.Acquire(a, long)
	try(t, a, []attempt{{"its own", write(m, long+"/f"), ""}})
	try(t, b, []attempt{{"another's", write(m, long+"/f"), "EROFS"}, {"beside", write(m, "packages/a/f"), ""}})
}

// The rule needs a source without worktrees of its own, and all mounts of it agree about the parts.
func TestPartsAreRefusedWithWorktreesAndWithMountsThatDisagree(t *testing.T) {
	m := parts(t, harness.Calm)
	other := t.TempDir()
	for _, more := range [][]string{nil, {"--rules", m.WriteConfig("other.yaml", strings.Replace(partsRule, "packages/{pkg}", "docs/{d}", 1))}} {
		_, errs, exit := m.CLI(append(append([]string{"mount", "--mode", "shared", "--control", m.LockDir}, more...), m.Source, other)...)
		require.Equal(t, harness.ExitUsage, exit)
		require.Contains(t, errs, "with other rules of taken_by: lease")
	}
	rules := m.WriteConfig("rules.yaml", partsRule)
	repository, git := t.TempDir(), t.TempDir()
	harness.PrepareRepository(t, repository)
	require.NoError(t, os.MkdirAll(git+"/.git/objects", 0o755))
	require.NoError(t, os.MkdirAll(git+"/.git/refs", 0o755))
	require.NoError(t, os.WriteFile(git+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
	for dir, says := range map[string]string{
		repository:           "rule packages makes worktrees of directories (taken_by: lease), and the layout jvs of ",
		repository + "/main": "is a worktree of the repository " + repository + " already",
		git:                  "the layout git of " + git + " has worktrees of its own",
	} {
		_, errs, exit := m.CLI("mount", "--rules", rules, dir)
		require.Equal(t, harness.ExitUsage, exit, dir)
		require.Contains(t, errs, says)
	}
}
