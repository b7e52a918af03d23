package git

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// What git keeps in the directory that all checkouts share, used from several of them, each
// command in a session of its own.

// sideBySide runs lines in two checkouts at once, each line in a session of its own.
func (g *ground) sideBySide(lines map[string][]string) {
	g.t.Helper()
	errs := make(chan string, len(lines))
	var all sync.WaitGroup
	for dir, lines := range lines {
		all.Go(func() {
			for _, line := range lines {
				r, err := g.in(g.At(dir)).Try("sh", "-euc", line)
				if err != nil || r.Exit != 0 || r.Complaint() != "" {
					errs <- dir + ": " + line + "\n" + r.Out + r.Errs
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	for said := range errs {
		g.t.Error(said + g.why())
	}
}

// inTurn runs each line in one checkout after the other: for what natively fails when two do it
// at once, as settings, for whose lock git does not wait.
func (g *ground) inTurn(dirs []string, lines ...string) {
	g.t.Helper()
	for _, line := range lines {
		for _, dir := range dirs {
			g.sh(g.At(dir), line)
		}
	}
}

var both = []string{".worktrees/a", ".worktrees/b"}

func TestSubmodulesWorkInEachWorktree(t *testing.T) {
	g := newGround(t, `
git init -q -b main $BASE/lib; cd $BASE/lib; echo 1 >l; git add l; git commit -q -m lib; cd $R
`+threeCheckouts+`git config --global protocol.file.allow always`)
	g.each(g.At(), `
		git submodule --quiet add $BASE/lib lib
		git commit -q -m "with lib"
		git config submodule.recurse true
	`)
	g.inTurn(both, "git merge -q main", "git submodule --quiet update --init")
	clone := []string{"cd lib; git switch -q -c own; echo x >l; git commit -q -a -m own", "git add lib; git commit -q -m 'own lib'"}
	g.sideBySide(map[string][]string{".worktrees/a": clone, ".worktrees/b": clone})
	g.guards(map[string]string{".git/modules/lib/HEAD": mainID, ".git/worktrees/a/modules/lib/HEAD": "a", ".worktrees/a/lib/l": "a"})
	g.each(g.At(), "git submodule --quiet deinit -f lib\ngit rm -q -f lib\ngit commit -q -m 'without lib'")
	g.sh(g.At(), "git worktree remove --force .worktrees/a")
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

func TestWorktreesHaveConfigurationsOfTheirOwn(t *testing.T) {
	g := newGround(t, threeCheckouts)
	g.sideBySide(map[string][]string{
		".worktrees/a": {"git config --worktree a.b of-a", "git sparse-checkout set sub", "git sparse-checkout add absent", "echo x >sub/g; git commit -q -a -m sparse"},
		".worktrees/b": {"git config --worktree a.b of-b", "git sparse-checkout set --no-cone '/*' '!sub'", "git sparse-checkout disable"},
	})
	g.each(g.At(), "git config --worktree a.b of-main\ngit config branch.main.description it\ngit config --unset branch.main.description")
	require.Equal(t, "of-a", g.sh(g.At(".worktrees/a"), "git config a.b"))
	require.Equal(t, "of-b", g.sh(g.At(".worktrees/b"), "git config a.b"))
	holder, _ := g.hold("holder", "")
	// git's own way to the settings of all is open: what branches, remotes and tools say there.
	g.each(g.At(".worktrees/a"), "git config branch.a.description it\ngit remote add other $BASE/other\ngit branch -q --set-upstream-to=b\ngit switch -q -c tracked --track a")
	g.run(holder, g.At(), "git config a.c d")
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

func TestAPartialCloneWorksInEachWorktree(t *testing.T) {
	g := newGround(t, `
mkdir $BASE/origin; cd $BASE/origin
`+anOrdinaryOne+`
git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true
for i in $(seq 20); do echo "of $i" >sub/g; git commit -q -a -m "number $i"; done
cd $R; git clone -q --filter=blob:none --no-checkout file://$BASE/origin .
`+settings+`
git checkout -q main; mkdir .worktrees; echo .worktrees >>.git/info/exclude`)
	g.each(g.At(), "git worktree add -q -b a .worktrees/a HEAD~3\ngit worktree add -q -b b .worktrees/b HEAD~7")
	walk := []string{"git log -p -3 --format=%s >/dev/null", "git checkout -q HEAD~2", "git fetch -q", "git blame sub/g >/dev/null", "git gc -q --auto", "git switch -q -"}
	g.sideBySide(map[string][]string{".worktrees/a": walk, ".worktrees/b": walk, "": {"git log -p -2 --format=%s HEAD~12 >/dev/null", "git pull -q"}})
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

func TestMaintenanceRunsInEachWorktree(t *testing.T) {
	g := newGround(t, threeCheckouts+`git clone -q --bare . $BASE/origin.git; git remote add origin $BASE/origin.git`)
	g.sh(g.At(), "git config maintenance.commit-graph.enabled true; git config fetch.writeCommitGraph true")
	tasks := "git maintenance run --quiet --task=prefetch --task=loose-objects --task=incremental-repack --task=commit-graph --task=pack-refs"
	for range 3 {
		for _, w := range []string{".worktrees/a", ".worktrees/b", ""} {
			g.sh(g.At(w), "echo x >>sub/1; git commit -q -a -m more")
			g.sh(g.At(w), tasks)
			g.sh(g.At(w), "git maintenance run --quiet --task=gc; git multi-pack-index write; git multi-pack-index repack; git commit-graph write --reachable --split; git repack -q -d --write-midx --write-bitmap-index -a; git update-server-info")
		}
	}
	holder, _ := g.hold("holder", "")
	g.sh(g.At(".worktrees/a"), tasks+" --task=gc")
	g.run(holder, g.At(), tasks+" --task=gc")
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

func TestHooksRunInEachWorktree(t *testing.T) {
	g := newGround(t, threeCheckouts)
	g.sh(g.At(), `
for hook in pre-commit post-checkout post-merge post-rewrite reference-transaction prepare-commit-msg; do
  printf '#!/bin/sh\necho %s >>"$(git rev-parse --git-dir)/ran"\n' $hook >.git/hooks/$hook
  chmod 755 .git/hooks/$hook
done`)
	work := []string{"echo x >f; git commit -q -a -m one", "git commit -q --amend -m two", "git switch -q --detach HEAD~1", "git switch -q -", "git merge -q --no-edit packed", "git rebase -q HEAD~1"}
	g.sideBySide(map[string][]string{".worktrees/a": work, ".worktrees/b": work})
	for _, w := range []string{"a", "b"} {
		require.Contains(t, g.sh(g.At(".git/worktrees", w), "sort -u ran"), "post-checkout")
	}
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

// Fetches, pushes and remote branches are everybody's.
func TestEverybodyFetchesAndPushes(t *testing.T) {
	g := newGround(t, threeCheckouts+`git clone -q --bare . $BASE/origin.git; git remote add origin $BASE/origin.git; git fetch -q`)
	holder, _ := g.hold("holder", "")
	g.inTurn(both, "git fetch -q --prune --tags", "echo x >f; git commit -q -a -m more", "git push -q -u origin HEAD",
		"git tag of-$(git branch --show-current)", "git push -q origin of-$(git branch --show-current)", "git fetch -q --all", "git pull -q --rebase",
		"git notes add -m note", "git push -q origin --delete of-$(git branch --show-current)", "git remote set-head origin main", "git remote set-head origin -d")
	g.run(holder, g.At(), "git fetch -q; git push -q origin main")
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

// addPack does what JGit and libgit2 do with what they fetch: a file of their own name becomes a pack.
const addPack = `
import os, sys
objects, pack, tmp = sys.argv[1:]
fd = os.open(objects+"/"+tmp, os.O_RDWR|os.O_CREAT|os.O_EXCL, 0o444)
os.write(fd, open(pack, "rb").read()); os.close(fd)
keep = objects+"/pack/"+os.path.basename(pack)[:-5]+".keep"
open(keep, "x").close()
os.rename(objects+"/"+tmp, objects+"/pack/"+os.path.basename(pack))
os.unlink(keep)
os.close(os.open(objects+"/"+tmp, os.O_RDWR|os.O_CREAT|os.O_EXCL, 0o444)); os.unlink(objects+"/"+tmp)
`

// underLock writes a file as libgit2 does: the lock file of its maker takes its place.
const underLock = `python3 -c 'import os, shutil, sys; n = sys.argv[1]; shutil.copyfile(n, n+".lock"); os.rename(n+".lock", n)'`

// Programs that are not git add packs while somebody else holds the main checkout. They remove what is temporary, and nothing else.
func TestOtherProgramsAddPacksAndRemoveOnlyTemporaryFiles(t *testing.T) {
	g := newGround(t, threeCheckouts+"git init -q --bare $BASE/alt.git; mkdir -p .git/objects/info; echo $BASE/alt.git/objects >.git/objects/info/alternates\n"+
		"git pack-objects --all -q $BASE/pack </dev/null >$BASE/id\ncat >$BASE/add.py <<'END'"+addPack+"END\n")
	_, _ = g.hold("holder", "")
	pack := "$BASE/pack-$(cat $BASE/id).pack"
	for _, tmp := range []string{"pack/tmp_pack_Ab12", "pack/pack_git2_Ab12Cd", "incoming_123.pack"} {
		g.sh(g.At(".worktrees/a"), "python3 $BASE/add.py $R/.git/objects "+pack+" "+tmp)
	}
	for _, name := range []string{"pack/pack-*.pack", "pack/pack-*.idx", "??/*", "info/packs"} {
		g.refused(g.At(".worktrees/a"), "rm $R/.git/objects/"+name)
	}
	g.sh(g.At(".worktrees/a"), "git index-pack $R/.git/objects/pack/$(basename "+pack+") >/dev/null")
	// Nor are others replaced, but under git's lock.
	g.sh(g.At(".worktrees/a"), "git multi-pack-index write; git commit-graph write --reachable")
	for _, name := range []string{"pack/multi-pack-index", "info/commit-graph", "info/alternates"} {
		for _, tmp := range []string{"odd", "odd_tmp"} {
			g.sh(g.At(".worktrees/a"), "echo x >$R/.git/objects/"+tmp)
			g.refused(g.At(".worktrees/a"), "mv $R/.git/objects/"+tmp+" $R/.git/objects/"+name)
			g.refused(g.At(".worktrees/a"), exchange+" $R/.git/objects/"+tmp+" $R/.git/objects/"+name)
		}
		g.sh(g.At(".worktrees/a"), "cd $R/.git/objects; "+underLock+" "+name+"; rm -f odd odd_tmp")
	}
	g.requireWhole(g.Source)
}

// The store of git-lfs lies in the directory of all.
func TestLFSWorksInEachWorktree(t *testing.T) {
	g := newGround(t, threeCheckouts+`git clone -q --bare . $BASE/origin.git; git remote add origin $BASE/origin.git`)
	g.sh(g.At(), "git lfs install --local >/dev/null; git config lfs.locksverify false")
	work := func(name string) []string {
		return []string{"git lfs track '*.bin' >/dev/null", "head -c 100000 /dev/urandom >x.bin; git add .; git commit -q -m large", "git lfs ls-files | grep -q x.bin",
			"git push -q origin " + name + " 2>/dev/null", "git lfs checkout >/dev/null", "rm x.bin; git checkout -q x.bin", "git lfs prune --recent >/dev/null"}
	}
	g.sideBySide(map[string][]string{".worktrees/a": work("a"), ".worktrees/b": work("b")})
	holder, _ := g.hold("holder", "")
	g.sh(g.At(".worktrees/a"), "head -c 100000 /dev/urandom >y.bin; git add .; git commit -q -m large")
	g.run(holder, g.At(), "git status --porcelain")
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}

// Bare repositories with worktrees beside them, and inside of them.
func TestWorktreesOfBareRepositoriesAreGuarded(t *testing.T) {
	seed := "mkdir $BASE/seed; cd $BASE/seed; " + anOrdinaryOne + "cd $R\n"
	for name, c := range map[string]struct{ make, repository, a, b string }{
		"a .bare, and a file .git": {seed + `git clone -q --bare $BASE/seed .bare; echo "gitdir: ./.bare" >.git`, ".bare", "a", "nested/b"},
		"a repository beside":      {seed + `git clone -q --bare $BASE/seed repo.git`, "repo.git", "a", "nested/b"},
		"inside of it":             {seed + `git clone -q --bare $BASE/seed .`, "", "a", "nested/b"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGround(t, c.make+"\ncd "+filepath.Join("$R", c.repository)+settings)
			bare := g.At(c.repository)
			g.sh(bare, "git worktree add -q -b a "+g.At(c.a))
			g.sh(bare, "mkdir -p "+filepath.Dir(g.At(c.b))+"; git worktree add -q -b b "+g.At(c.b))
			in := func(name string) string { return filepath.Join(c.repository, name) }
			g.guards(map[string]string{
				c.a: "a", filepath.Join(c.a, "f"): "a", filepath.Join(c.b, "absent"): "b", in("refs/heads/b"): "b",
				in("worktrees/a/index"): "a", in("HEAD"): mainID, in("hooks/x"): mainID,
			})
			work := []string{"echo x >f; git commit -q -a -m one", "git commit -q --amend -m two", "git rebase -q --force-rebase HEAD~1", "git stash list; git gc -q --auto", `git switch -q -c more-$(git branch --show-current); git switch -q -`}
			g.sideBySide(map[string][]string{c.a: work, c.b: work})
			g.requireNoRefusal()
			g.othersAreKept(c.a)
			holder, _ := g.hold("holder", c.a)
			g.refused(g.At(c.b), "git update-ref refs/heads/a HEAD")
			g.refused(g.At(c.b), "rm -rf "+g.At(in("worktrees/a")))
			g.run(holder, g.At(c.a), "git commit -q --allow-empty -m three")
			holder.End()
			g.sh(bare, "git worktree move "+g.At(c.b)+" "+g.At("moved")+"; git worktree remove "+g.At("moved"))
			g.requireWhole(bare)
		})
	}
}

// Conflicts, and what git remembers of how they were solved.
func TestConflictsAreSolvedAndRememberedInEachWorktree(t *testing.T) {
	// Two gits at once that miss the directory both make it, and the second one dies, without jvsfs too (setup_rerere in rerere.c).
	g := newGround(t, threeCheckouts+"git config rerere.enabled true; mkdir .git/rr-cache")
	solve := []string{
		"echo mine >f; git commit -q -a -m mine; git branch theirs-$(git branch --show-current) HEAD~1",
		"git switch -q theirs-$(git branch --show-current); echo theirs >f; git commit -q -a -m theirs; git switch -q -",
		"git merge -q theirs-$(git branch --show-current) >/dev/null 2>&1 && exit 1; echo both >f; git add f; git commit -q -m solved",
		"git reset -q --hard HEAD~1",
		"git merge -q theirs-$(git branch --show-current) >/dev/null 2>&1 && exit 1; grep -q both f; git merge --abort",
		"git cherry-pick theirs-$(git branch --show-current) >/dev/null 2>&1 && exit 1; git cherry-pick --abort",
		"git rebase -q theirs-$(git branch --show-current) >/dev/null 2>&1 && exit 1; git add f; git rebase --continue >/dev/null 2>&1",
		"git revert --no-edit HEAD >/dev/null; git rerere gc",
	}
	g.sideBySide(map[string][]string{".worktrees/a": solve, ".worktrees/b": solve})
	g.requireNoRefusal()
	g.requireWhole(g.Source)
}
