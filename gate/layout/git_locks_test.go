package layout

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALockFileOfGitIsToldByItsPath(t *testing.T) {
	isGitDir := func(dir string) bool {
		return dir == "modules/sub" || dir == "modules/group/lib" || dir == "modules/sub/modules/deep" || dir == "worktrees/a/modules/sub"
	}
	for rel, makes := range map[string]bool{
		"index.lock": true, "index.stash.12.lock": true, "next-index-12.lock": true, "HEAD.lock": true, "ORIG_HEAD.lock": true, "MERGE_RR.lock": true,
		"config.lock": true, "config.worktree.lock": true, "packed-refs.lock": true, "packed-refs.new": true, "shallow.lock": true,
		"gc.pid.lock": true, "gc.log.lock": true, "refs/heads/hooks2.lock": true, "refs/heads/of/a.lock": true, "logs/HEAD.lock": true,
		"info/sparse-checkout.lock": true, "objects/maintenance.lock": true, "objects/info/commit-graph.lock": true,
		"objects/info/commit-graphs/commit-graph-chain.lock": true, "objects/pack/multi-pack-index.lock": true,
		"rebase-merge/git-rebase-todo.lock": true, "sequencer/opts.lock": true, "reftable/tables.list.lock": true, "svn/refs/remotes/trunk/index.lock": true,
		"worktrees/a/index.lock": true, "worktrees/a/HEAD.lock": true, "worktrees/a/logs/HEAD.lock": true, "worktrees/a/refs/bisect/bad.lock": true,
		"worktrees/a/config.worktree.lock": true, "worktrees/a/modules/sub/index.lock": true,
		"modules/sub/index.lock": true, "modules/group/lib/refs/heads/x.lock": true, "modules/sub/modules/deep/HEAD.lock": true,

		"Cargo.lock": false, "agents.lock": false, "index": false, ".lock": false, "packed-refs": false, "hooks/index.lock": false, "hooks/npm/yarn.lock": false,
		"beads-worktrees/beads/Cargo.lock": false, "beads-worktrees/beads/web/yarn.lock": false, "cache/clone/.git/index.lock": false, "x/index.lock": false,
		"tool/requirements.lock": false, "lfs/x/index.lock": false, "annex/index.lock": false, "objects/ab/Cargo.lock": false, "info/packs.d/x.lock": false,
		"rebase-merge/x/y.lock": false, "worktrees/a.lock": false, "worktrees/a/x/yarn.lock": false, "worktrees/a/Cargo.lock": false, "worktrees/a/packed-refs.new": true,
		"modules/sub/Cargo.lock": false, "modules/sub/hooks/index.lock": false, "modules/other/index.lock": false, "modules/index.lock": false,
		"modules/group/index.lock": false, "../index.lock": false, "../refs/heads/x.lock": false,
	} {
		require.Equal(t, makes, MakesLock(rel, isGitDir), rel)
	}
}
