package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// othersAreKept demands that somebody else may not write into a checkout while its holder can.
func (g *ground) othersAreKept(checkout string) {
	g.t.Helper()
	if native {
		return
	}
	holder, _ := g.hold("holder of "+checkout, checkout)
	g.run(holder, g.At(checkout), "echo x >mine; git add mine; git commit -q --allow-empty -m mine")
	g.refused(g.At(checkout), "echo x >theirs")
	g.refused(g.At(checkout), "git add f -f && git commit -q --allow-empty -m theirs")
	g.Release(holder, checkout)
	holder.End()
}

// A worktree is guarded from the moment that git makes it, wherever it moves, until it is removed.
func TestAWorktreeIsGuardedFromItsMakingToItsRemoval(t *testing.T) {
	g := newGround(t, anOrdinaryOne)
	g.sh(g.Source, "git worktree add -q -b x .worktrees/x")
	g.guards(map[string]string{".worktrees/x": "x", ".worktrees/x/f": "x", ".git/worktrees/x/index": "x", ".git/refs/heads/x": "x", "f": mainID})
	g.othersAreKept(".worktrees/x")

	g.sh(g.Source, "git worktree lock .worktrees/x; git worktree unlock .worktrees/x")
	g.sh(g.Source, "git worktree move .worktrees/x .worktrees/y")
	g.guards(map[string]string{".worktrees/y/f": "x", ".worktrees/x/f": mainID, "f": mainID})
	g.othersAreKept(".worktrees/y")

	g.sh(g.Source, "mv .worktrees/y .claude/worktrees/z; git worktree repair .claude/worktrees/z; git worktree prune")
	g.guards(map[string]string{".claude/worktrees/z/f": "x", ".worktrees/y/f": mainID})
	g.othersAreKept(".claude/worktrees/z")

	g.sh(g.Source, "git worktree remove .claude/worktrees/z; git branch -q -D x")
	g.guards(map[string]string{".claude/worktrees/z/f": mainID})
	require.NoDirExists(t, g.Behind(".git/worktrees/x"))

	g.sh(g.Source, "git worktree add -q --detach .worktrees/x; rm -rf .worktrees/x; git worktree prune")
	require.NoDirExists(t, g.Behind(".git/worktrees/x"))
	g.requireNoRefusalBut(t)
	g.requireWhole(g.Source)
}

// requireNoRefusalBut demands that the refusals were those that were wanted: of lines that
// refused ran, whose programs are sh and git.
func (g *ground) requireNoRefusalBut(t *testing.T) {
	t.Helper()
	if native {
		return
	}
	for _, r := range g.seen().Refusals {
		assert.Contains(t, []string{"sh", "git"}, r.Command, "%+v", r)
	}
}

// Somebody makes a worktree for an agent while somebody else works in the main checkout.
func TestAWorktreeIsAddedWhileMainIsHeld(t *testing.T) {
	for _, place := range []string{".claude/worktrees", ".worktrees"} {
		t.Run(place, func(t *testing.T) {
			g := newGround(t, anOrdinaryOne)
			holder, _ := g.hold("holder", "")
			g.sh(g.Source, "git worktree add -q -b x "+place+"/x")
			g.guards(map[string]string{place + "/x/f": "x"})
			g.refused(g.Source, "mkdir elsewhere")
			g.refused(g.Source, "echo x >"+place+"/file")
			g.refused(g.Source, "git worktree add -q -b other elsewhere")
			g.sh(g.At(place, "x"), "echo x >f; git commit -q -a -m one")
			g.run(holder, g.Source, "echo x >f; git commit -q -a -m one")
			g.othersAreKept(place + "/x")
			g.sh(g.Source, "git worktree remove "+place+"/x; git branch -q -D x")
			g.requireWhole(g.Source)
		})
	}
}

// Who holds a worktree gives it another name in a place of worktrees, also while somebody else holds main.
func TestAWorktreeIsMovedWhileMainIsHeld(t *testing.T) {
	g := newGround(t, threeCheckouts)
	holder, _ := g.hold("holder of main", "")
	a, _ := g.hold("holder of a", ".worktrees/a")
	g.run(a, g.Source, "git worktree move .worktrees/a .worktrees/moved")
	g.guards(map[string]string{".worktrees/moved/f": "a", ".worktrees/a/f": mainID})
	g.run(a, g.Source, "mkdir .worktrees/team; git worktree move .worktrees/moved .claude/worktrees/z; git worktree move .claude/worktrees/z .worktrees/team/z")
	g.run(a, g.At(".worktrees/team/z"), "echo x >f; git commit -q -a -m one")
	g.refused(g.Source, "git worktree move .worktrees/team/z .worktrees/theirs")
	if !native {
		for _, to := range []string{"elsewhere", "sub/z", ".worktrees/team/.git"} { // main's
			exit, out := a.Run(g.Source, "", "git worktree move .worktrees/team/z "+to)
			require.NotZero(t, exit, out)
		}
	}
	g.othersAreKept(".worktrees/packed")
	g.run(holder, g.Source, "echo x >f; git commit -q -a -m one")
}

// The name of a branch may have several parts, and the worktree's path as well.
func TestAWorktreeOfABranchWithASlashIsGuarded(t *testing.T) {
	g := newGround(t, anOrdinaryOne+"git clone -q . .worktrees/clone")
	holder, _ := g.hold("holder", "")
	g.sh(g.Source, "git worktree add -q -b team/feature/x .worktrees/team/feature/x")
	g.guards(map[string]string{".worktrees/team/feature/x/f": "x", ".worktrees/team": mainID})
	g.refused(g.Source, "echo x >.worktrees/team/file")
	g.refused(g.Source, "mkdir .worktrees/team/.git") // nobody could make a worktree there any more
	g.refused(g.Source, "mkdir .worktrees/stray; mkdir .worktrees/stray/.git")
	g.refused(g.Source, "mkdir .worktrees/clone/sub/new")
	g.refused(g.Source, "mkdir .worktrees/clone/.git/new")
	g.othersAreKept(".worktrees/team/feature/x")
	if !native {
		r := runs(g, [][]string{{"--worktree", "team/y", g.Source, "--", "sh", "-euc", "echo x >f; git commit -q -a -m one"}})[0]
		require.Zero(t, r.Exit, r.Out+r.Errs)
		g.guards(map[string]string{".worktrees/team/y/f": "y"})
	}
	g.run(holder, g.Source, "echo x >f; git commit -q -a -m one")
	g.sh(g.Source, "git worktree remove .worktrees/team/feature/x; git branch -q -D team/feature/x")
	g.requireWhole(g.Source)
}

// A worktree that is called main is not the main checkout.
func TestAWorktreeCalledMainIsNotTheMainCheckout(t *testing.T) {
	g := newGround(t, anOrdinaryOne+"git worktree add -q -b other .worktrees/main")
	if native {
		return
	}
	holder, _ := g.hold("holder", "")
	other, _ := g.hold("other", ".worktrees/main")
	g.run(holder, g.Source, "echo x >f; git commit -q -a -m one")
	g.run(other, g.At(".worktrees/main"), "echo x >f; git commit -q -a -m one")
	holder.Fails(g.Put(".worktrees/main/x"), "EROFS")
	other.Fails(g.Put("x"), "EROFS")
}

// A branch belongs to the checkout that is on it: the guard moves with `git switch`.
func TestBranchBelongsToTheCheckoutThatIsOnIt(t *testing.T) {
	g := newGround(t, threeCheckouts+"git branch free")
	holder, _ := g.hold("holder", ".worktrees/a")
	move := "git update-ref refs/heads/free "
	g.sh(g.Source, move+"HEAD~1")
	g.guards(map[string]string{".git/refs/heads/a": "a", ".git/logs/refs/heads/a": "a"})
	g.run(holder, g.At(".worktrees/a"), "git switch -q free")
	g.guards(map[string]string{".git/refs/heads/free": "a"})
	g.refused(g.Source, move+"HEAD")
	g.sh(g.Source, "git update-ref refs/heads/a b")
	g.run(holder, g.At(".worktrees/a"), "git switch -q a; git switch -q --detach")
	g.sh(g.Source, move+"HEAD; git branch -q -D free a")

	// Neither is a branch free while it is rebased or bisected.
	g.run(holder, g.At(".worktrees/a"), "git switch -q -c work; git rebase -q -x false HEAD~1 || true")
	g.refused(g.Source, "git update-ref refs/heads/work HEAD~1")
	g.run(holder, g.At(".worktrees/a"), "git rebase --abort; git bisect start; git bisect bad; git bisect good HEAD~2")
	g.refused(g.Source, "git update-ref refs/heads/work HEAD~1")
	g.run(holder, g.At(".worktrees/a"), "git bisect reset; git switch -q --detach")
	g.sh(g.Source, "git update-ref refs/heads/work HEAD~1")

	// Nor are the branches that the rebase moves besides.
	g.run(holder, g.At(".worktrees/a"), "git switch -q -c top work; for b in low mid; do git commit -q --allow-empty -m $b; git branch $b; done; git commit -q --allow-empty -m top")
	g.run(holder, g.At(".worktrees/a"), "GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -q -i --update-refs --force-rebase work; test -s $(git rev-parse --git-path rebase-merge/update-refs)")
	for _, branch := range []string{"low", "mid", "top"} {
		g.refused(g.Source, "git update-ref refs/heads/"+branch+" main")
	}
	g.run(holder, g.At(".worktrees/a"), "git rebase --continue 2>/dev/null; test $(git rev-parse mid) = $(git rev-parse top~1)")
	g.sh(g.Source, "git update-ref refs/heads/mid main")
	g.requireWhole(g.Source)
}

// Where nothing was packed before, everybody packs, and nobody gives a value to a branch that its holder has not made yet.
func TestTheFirstPackedRefsMakeNobodyElsesBranch(t *testing.T) {
	g := newGround(t, anOrdinaryOne+"git worktree add -q -b a .worktrees/a; git branch loose; test ! -e .git/packed-refs")
	holder, _ := g.hold("holder", ".worktrees/a")
	g.run(holder, g.At(".worktrees/a"), "git switch -q --orphan new")
	g.refused(g.Source, "{ echo '# pack-refs with: peeled fully-peeled sorted '; echo $(git rev-parse main) refs/heads/new; } >.git/packed-refs.lock; mv .git/packed-refs.lock .git/packed-refs")
	require.NoFileExists(t, g.Behind(".git/packed-refs"))
	harness.Eventually(t, "the lock of who was refused is gone", func() bool {
		_, err := os.Stat(g.Behind(".git/packed-refs.lock"))
		return os.IsNotExist(err)
	})
	g.sh(g.Source, "git pack-refs --all; grep -q refs/heads/loose .git/packed-refs")
	g.run(holder, g.At(".worktrees/a"), "echo x >f; git add f; git commit -q -m root; test $(git rev-list --count HEAD) = 1")
	g.requireWhole(g.Source)
}

// gc is everybody's, whoever holds what.
func TestEverybodyMayRunGC(t *testing.T) {
	g := newGround(t, threeCheckouts)
	a, _ := g.hold("a", ".worktrees/a", ".worktrees/b", "")
	before := g.sh(g.Source, "git for-each-ref; git -C .worktrees/a rev-parse HEAD")
	g.sh(g.At(".worktrees/packed"), "git gc -q --prune=now; git pack-refs --all; git reflog expire --all --expire=now; git repack -q -a -d; git prune; git count-objects -v")
	require.Equal(t, before, g.sh(g.Source, "git for-each-ref; git -C .worktrees/a rev-parse HEAD"))
	for _, w := range []string{".worktrees/a", ".worktrees/b", ""} {
		g.run(a, g.At(w), "git commit -q --allow-empty -m more; git gc -q")
	}
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

// The background run of gc is a session of its own, and takes nobody's lease.
func TestGCInTheBackgroundTakesNoLease(t *testing.T) {
	g := newGround(t, threeCheckouts)
	g.sh(g.Source, "git config gc.autoPackLimit 1; git config gc.auto 1; git config gc.autoDetach true")
	for range harness.Rounds(20) {
		g.sh(g.At(".worktrees/a"), "echo x >>f; git commit -q -a -m more; git gc --auto -q")
		g.sh(g.At(".worktrees/b"), "echo x >>f; git commit -q -a -m more; git gc --auto -q")
		g.sh(g.Source, "echo x >>f; git commit -q -a -m more")
	}
	g.requireWhole(g.Source)
	g.requireNoRefusal()
	require.NoFileExists(t, g.Behind(".git", "gc.log"))
}

// layout says who guards what.
func TestLayoutTellsWhoGuards(t *testing.T) {
	g := newGround(t, threeCheckouts)
	require.NoError(t, os.MkdirAll(filepath.Join(g.View, ".git/modules/s"), 0o755))
	g.guards(map[string]string{
		"f": mainID, "sub/g": mainID, "absent": mainID, ".git/HEAD": mainID, ".git/index": mainID, ".git/ORIG_HEAD": mainID,
		".git/MERGE_HEAD": mainID, ".git/rebase-merge/todo": mainID, ".git/logs/HEAD": mainID, ".git/modules/s/HEAD": mainID,
		".git/refs/heads/main": mainID, ".git/logs/refs/heads/main": mainID, ".git/hooks/pre-commit": mainID,
		".worktrees/a": "a", ".worktrees/a/f": "a", ".worktrees/a/.git": "a", ".git/worktrees/a": "a", ".git/worktrees/a/index": "a",
		".git/worktrees/a/refs/bisect/bad": "a", ".git/refs/heads/a": "a", ".git/logs/refs/heads/a": "a",
		".worktrees/b/sub/absent": "b", ".git/worktrees/packed/HEAD": "packed", ".git/refs/heads/packed": "packed",
	})
}
