package git

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Worktrees that lie elsewhere than in the repository are guarded by the same mount, of a
// directory that has both.
func TestWorktreesOutsideOfTheRepositoryAreGuarded(t *testing.T) {
	for name, c := range map[string]struct {
		repository string
		named      bool
	}{
		"of the only repository there":  {"app", false},
		"of a repository that is named": {"src/app", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := prepareGround(t, "mkdir -p "+c.repository+" src agents; cd "+c.repository+"\n"+anOrdinaryOne+"git worktree add -q -b a $R/agents/a")
			app := g.At(c.repository)
			if c.named {
				g.Opts.Extra = append(g.Opts.Extra, "--repository", app)
			}
			g.mount()
			g.sh(app, "git worktree add -q -b b $R/agents/b; git worktree add -q -b c .worktrees/c")
			in := func(name string) string { return filepath.Join(c.repository, name) }
			g.guards(map[string]string{
				in("f"): mainID, in(".git/HEAD"): mainID, "agents/a/f": "a", "agents/b": "b", in(".worktrees/c/f"): "c",
				in(".git/refs/heads/b"): "b", in(".git/worktrees/a/index"): "a", "agents/absent": "none", "src/other": "none",
			})
			work := []string{"echo x >f; git commit -q -a -m one", "git commit -q --amend -m two", "git rebase -q --force-rebase HEAD~1", "git gc -q --auto"}
			g.sideBySide(map[string][]string{"agents/a": work, "agents/b": work, in(".worktrees/c"): work, c.repository: work})
			g.requireNoRefusal()
			for _, w := range []string{"agents/a", "agents/b", in(".worktrees/c"), c.repository} {
				g.othersAreKept(w)
			}
			g.sh(g.At(), "mkdir agents/own; echo x >agents/own/f; rm -r agents/own")
			g.refused(g.At(), "mv "+c.repository+" renamed")
			g.sh(app, "git worktree move $R/agents/b $R/agents/d")
			g.guards(map[string]string{"agents/d/f": "b", "agents/b/f": "none"})
			g.othersAreKept("agents/d")
			g.sh(app, "git worktree remove -f $R/agents/d; rm -rf $R/agents/a; git worktree prune")
			require.Equal(t, "2", g.sh(app, "git worktree list | wc -l"))
			g.requireWhole(app)
		})
	}
}
