package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// native says that there is no mount.
var native = os.Getenv("JVSFS_GIT_NATIVE") != ""

// ground is a place with a repository in it, mounted in place with the layout git.
type ground struct {
	*harness.Mount
	t *testing.T
}

// settings are those of a machine on which everybody has to wait for everybody else.
const settings = `
git config core.filesRefLockTimeout 60000
git config core.packedRefsTimeout 60000
git config gc.pruneExpire 2.weeks.ago
`

// anOrdinaryOne is a repository with files, a history of three commits, and a place for worktrees in it.
const anOrdinaryOne = `
git init -q -b main .
` + settings + `
printf '.claude/\n.worktrees/\n' >.git/info/exclude
mkdir -p sub .worktrees .claude/worktrees
for i in 1 2 3; do
  echo "$i" >f; seq "$i" 100 >sub/g; echo "one more" >"sub/$i"
  git add .; git commit -q -m "commit $i"
done
`

// newGround makes the repository by lines of shell, and mounts it.
func newGround(t *testing.T, make string, options ...string) *ground {
	t.Helper()
	g := prepareGround(t, make, options...)
	g.mount()
	return g
}

func prepareGround(t *testing.T, make string, options ...string) *ground {
	t.Helper()
	g := &ground{t: t}
	g.Mount = harness.PrepareMount(t, harness.MountOptions{
		InPlace: true, Extra: append([]string{"--layout", "git"}, options...),
		Prepare: func(t testing.TB, dir string) {
			t.Helper()
			for _, one := range harness.GitEnv(t, filepath.Join(filepath.Dir(dir), "home")) {
				name, value, _ := strings.Cut(one, "=")
				g.t.Setenv(name, value)
			}
			g.t.Setenv("BASE", filepath.Dir(dir))
			g.t.Setenv("R", dir)
			g.sh(dir, make)
		},
	})
	return g
}

func (g *ground) mount() {
	g.t.Helper()
	if !native {
		g.Mount.Mount()
	}
}

// in is where commands run, each in a session of its own.
func (g *ground) in(dir string) harness.Workshop { return harness.Workshop{T: g.t, Dir: dir} }

// sh runs lines of shell in a session of its own; all of them must go well, and none may complain.
func (g *ground) sh(dir, lines string) string {
	g.t.Helper()
	r := g.in(dir).Run("sh", "-euc", lines)
	require.Zero(g.t, r.Exit, "%s: %s\n%s%s%s", dir, lines, r.Out, r.Errs, g.why())
	require.Empty(g.t, r.Complaint(), "%s: %s\n%s%s%s", dir, lines, r.Out, r.Errs, g.why())
	return strings.TrimSpace(r.Out)
}

// each runs the lines one by one, each in a session of its own.
func (g *ground) each(dir, lines string) {
	g.t.Helper()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			g.sh(dir, line)
		}
	}
}

// refused runs lines of shell that must not succeed where there is a mount.
func (g *ground) refused(dir, lines string) {
	g.t.Helper()
	if native {
		return
	}
	r := g.in(dir).Run("sh", "-euc", lines)
	require.NotZero(g.t, r.Exit, "%s: %s\n%s%s", dir, lines, r.Out, r.Errs)
}

// why is what the daemon has refused, for a failure's message.
func (g *ground) why() string {
	if g.Mount == nil || !g.Mounted {
		return ""
	}
	var said []string
	for _, r := range g.seen().Refusals {
		said = append(said, r.Command+" "+r.Op+": "+r.Class+": "+r.Sentence)
	}
	return "\nrefused:\n" + strings.Join(said, "\n")
}

// refusal is one of `status --json` and `explain --json`.
type refusal struct{ Command, Op, Class, Sentence string }

// sight is what status says of the mount.
type sight struct {
	Mountpoint, Layout string
	Refusals           []refusal `json:"recent_refusals"`
	Statistics         struct {
		Sealed uint64 `json:"sealed_refusals"`
	}
	Worktrees []harness.WorktreeStatus
}

func (g *ground) seen() sight {
	g.t.Helper()
	var all struct{ Mounts []sight }
	harness.RequireJSON(g.t, g.MustCLI("status", "--json"), &all)
	require.Len(g.t, all.Mounts, 1)
	return all.Mounts[0]
}

// requireNoRefusal demands that nobody was refused anything since the mount.
func (g *ground) requireNoRefusal() {
	g.t.Helper()
	if native {
		return
	}
	s := g.seen()
	require.Equal(g.t, "git", s.Layout)
	require.Empty(g.t, s.Refusals)
	require.Zero(g.t, s.Statistics.Sealed)
	for _, w := range s.Worktrees {
		require.Zero(g.t, w.Refusals, "%+v", w)
	}
}

// requireWhole demands a repository without litter in which git finds nothing wrong.
func (g *ground) requireWhole(dir string) {
	g.t.Helper()
	common := g.sh(dir, "git rev-parse --path-format=absolute --git-common-dir")
	harness.EventuallyNoted(g.t, "the last gc has ended", func() (bool, string) {
		_, err := os.Stat(filepath.Join(common, "gc.pid"))
		return os.IsNotExist(err), ""
	})
	harness.EventuallyNoted(g.t, "no litter", func() (bool, string) {
		left := harness.GitLitter(g.t, common)
		return len(left) == 0, strings.Join(left, "\n")
	})
	assert.NotContains(g.t, g.sh(dir, "git fsck --strict --no-dangling 2>&1"), "error")
}

// mainID is the worktree id of the main checkout: the name of its directory.
const mainID = "source"

// guards demands what `jvsfs layout` says of paths below the mount: the id of a worktree, or another guard.
func (g *ground) guards(want map[string]string) {
	g.t.Helper()
	if native {
		return
	}
	for path, guard := range want {
		var all []struct{ Guard, Worktree, Layout, Why string }
		harness.RequireJSON(g.t, g.MustCLI("layout", "--json", g.At(path)), &all)
		require.Len(g.t, all, 1)
		got := all[0].Guard
		if got == "worktree" {
			got = all[0].Worktree
		}
		assert.Equal(g.t, guard, got, "%s: %+v", path, all[0])
		assert.Equal(g.t, "git", all[0].Layout)
		assert.NotEmpty(g.t, all[0].Why)
	}
}

// hold starts a session that holds checkouts on purpose.
func (g *ground) hold(name string, checkouts ...string) (*harness.Actor, string) {
	g.t.Helper()
	a := harness.StartActor(g.t, name)
	holder := ""
	for _, c := range checkouts {
		if !native {
			holder = g.Acquire(a, c).HolderID
		}
	}
	return a, holder
}

// run lets an actor run lines of shell, which must go well and without a complaint.
func (g *ground) run(a *harness.Actor, dir, lines string) string {
	g.t.Helper()
	exit, out := a.Run(dir, "", "set -eu; "+lines)
	require.Zero(g.t, exit, "%s in %s: %s\n%s%s", a.Name, dir, lines, out, g.why())
	require.Empty(g.t, harness.ToolRun{Errs: out}.Complaint(), "%s in %s: %s\n%s", a.Name, dir, lines, out)
	return strings.TrimSpace(out)
}
