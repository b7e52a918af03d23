package git

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// try is one way to write into what another checkout holds. It is refused, and nothing of the
// others' changes, index, branch, HEAD or administration changes.
type try struct {
	of    string // whose it is: a, packed or main; "" where nobody may
	lines string // of shell, in b's worktree
	own   bool   // git does not even try: it refuses by itself
	any   bool   // of whatever holder the refusal tells, or of none
}

// The names that the lines use. A lock file is written by the shell itself ({ ...; } >FILE): it
// lives as long as who made it.
const names = `
A=$R/.worktrees/a P=$R/.worktrees/packed G=$R/.git
before=$(git rev-parse b~2)
`

// exchange swaps two names in one call.
const exchange = `python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) != 0)'`

var tries = []try{
	// The worktree.
	{of: "a", lines: `echo x >$A/f`},
	{of: "a", lines: `echo x >>$A/sub/g`},
	{of: "a", lines: `echo x >$A/new`},
	{of: "a", lines: `mkdir $A/dir`},
	{of: "a", lines: `rm -f $A/f`},
	{of: "a", lines: `mv $A/sub $A/moved`},
	{of: "a", lines: `mv f $A/f`},
	{of: "a", lines: `ln $A/f $A/second`},
	{of: "a", lines: `chmod 600 $A/f`},
	{of: "a", lines: `touch $A/f`},
	{of: "a", lines: `rm -f $A/.git`},
	{of: "a", lines: `git -C $A reset -q --hard HEAD~1`},
	{of: "a", lines: `git -C $A clean -fdq`},
	{of: "a", lines: `git -C $A stash -q -u`},
	{of: "a", lines: `git -C $A merge -q --no-ff -X ours b`},
	{of: "a", lines: `git -C $A rebase -q -X ours b`},
	{of: "a", lines: `git -C $A apply <<END
diff --git a/f b/f
--- a/f
+++ b/f
@@ -1 +1 @@
-3
+4
END`},
	// Its root.
	{of: "a", lines: `mv $A $R/.worktrees/elsewhere`},
	{of: "a", lines: `rm -rf $A`},
	{of: "a", lines: `mv $R/.worktrees/b $A`},
	// The index.
	{of: "a", lines: `git -C $A add untracked`},
	{of: "a", lines: `git -C $A rm -q --cached f`},
	{of: "a", lines: `git -C $A update-index --force-remove f`},
	{of: "a", lines: `GIT_INDEX_FILE=$G/worktrees/a/index git read-tree b~2`},
	{of: "a", lines: `rm -f $G/worktrees/a/index`},
	{of: "a", lines: `cp $G/worktrees/b/index $G/worktrees/a/index`},
	{of: "a", lines: `cp $G/worktrees/b/index $G/worktrees/a/index.lock; mv $G/worktrees/a/index.lock $G/worktrees/a/index`},
	{of: "a", lines: `mv $G/worktrees/b/index $G/worktrees/a/index`},
	// The branch.
	{of: "a", lines: `git update-ref refs/heads/a $before`},
	{of: "a", lines: `git update-ref -d refs/heads/a`},
	{of: "a", lines: `git symbolic-ref refs/heads/a refs/heads/b`},
	{of: "a", lines: `git branch -f a $before`, own: true},
	{of: "a", lines: `git branch -D a`, own: true},
	{of: "a", lines: `git branch -m a renamed`},
	{of: "a", lines: `git push -q --receive-pack='git -c receive.denyCurrentBranch=ignore receive-pack' . +b~2:refs/heads/a`},
	{of: "a", lines: `git push -q --receive-pack='git -c receive.denyCurrentBranch=ignore -c receive.denyDeleteCurrent=ignore receive-pack' . :refs/heads/a`},
	{of: "a", lines: `git fetch -q --update-head-ok . +loose:refs/heads/a`},
	{of: "a", lines: `echo $before >$G/refs/heads/a`},
	{of: "a", lines: `rm -f $G/refs/heads/a`},
	{of: "a", lines: `mv $G/refs/heads/b $G/refs/heads/a`},
	{of: "a", lines: `echo $before >$G/refs/heads/a.lock; mv $G/refs/heads/a.lock $G/refs/heads/a`},
	{of: "a", lines: `echo "an entry" >>$G/logs/refs/heads/a`},
	{of: "a", lines: `rm -f $G/logs/refs/heads/a`},
	{of: "a", lines: `printf 'update refs/heads/b %s\nupdate refs/heads/a %s\n' $before $before | git update-ref --stdin`},
	// A branch that is in packed-refs alone.
	{of: "packed", lines: `git update-ref -d refs/heads/packed`},
	{of: "packed", lines: `git update-ref refs/heads/packed $before`},
	{of: "packed", lines: `mkdir -p $G/refs/heads/packed; echo $before >$G/refs/heads/packed/x`},
	{of: "packed", lines: `{ grep -v refs/heads/packed $G/packed-refs; } >$G/packed-refs.lock; mv $G/packed-refs.lock $G/packed-refs`},
	{of: "packed", lines: `{ sed "s#.* refs/heads/packed\$#$before refs/heads/packed#" $G/packed-refs; } >$G/packed-refs.lock; mv $G/packed-refs.lock $G/packed-refs`},
	{of: "main", lines: `rm -f $G/packed-refs`},
	{of: "main", lines: `sed -i "/refs.heads.packed/d" $G/packed-refs`},
	{lines: `: >$G/packed-refs`},
	// HEAD.
	{of: "a", lines: `git -C $A switch -q --detach`},
	{of: "a", lines: `git -C $A symbolic-ref HEAD refs/heads/main`},
	{of: "a", lines: `git --git-dir=$G/worktrees/a update-ref --no-deref HEAD $before`},
	{of: "a", lines: `git update-ref --no-deref worktrees/a/HEAD $before`},
	{of: "a", lines: `echo "ref: refs/heads/main" >$G/worktrees/a/HEAD`},
	{of: "a", lines: `echo "ref: refs/heads/main" >$G/worktrees/a/HEAD.lock; mv $G/worktrees/a/HEAD.lock $G/worktrees/a/HEAD`},
	{of: "a", lines: `rm -f $G/worktrees/a/logs/HEAD`},
	// The administration.
	{of: "a", lines: `rm -rf $G/worktrees/a`},
	{of: "a", lines: `mv $G/worktrees/a $G/worktrees/other`},
	{of: "main", lines: `mv $G/worktrees $G/elsewhere`},
	{of: "a", lines: `git worktree remove --force $A`},
	{of: "a", lines: `git worktree move $A $R/.worktrees/elsewhere`},
	{of: "a", lines: `git worktree lock $A`},
	{of: "a", lines: `echo $BASE/elsewhere/.git >$G/worktrees/a/gitdir`},
	{of: "a", lines: `mkdir $G/worktrees/a/rebase-merge`},
	{of: "a", lines: `git -C $A config --worktree user.name other`},
	// The main checkout.
	{of: "main", lines: `echo x >$R/f`},
	{of: "main", lines: `git -C $R reset -q --hard HEAD~1`},
	{of: "main", lines: `git -C $R commit -q --allow-empty -m x`},
	{of: "main", lines: `git update-ref refs/heads/main $before`},
	{of: "main", lines: `git -C $R switch -q --detach`},
	{of: "main", lines: `rm -f $G/index`},
	{of: "main", lines: `rm -f $G/HEAD`},
	{of: "main", lines: `echo $before >$G/MERGE_HEAD`},
	{of: "main", lines: `echo $before >$G/ORIG_HEAD`},
	{of: "main", lines: `echo exit 1 >$G/hooks/pre-commit`},
	{of: "main", lines: `cp $G/hooks/pre-push.sample $G/hooks/post-commit`},
	{of: "main", lines: `echo "[core] bare = true" >>$G/config`},
	{of: "main", lines: `rm -f $G/config`},
	{of: "main", lines: `echo f >>$G/info/exclude`},
	{lines: `mv $G $R/git`},
	{of: "main", lines: `mv $G/refs $G/elsewhere`},
	{lines: `mv $G/refs/heads $G/refs/elsewhere`},
	{of: "main", lines: `mv $G/objects $G/elsewhere`},
	// A second name for what is guarded, and a name in exchange for another.
	{of: "a", lines: `ln $G/refs/heads/a $G/refs/heads/second; echo $before >$G/refs/heads/second`, any: true},
	{of: "a", lines: `ln $G/refs/heads/a $G/refs/tags/second.lock; echo $before >$G/refs/tags/second.lock`, any: true},
	{lines: `ln $G/packed-refs $G/packed-refs.lock; : >$G/packed-refs.lock`, any: true},
	{of: "main", lines: `ln $G/config $G/config.lock; echo "[a]" >>$G/config.lock`, any: true},
	{lines: `o=$(find $G/objects/?? -type f | head -1); ln $o second; echo x >second`, any: true},
	{lines: `o=$(find $G/objects/?? -type f | head -1); ln $o $G/objects/second; echo x >$G/objects/second`, any: true},
	{of: "a", lines: exchange + ` $G/refs/heads/a $G/refs/heads/loose`},
	{of: "a", lines: `echo $before >$G/refs/heads/loose.lock; ` + exchange + ` $G/refs/heads/loose.lock $G/refs/heads/a`},
	{lines: `{ grep -v refs/heads/packed $G/packed-refs; } >$G/packed-refs.lock; ` + exchange + ` $G/packed-refs.lock $G/packed-refs`, any: true},
	{of: "a", lines: exchange + ` $A f`, any: true},
	{of: "a", lines: exchange + ` $G/worktrees/a $G/worktrees/b`, any: true},
	// Notes that say that another's is mine.
	{of: "a", lines: `echo $A/.git >$G/worktrees/b/gitdir; echo x >$A/new`},
	{of: "a", lines: `mkdir $G/worktrees/more1; cp $G/worktrees/b/HEAD $G/worktrees/b/commondir $G/worktrees/more1; echo $A/.git >$G/worktrees/more1/gitdir; echo x >$A/new`},
	{of: "main", lines: `mkdir $G/worktrees/more2; cp $G/worktrees/b/HEAD $G/worktrees/b/commondir $G/worktrees/more2; echo $R/sub/.git >$G/worktrees/more2/gitdir; echo x >$R/sub/new`},
	{of: "main", lines: `mkdir $G/worktrees/more3; cp $G/worktrees/b/HEAD $G/worktrees/b/commondir $G/worktrees/more3; echo $R/.git >$G/worktrees/more3/gitdir; echo x >$R/sub/new`},
	{of: "a", lines: `git symbolic-ref HEAD refs/heads/a; git commit -q --allow-empty -m x`},
	{of: "a", lines: `git checkout -q --ignore-other-worktrees a; git commit -q --allow-empty -m x`},
	{of: "a", lines: `mkdir -p $G/worktrees/b/rebase-merge; echo refs/heads/a >$G/worktrees/b/rebase-merge/head-name; git update-ref refs/heads/a $before`},
	{of: "a", lines: `git worktree add -q -f $R/.worktrees/more4 a; git -C $R/.worktrees/more4 commit -q --allow-empty -m x`},
	{of: "main", lines: `git symbolic-ref HEAD refs/heads/main; git reset -q --hard HEAD~1`},
	// What gc may do, and others not: remove what is in packs, drop lines of logs.
	{of: "a", lines: `: >$G/refs/heads/a.lock; { cat $G/logs/refs/heads/a; echo "an entry"; } >$G/logs/refs/heads/a.lock; mv $G/logs/refs/heads/a.lock $G/logs/refs/heads/a`},
	{of: "a", lines: `: >$G/refs/heads/a.lock; rm -f $G/refs/heads/a`},
	{of: "a", lines: `: >$G/refs/heads/of/logs/a.lock; mv $G/refs/heads/of/logs/a.lock $G/refs/heads/of/logs/a`},
	{of: "main", lines: `rm -rf $G/objects`},
	{lines: `mv $G/objects/pack $G/objects/elsewhere`},
	// What an object is, it stays.
	{lines: `o=$(find $G/objects -name '*.pack' | head -1); echo x >>$o`},
	{lines: `o=$(find $G/objects/?? -type f | head -1); echo x >$o`},
	{lines: `o=$(find $G/objects/?? -type f | head -1); echo x >$BASE/x; cp $BASE/x $o.new; mv -f $o.new $o`},
}

// threeCheckouts are main, a whose branch was packed with an older value, packed whose branch is in packed-refs alone, and b.
const threeCheckouts = anOrdinaryOne + `
git worktree add -q -b packed .worktrees/packed
git gc -q
git worktree add -q -b a .worktrees/a
git worktree add -q -b of/logs/a .worktrees/logs
git worktree add -q -b b .worktrees/b
git pack-refs --all --no-prune
for w in a b; do (cd .worktrees/$w; echo $w >>sub/1; git commit -q -a -m "of $w"; echo x >untracked); done
git rev-parse b~1 >.git/refs/heads/loose
test ! -e .git/refs/heads/packed
git config extensions.worktreeConfig true
`

// tried is what the daemon tells of a try.
func (g *ground) tried(b *harness.Actor) (all []refusal) {
	g.t.Helper()
	_, out := b.Run("/", "", g.Bin+" explain --json --since 10m")
	var r struct{ Refusals []refusal }
	require.NoError(g.t, json.Unmarshal([]byte(out), &r), out)
	return r.Refusals
}

// Neither who holds another checkout, nor who holds none, writes into what a checkout holds;
// each is told who does. Each of the two is a story: they are the longest of all.

func TestEveryTryOfAHolderToWriteIntoAnothersCheckoutIsRefused(t *testing.T) {
	if native {
		succeedNatively(t)
		return
	}
	everyTry(t, ".worktrees/b")
}

func TestEveryTryOfWhoHoldsNothingToWriteIntoACheckoutIsRefused(t *testing.T) {
	if native {
		t.Skip("there is no mount")
	}
	everyTry(t)
}

// everyTry makes all tries, in as many places as they need, by who holds these checkouts.
func everyTry(t *testing.T, held ...string) {
	t.Helper()
	for rest, had := tries, 0; len(rest) > 0; {
		had = len(rest)
		t.Run(fmt.Sprint("from ", len(tries)-len(rest)), func(t *testing.T) { tryAll(t, &rest, held) })
		require.Less(t, len(rest), had, "there is no place for a try")
	}
}

// succeedNatively shows that nothing but the mount refuses a try.
func succeedNatively(t *testing.T) {
	for _, one := range tries {
		g := newGround(t, threeCheckouts)
		r := g.in(g.At(".worktrees", "b")).Run("sh", "-euc", names+one.lines)
		assert.Equal(t, one.own, r.Exit != 0, "%s\n%s%s", one.lines, r.Out, r.Errs)
	}
}

// tryAll runs tries until one has done harm; what is left is for another place.
func tryAll(t *testing.T, rest *[]try, held []string) {
	g := newGround(t, threeCheckouts)
	a, holderA := g.hold("a", ".worktrees/logs", ".worktrees/a")
	p, holderP := g.hold("packed", ".worktrees/packed")
	m, holderM := g.hold("main", "")
	holders := map[string]string{"a": holderA, "packed": holderP, "main": holderM}
	for len(*rest) > 0 {
		one := (*rest)[0]
		*rest = (*rest)[1:]
		if !g.refusesTry(one, held, holders[one.of]) {
			return
		}
	}
	for _, who := range []struct {
		*harness.Actor
		dir string
	}{{a, ".worktrees/a"}, {p, ".worktrees/packed"}, {m, ""}} {
		g.run(who.Actor, g.At(who.dir), "git add -A; git commit -q --allow-empty -m 'goes on'")
	}
	g.requireWhole(g.Source)
}

// refusesTry runs a try in a session of its own, which then asks why.
func (g *ground) refusesTry(one try, held []string, holder string) (harmless bool) {
	g.t.Helper()
	b, _ := g.hold("b", held...)
	defer b.End()
	before, refs := g.othersThan("b"), g.sh(g.View, allRefs)
	exit, out := b.Run(g.At(".worktrees", "b"), "", "set -eu; "+names+one.lines)
	assert.NotZero(g.t, exit, "%s\n%s", one.lines, out)
	harness.EventuallyNoted(g.t, "nothing of a try is left", func() (bool, string) {
		left := harness.GitLitter(g.t, g.View)
		return len(left) == 0, one.lines + strings.Join(left, "\n")
	})
	changed := before.Diff(g.othersThan("b"), harness.LeaveTimes, harness.LeaveDirSizes, leaveLinks)
	changed = slices.DeleteFunc(changed, bystander.MatchString)
	harmless = assert.Empty(g.t, changed, "%s\n%s", one.lines, out) &&
		assert.Equal(g.t, refs, g.sh(g.View, allRefs), "%s\n%s", one.lines, out)
	if one.own {
		return harmless
	}
	var told []string
	for _, r := range g.tried(b) {
		told = append(told, r.Sentence)
	}
	if !one.any && assert.NotEmpty(g.t, told, "%s\n%s", one.lines, out) {
		assert.Contains(g.t, strings.Join(told, "\n"), holder, "%s\n%s", one.lines, out)
	}
	return harmless
}

// bystander is a difference that does no harm: a new object, a worktree of one's own, and what
// git makes anew of the objects.
var bystander = regexp.MustCompile(`^(\.git/objects/\S+: appeared|(\.git/|\.)worktrees/more|\.git/objects/(..|info|info/packs|info/commit-graph|pack|second): vanished)`)

// allRefs are what packed-refs and the files of refs say together.
const allRefs = "git for-each-ref --format='%(refname) %(objectname)'"

// leaveLinks is for what others may make beside.
func leaveLinks(e *harness.Entry) { e.Nlink = 0 }

// othersThan is everything but one checkout and its part of the repository: what a refused try
// may not change.
func (g *ground) othersThan(one string) harness.Digest {
	g.t.Helper()
	return harness.TakeDigest(g.t, g.View, ".worktrees/"+one, ".git/worktrees/"+one, ".git/packed-refs")
}
