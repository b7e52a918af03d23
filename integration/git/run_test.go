package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// runs makes jvsfs run at the same time, each in a session of its own.
func runs(g *ground, all [][]string) []harness.ToolRun {
	g.t.Helper()
	done, errs := make([]harness.ToolRun, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	for i, args := range all {
		group.Go(func() { done[i], errs[i] = g.in("/").Try(append([]string{g.Bin, "run"}, args...)...) })
	}
	group.Wait()
	for _, err := range errs {
		require.NoError(g.t, err)
	}
	return done
}

// unmounted demands that the last run has taken the mount away, before it ended.
func unmounted(g *ground) {
	g.t.Helper()
	require.NotEqual(g.t, "fuse.jvsfs", harness.TopType(g.t, g.Source), "the mount has gone with its last run")
}

// Five agents start at once, where nothing is mounted. Each has a worktree and a branch of its own, and commits;
// nobody is refused anything, and nothing is left but the branches.
func TestFiveRunsAtOnceInOneRepository(t *testing.T) {
	g := prepareGround(t, anOrdinaryOne)
	const each = 4
	line := fmt.Sprintf(`for i in $(seq %d); do echo "$0 $i" >>own; git add -A; git commit -q -m "$0 $i"; done; pwd`, each)
	var all [][]string
	for n := 1; n <= 5; n++ {
		name := fmt.Sprintf("w%d", n)
		all = append(all, []string{"--name", "agent " + name, "--worktree", name, g.Source, "--", "sh", "-euc", line, name})
	}
	mounted := 0
	for i, r := range runs(g, all) {
		name := fmt.Sprintf("w%d", i+1)
		require.Zero(t, r.Exit, "%s\n%s", r.Out, r.Errs)
		require.Empty(t, r.Complaint(), r.Errs)
		require.NotContains(t, r.Errs, "refused")
		require.Equal(t, filepath.Join(g.Source, ".worktrees", name)+"\n", r.Out, "it works in its worktree")
		require.Contains(t, r.Errs, "guarded: "+filepath.Join(g.Source, ".worktrees", name)+":")
		require.Contains(t, r.Errs, "new branch "+name)
		if strings.Contains(r.Errs, "mounted "+g.Source) {
			mounted++
		}
		require.Equal(t, fmt.Sprint(each), g.sh(g.Source, "git rev-list --count main.."+name))
		require.Equal(t, fmt.Sprint(each), g.sh(g.Source, "git show "+name+":own | grep -c '^"+name+" '"))
	}
	require.Positive(t, mounted)
	unmounted(g)
	g.sh(g.Source, "git fsck --no-progress && git worktree list | grep -c worktrees/w | grep -qx 5")
}

// A worktree is made once, whoever comes first, and used again.
func TestRunsShareAWorktreeOneAfterTheOther(t *testing.T) {
	g := prepareGround(t, anOrdinaryOne+"git branch there HEAD~1\n")
	one := []string{"--wait", "10m", "--worktree", "feature/one", g.Source, "--", "git", "commit", "-q", "--allow-empty", "-m", "more"}
	fresh := 0
	for _, r := range runs(g, [][]string{one, one, one}) {
		require.Zero(t, r.Exit, r.Errs)
		if strings.Contains(r.Errs, "new branch feature/one") {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, "3", g.sh(g.Source, "git rev-list --count main..feature/one"))
	unmounted(g)

	r := g.in(g.Source).Run(g.Bin, "run", "--worktree", "there", "--", "git", "rev-parse", "HEAD")
	require.Zero(t, r.Exit, r.Errs)
	require.Contains(t, r.Errs, "new worktree of branch there")
	require.Equal(t, g.sh(g.Source, "git rev-parse main~1"), strings.TrimSpace(r.Out), "the branch that was there")
	unmounted(g)
}

// From a directory in a checkout, the whole repository is mounted, and the worktree is made from what is checked
// out there.
func TestARunInACheckoutMountsTheWholeRepository(t *testing.T) {
	g := prepareGround(t, anOrdinaryOne+"git worktree add -q -b other .worktrees/other HEAD~2\n")
	r := g.in(filepath.Join(g.Source, "sub")).Run(g.Bin, "run", "--", "pwd")
	require.Zero(t, r.Exit, r.Errs)
	require.Equal(t, filepath.Join(g.Source, "sub")+"\n", r.Out)
	require.Contains(t, r.Errs, "mounted "+g.Source+",")
	r = g.in(filepath.Join(g.Source, ".worktrees", "other")).Run(g.Bin, "run", "--worktree", "next", "--", "git", "rev-parse", "HEAD")
	require.Zero(t, r.Exit, r.Errs)
	require.Equal(t, g.sh(g.Source, "git rev-parse other"), strings.TrimSpace(r.Out))
	require.DirExists(t, filepath.Join(g.Source, ".worktrees", "next"))
	unmounted(g)
}

// At the end a run tells what changed, ignored files and commits, too, and not what others did.
func TestARunTellsWhatChangedInItsWorktree(t *testing.T) {
	g := prepareGround(t, anOrdinaryOne)
	r := g.in(g.Source).Run(g.Bin, "run", "--diff", "--worktree", "w", "--", "sh", "-euc",
		`echo ignored >.gitignore; echo x >ignored; git mv sub/1 one; git add -A; git commit -q -m 1; git commit -q --allow-empty -m 2; mkdir new; echo y >new/f; echo x >../../beside`)
	require.Zero(t, r.Exit, r.Errs)
	require.Contains(t, r.Errs, "changed in "+filepath.Join(g.Source, ".worktrees", "w")+": 4 added, 1 renamed; 2 new commits, HEAD is "+g.sh(g.Source, "git rev-parse w")[:10])
	for _, line := range []string{"  A .gitignore\n", "  A ignored\n", "  A new/ (1 within)\n", "  R sub/1 -> one\n"} {
		require.Contains(t, r.Errs, line)
	}
	require.NotContains(t, r.Errs, "beside")
	r = g.in(g.Source).Run(g.Bin, "run", "--diff", "--", "sh", "-euc", "echo x >.worktrees/w/f; echo more >>f")
	require.Zero(t, r.Exit, r.Errs)
	require.Contains(t, r.Errs, "changed in "+g.Source+": 1 changed\n  M f\n", "the worktree of another is not its own")
	unmounted(g)
}

// What git does not take is said in git's words, and nothing stays mounted.
func TestARunSaysWhyThereIsNoWorktree(t *testing.T) {
	g := prepareGround(t, anOrdinaryOne+"git worktree add -q -b out $BASE/out\nmkdir -p .worktrees/full; echo x >.worktrees/full/f\n"+
		"git worktree add -q .worktrees/lost; rm -rf .worktrees/lost\n")
	for name, c := range map[string]struct {
		args []string
		exit int
		says string
	}{
		"a bad name":                 {[]string{"--worktree", "a..b", g.Source}, harness.ExitUsage, "is no name for a branch"},
		"a way out":                  {[]string{"--worktree", "../../x", g.Source}, harness.ExitUsage, "is no name for a branch"},
		"a flag":                     {[]string{"--worktree=-f", g.Source}, harness.ExitUsage, "is no name for a branch"},
		"a branch that is elsewhere": {[]string{"--worktree", "main", g.Source}, 1, "git worktree add: 'main' is already "},
		"a directory in the way":     {[]string{"--worktree", "full", g.Source}, 1, "already exists"},
		"a directory that is gone":   {[]string{"--worktree", "lost", g.Source}, 1, "its directory is missing\nnext: git -C " + g.Source + " worktree remove "},
		"a checkout from elsewhere":  {[]string{"--worktree", "w", filepath.Join(g.Base, "out")}, harness.ExitUsage, "a worktree of a repository that lies elsewhere"},
		"no repository":              {[]string{"--worktree", "w", g.Base}, harness.ExitUsage, "is in no git repository"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, exit := g.CLI(append(append([]string{"run"}, c.args...), "--", "touch", filepath.Join(g.Base, "ran"))...)
			require.Equal(t, c.exit, exit, errs)
			require.Contains(t, errs, c.says)
			require.Contains(t, errs, "next: ")
			_, err := os.Stat(filepath.Join(g.Base, "ran"))
			require.ErrorIs(t, err, os.ErrNotExist)
			unmounted(g)
		})
	}
}

// After the advice for a worktree whose directory was removed, the same run works, on the branch that there is.
func TestARunWorksAfterTheAdviceForARemovedWorktree(t *testing.T) {
	g := prepareGround(t, anOrdinaryOne+"git worktree add -q .worktrees/lost; rm -rf .worktrees/lost\n")
	_, errs, exit := g.CLI("run", "--worktree", "lost", g.Source, "--", "true")
	require.Equal(t, 1, exit, errs)
	_, next, _ := strings.Cut(errs, "next: ")
	advice, _, is := strings.Cut(next, " forgets it")
	require.True(t, is, errs)
	g.sh(g.Source, advice)
	out, errs, exit := g.CLI("run", "--worktree", "lost", g.Source, "--", "git", "branch", "--show-current")
	require.Zero(t, exit, errs)
	require.Equal(t, "lost\n", out)
}
