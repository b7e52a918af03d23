package git

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// work is what an agent does, with programs that know nothing of jvsfs.
var work = [][]string{
	{"sh", "-c", `mkdir -p src && printf 'out/app: src/in\n\tmkdir -p out && cp src/in out/app\n' >Makefile && echo 1 >src/in`},
	{"make", "-s"},
	{"vim", "-es", "-u", "NONE", "-i", "NONE", "--cmd", "set swapfile directory=.", "-c", "normal Oedited", "-c", "x", "src/in"},
	{"make", "-s"},
	{"sh", "-c", "mkdir pkg && cd pkg && npm init -y >/dev/null && npm pkg set scripts.build='cp package.json built'"},
	{"sh", "-c", "cd pkg && npm run --silent build"},
	{"git", "add", "-A"},
	{"git", "commit", "-q", "-m", "work"},
	{"git", "rebase", "-q", "--force-rebase", "HEAD~1"},
}

// Two agents and a person in the main checkout work at once, however their commands are started. Each way is a story.

func TestAgentsWorkSideBySideWithASessionForEachCommand(t *testing.T) {
	threeWork(t, func(*ground, string) []string { return nil })
}

func TestAgentsWorkSideBySideWithATerminalForEachCommand(t *testing.T) {
	threeWork(t, func(*ground, string) []string {
		return []string{"bash", "-c", `exec script -qec "$(printf '%q ' "$@")" /dev/null`, "terminal"}
	})
}

func TestAgentsWorkSideBySideWithAContainerForEachCommand(t *testing.T) {
	threeWork(t, func(*ground, string) []string {
		return []string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"}
	})
}

func TestAgentsWorkSideBySideUnderExec(t *testing.T) {
	threeWork(t, func(g *ground, checkout string) []string {
		return []string{harness.RequireBinary(g.t), "exec", "--wait", "10m", g.At(checkout), "--"}
	})
}

func TestAgentsWorkSideBySideUnderExecWithACgroup(t *testing.T) {
	threeWork(t, func(g *ground, checkout string) []string {
		// exec names its cgroup by its pid, beside that of whoever starts it: stories in other namespaces have the same pids.
		home := string(harness.NewCgroup(g.t))
		return []string{"sh", "-c", "echo $$ >" + home + `/cgroup.procs; exec "$@"`, "sh",
			harness.RequireBinary(g.t), "exec", "--cgroup", "--wait", "10m", g.At(checkout), "--"}
	})
}

func threeWork(t *testing.T, start func(g *ground, checkout string) []string) {
	t.Helper()
	if native {
		t.Skip("there is no mount")
	}
	g := newGround(t, anOrdinaryOne+"git worktree add -q -b a .worktrees/a; git worktree add -q -b b .claude/worktrees/b")
	checkouts := []string{".worktrees/a", ".claude/worktrees/b", "."}
	failed := make(chan string, len(checkouts))
	var all sync.WaitGroup
	for _, c := range checkouts {
		w := g.in(g.At(c))
		w.Prefix = start(g, c)
		all.Go(func() {
			for _, argv := range work {
				if harness.InContainer() && strings.Contains(argv[len(argv)-1], "npm ") {
					continue // it is hundreds of packages
				}
				if r, err := w.Try(argv...); err != nil || r.Exit != 0 {
					failed <- c + "\n" + r.Out + r.Errs
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	for said := range failed {
		t.Error(said + g.why())
	}
	g.requireNoRefusal()
	for _, c := range checkouts {
		require.Equal(t, "edited\n1", g.sh(g.At(c), "cat out/app"))
		require.Equal(t, "work", g.sh(g.At(c), "git log -1 --format=%s"))
		require.Empty(t, g.sh(g.At(c), "git status --porcelain"))
	}
	g.requireWhole(g.At())
}

// server is a development server: it builds when a source changes, until it is told to end.
const server = `
const fs = require("fs");
const build = () => fs.writeFileSync("out", fs.readFileSync("src/in"));
fs.watch("src", (_, name) => { if (name === "end") process.exit(0); build(); });
build();
`

const until = `until_that() { for i in $(seq 6000); do eval "$1" && return 0; sleep 0.05; done; echo "never: $1" >&2; return 1; }
`

// An agent's development server goes on building what the agent edits, also after the agent has
// cut it off, and builds in nobody else's worktree. node's watcher sees the changes.
func TestADevelopmentServerBuildsOnlyItsAgentsWorktree(t *testing.T) {
	if native {
		t.Skip("there is no mount")
	}
	g := newGround(t, anOrdinaryOne+"git worktree add -q -b a .worktrees/a; git worktree add -q -b b .worktrees/b; for w in a b; do mkdir .worktrees/$w/src; echo first >.worktrees/$w/src/in; done")
	a := g.in(g.At(".worktrees/a"))
	a.Prefix = []string{harness.RequireBinary(t), "exec", "--linger", g.At(".worktrees/a"), "--"}
	a.Env = append(os.Environ(), "SERVER="+server)
	other := g.in(g.At(".worktrees/b"))
	a.OK("bash", "-euc", until+`
		setsid node -e "$SERVER" </dev/null >/dev/null 2>&1 &
		until_that '[ "$(cat out 2>/dev/null)" = first ]'
		echo second >src/in
		until_that '[ "$(cat out)" = second ]'
		(cd ../b && ! echo mine >../b/f) 2>/dev/null || true
		git add -A && git commit -q -m served
		touch src/end
	`)
	require.Equal(t, "first", other.OK("sh", "-c", "printf %s $(cat src/in)"))
	require.Equal(t, "served", g.sh(g.At(".worktrees/a"), "git log -1 --format=%s"))
	g.sh(g.At(".worktrees/b"), "echo x >f; git commit -q -a -m b")
	g.requireWhole(g.At())
}
