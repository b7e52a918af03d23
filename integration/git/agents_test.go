package git

import (
	"crypto/sha1"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

const agents = 8

// commits is how many each agent makes: JVSFS_COMMITS, or few.
func commits(t testing.TB) int {
	text := os.Getenv("JVSFS_COMMITS")
	if text == "" {
		return harness.Rounds(6)
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// busy makes git tidy up in the background all the time, and gives it hooks.
const busy = anOrdinaryOne + `
git config gc.auto 600
git config gc.autoPackLimit 8
git config maintenance.auto true
cat >.git/hooks/pre-commit <<'END'
#!/bin/sh
git diff --cached --check
END
cat >.git/hooks/post-commit <<'END'
#!/bin/sh
git rev-parse HEAD >>"$(git rev-parse --git-dir)/made"
END
chmod 755 .git/hooks/pre-commit .git/hooks/post-commit
`

// fillObjects puts an object that nothing names into each directory of objects, so that gc,
// which leaves such for two weeks, never finds one empty. git natively fails where gc removes
// an empty directory after git has made it and before it makes a file there.
func fillObjects(g *ground) {
	g.t.Helper()
	dir := filepath.Join(g.Base, "filling")
	require.NoError(g.t, os.Mkdir(dir, 0o755))
	seen := map[byte]bool{}
	for n := 0; len(seen) < 256; n++ {
		text := strconv.Itoa(n)
		first := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text))[0] // git's name of it
		if !seen[first] {
			seen[first] = true
			require.NoError(g.t, os.WriteFile(filepath.Join(dir, text), []byte(text), 0o644))
		}
	}
	g.sh(g.Source, "find $BASE/filling -type f | git hash-object -w --no-filters --stdin-paths")
}

// agent works in a worktree of its own, and starts each command in a session of its own. After
// the first thing that went wrong it does nothing more.
type agent struct {
	harness.Workshop
	name string
	ran  int
	err  error
}

// overtaken is what git says natively, and ends well, when a ref has moved while gc looked at it.
var overtaken = regexp.MustCompile(`(?m)^error: cannot lock ref '.*': (is at \w+ but expected \w+|unable to resolve reference '.*')\n`)

// lockedConfig is what git branch -d says natively, and ends well, while another one removes its lines of
// the configuration.
var lockedConfig = regexp.MustCompile(`(?m)^error: could not lock config file .*\nwarning: Update of config-file failed\n`)

// vanished is what git gc says natively, and ends well, when it finds an object that another command is making,
// and looks at it after that has given it its name (prune_tmp_file).
var vanished = regexp.MustCompile(`(?m)^error: Could not stat '.*/tmp_obj_\w+'\n`)

// anotherGC is how git ends a gc while another is under way.
var anotherGC = regexp.MustCompile(`^fatal: (gc is already running|Unable to create '.*/gc\.pid\.lock': File exists)`)

// do runs a command. What another's gc gets in the way of is told as git tells it natively.
func (a *agent) do(argv ...string) string {
	for a.err == nil {
		r, err := a.Try(argv...)
		if err == nil && r.Exit == 128 && anotherGC.MatchString(r.Errs) {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		a.ran++
		for _, message := range []*regexp.Regexp{overtaken, lockedConfig, vanished} {
			r.Errs = message.ReplaceAllString(r.Errs, "")
		}
		if err == nil && (r.Exit != 0 || r.Complaint() != "") {
			err = fmt.Errorf("%s: %v: exit %d\n%s%s", a.name, argv, r.Exit, r.Out, r.Errs)
		}
		a.err = err
		return strings.TrimSpace(r.Out)
	}
	return ""
}

func (a *agent) git(args ...string) string { return a.do(append([]string{"git"}, args...)...) }

func (a *agent) write(name, text string) { a.do("sh", "-c", `echo "$2" >"$1"`, "sh", name, text) }

// commit n is one on the agent's branch, whatever is made besides.
func (a *agent) commit(n int) {
	a.write("own."+a.name, strconv.Itoa(n))
	a.git("add", "-A")
	a.git("commit", "-q", "-m", fmt.Sprintf("%s %d", a.name, n))
}

// besides are what agents do between their commits, in turn.
var besides = []func(a *agent, n int){
	func(a *agent, n int) { // amend
		a.write("amended", strconv.Itoa(n))
		a.git("add", "amended")
		a.git("commit", "-q", "--amend", "--no-edit")
	},
	func(a *agent, n int) { // merge
		a.side(n, "HEAD~1")
		a.git("switch", "-q", a.name)
		a.git("merge", "-q", "--no-ff", "-m", "merge", a.name+"-side")
		a.git("branch", "-q", "-D", a.name+"-side")
	},
	func(a *agent, n int) { // rebase
		a.side(n, "HEAD~1")
		a.git("rebase", "-q", a.name)
		a.git("switch", "-q", a.name)
		a.git("merge", "-q", "--ff-only", a.name+"-side")
		a.git("branch", "-q", "-d", a.name+"-side")
	},
	func(a *agent, n int) { // stash; the list is one for all, so the entry is found by what it says
		a.write("f", "stashed by "+a.name)
		a.write("untracked", "x")
		a.git("stash", "push", "-q", "-u", "-m", fmt.Sprintf("%s-%d", a.name, n))
		entry := a.git("log", "-g", "-1", "--format=%H", "--grep-reflog="+fmt.Sprintf("%s-%d$", a.name, n), "refs/stash")
		a.git("stash", "apply", "-q", entry)
		a.git("checkout", "-q", "--", "f")
		a.do("rm", "untracked")
	},
	func(a *agent, _ int) { a.git("gc", "-q") },
	func(a *agent, n int) { // what goes through packed-refs
		a.git("tag", fmt.Sprintf("%s-%d", a.name, n))
		a.git("pack-refs", "--all")
		a.git("switch", "-q", "--detach")
		a.git("switch", "-q", a.name)
		a.git("reset", "-q", "--hard", "HEAD")
	},
}

// side makes a commit on a branch that leaves the agent's own.
func (a *agent) side(n int, from string) {
	a.git("switch", "-q", "-c", a.name+"-side", from)
	a.write("side", strconv.Itoa(n))
	a.git("add", "-A")
	a.git("commit", "-q", "-m", "side")
}

// Eight agents work in one repository at once, each in its own worktree, and each of their
// commands is a session of its own. None is refused anything, and nothing is lost.
func TestEightAgentsInTheirWorktreesAreNeverRefused(t *testing.T) {
	g := newGround(t, busy)
	fillObjects(g)
	n := commits(t)
	all := make([]*agent, agents)
	for i := range all {
		name := "agent" + strconv.Itoa(i)
		dir := g.At(".worktrees", name)
		g.sh(g.Source, "git worktree add -q -b "+name+" "+dir)
		all[i] = &agent{Workshop: g.in(dir), name: name}
	}
	began := time.Now()
	var wait sync.WaitGroup
	for i, a := range all {
		wait.Go(func() {
			for n := range n {
				a.commit(n)
				besides[(i+n)%len(besides)](a, n)
			}
		})
	}
	wait.Wait()
	ran := 0
	for _, a := range all {
		ran += a.ran
		if a.err != nil {
			t.Error(a.err)
		}
	}
	if t.Failed() {
		t.Fatal(g.why())
	}
	t.Logf("%d commands of %d agents in %s", ran, agents, time.Since(began).Round(time.Second))
	g.requireNoRefusal()
	g.requireWhole(g.Source)
	for _, a := range all {
		require.Equal(t, n, strings.Count(g.sh(a.Dir, "git log --format=%s"), a.name+" "), "commits of %s", a.name)
		require.Empty(t, g.sh(a.Dir, "git status --porcelain"))
		made := g.sh(a.Dir, "cat \"$(git rev-parse --git-dir)/made\"")
		require.GreaterOrEqual(t, strings.Count(made, "\n")+1, n, "the hook ran for each commit")
	}
	require.DirExists(t, filepath.Join(g.View, ".git", "objects", "pack"))
}
