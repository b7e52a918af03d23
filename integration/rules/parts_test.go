package rules

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

const partsRule = `- name: packages
  taken_by: lease
  guards: ['packages/{pkg}/**']
  except: ['packages/.cache/**']
`

// parts is a directory whose packages have leases of their own. What lies beside them is everybody's.
func parts(t *testing.T, policy harness.Policy, options ...string) *harness.Mount {
	t.Helper()
	m := harness.PrepareMount(t, harness.MountOptions{Policy: policy, Prepare: func(t testing.TB, dir string) {
		t.Helper()
		for _, name := range []string{"packages/a/f", "packages/b/f", "packages/.cache/f", "packages/README", "docs/f"} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("0123456789"), 0o644))
		}
	}})
	if len(options) == 0 {
		options = []string{"--mode", "shared"}
	}
	m.Opts.Extra = append([]string{"--rules", m.WriteConfig("rules.yaml", partsRule)}, options...)
	m.Mount()
	return m
}

func write(m *harness.Mount, path string) harness.Command {
	return harness.Command{Op: "writefile", Path: m.At(path), Flags: unix.O_CREAT, Mode: 0o644, Data: []byte("x")}
}

func rename(m *harness.Mount, from, to string) harness.Command {
	return harness.Command{Op: "rename", Path: m.At(from), To: m.At(to)}
}

func mkdir(m *harness.Mount, path string) harness.Command {
	return harness.Command{Op: "mkdir", Path: m.At(path), Mode: 0o755}
}

func rmdir(m *harness.Mount, path string) harness.Command {
	return harness.Command{Op: "rmdir", Path: m.At(path)}
}

// Two sessions write at once, each in its part. A third is refused in both, in the words of a lease, and goes on beside
// them. Commands find a part by any path in it.
func TestPartsAreHeldOneByOne(t *testing.T) {
	m := parts(t, harness.Calm)
	a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
	for range 3 {
		try(t, a, []attempt{{"a writes its own", write(m, "packages/a/f"), ""}})
		try(t, b, []attempt{{"b writes its own", write(m, "packages/b/f"), ""}, {"and not the other", write(m, "packages/a/f"), "EROFS"}})
	}
	try(t, c, []attempt{
		{"a stranger in a", write(m, "packages/a/f"), "EROFS"}, {"a new file in b", write(m, "packages/b/new"), "EROFS"},
		{"beside the packages", write(m, "docs/f"), ""}, {"a file among them", write(m, "packages/README"), ""},
		{"a new file among them", write(m, "packages/NEWS"), ""}, {"what is excepted", write(m, "packages/.cache/f"), ""},
	})
	x, exit := m.Explain(c.PID(), m.At("packages/a/f"))
	require.Equal(t, harness.ExitConflict, exit)
	require.Equal(t, "E_LOCK_CONFLICT", x.Class)
	require.Contains(t, x.Sentence, "worktree packages.a is being written by")
	require.Contains(t, x.Sentence, "rule packages{pkg=a} makes packages/a a worktree of its own")
	x, _ = m.Explain(c.PID(), m.At("packages/README"))
	require.Equal(t, []any{true, "source"}, []any{x.Allowed, x.Worktree})
	require.Equal(t, "held", m.WorktreeStatus("packages.a").State)
	require.NotEqual(t, m.WorktreeStatus("packages.a").HolderID, m.WorktreeStatus("packages.b").HolderID)
	_, errs, exit := m.CLI("exec", m.At("packages", "b", "f"), "--", "true")
	require.Equal(t, harness.ExitConflict, exit)
	require.Contains(t, errs, "worktree packages.b is held by")
	b.End()
	harness.Eventually(t, "b's lease has ended with it", func() bool { return m.WorktreeStatus("packages.b").State == "free" })
	m.MustCLI("exec", m.At("packages", "b", "f"), "--", "sh", "-c", "echo mine >"+m.At("packages/b/f"))
	require.Equal(t, "mine\n", harness.ReadText(t, m.Behind("packages/b/f")))
}

// Who asks is told which rule makes a worktree of a directory.
func TestCommandsSayWhichRuleMakesAPart(t *testing.T) {
	m := parts(t, harness.Calm)
	for path, want := range map[string][2]string{
		"packages/a":        {"packages.a", "packages{pkg=a}"},
		"packages/a/f":      {"packages.a", "packages{pkg=a}"},
		"packages/new.js/x": {"packages.new_.js", "packages{pkg=new.js}"},
		"packages":          {"source", ""},
		"packages/README":   {"source", ""},
		"packages/.cache/f": {"source", ""},
		"docs":              {"source", ""},
	} {
		var all []struct{ Worktree, Rule, Guard string }
		harness.RequireJSON(t, m.MustCLI("layout", "--json", m.At(path)), &all)
		require.Equal(t, []string{want[0], want[1], "worktree"}, []string{all[0].Worktree, all[0].Rule, all[0].Guard}, path)
	}
	rules := filepath.Join(m.Base, "rules.yaml")
	require.Equal(t, "packages/a/f: guarded by the lease of worktree packages.a, by packages{pkg=a}: its root is packages/a\n"+
		"packages/a: as a directory, it is worktree packages.a, with a lease of its own by packages{pkg=a}\n"+
		"packages/.cache/f: no rule says anything\n", m.MustCLI("rules", "test", rules, "packages/a/f", "packages/a", "packages/.cache/f"))
	require.JSONEq(t, `[{"path": "packages/a/f", "lease": {"rule": "packages", "instance": "packages{pkg=a}", "worktree": "packages.a", "root": "packages/a", "captures": {"pkg": "a"}}}]`,
		m.MustCLI("rules", "test", "--json", rules, "packages/a/f"))
	var status struct {
		Mounts []struct {
			Parts []struct {
				Rule, Guards string
				Except       []string
			}
		}
	}
	harness.RequireJSON(t, m.MustCLI("status", "--json"), &status)
	require.Len(t, status.Mounts[0].Parts, 1)
	require.Equal(t, "packages/{pkg}/**", status.Mounts[0].Parts[0].Guards)
}

// A part is stolen alone.
func TestAStealOfOnePartLeavesTheOthers(t *testing.T) {
	long := harness.Hasty
	long.Lease = harness.OnThisMachine(10 * time.Second) // one ends, and the other one must not end meanwhile
	m := parts(t, long)
	a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
	first, other := m.Acquire(a, "packages", "a"), m.Acquire(b, "packages", "b")
	a.Stop()
	m.Steal(c, "packages", "a")
	_, second := m.HeadClaim("packages.a")
	require.Equal(t, first.TokenNumber(t)+1, second.TokenNumber(t))
	_, still := m.HeadClaim("packages.b")
	require.Equal(t, []any{other.TokenNumber(t), other.HolderID}, []any{still.TokenNumber(t), still.HolderID})
	a.Resume()
	try(t, a, []attempt{{"who was robbed", write(m, "packages/a/f"), "EROFS"}, {"goes on beside it", write(m, "docs/f"), ""}})
	try(t, b, []attempt{{"the other part is held on", write(m, "packages/b/f"), ""}})
	try(t, c, []attempt{{"the new holder", write(m, "packages/a/f"), ""}, {"has that one only", write(m, "packages/b/f"), "EROFS"}})
}

// A daemon that follows a killed one knows both holders.
func TestHoldersOfPartsSurviveAKillOfTheDaemon(t *testing.T) {
	m := parts(t, harness.Calm)
	a, b, c := harness.StartActor(t, "a"), harness.StartActor(t, "b"), harness.StartActor(t, "c")
	m.Acquire(a, "packages", "a")
	try(t, b, []attempt{{"b takes its own by writing", write(m, "packages/b/f"), ""}})
	m.KillDaemon()
	m.Recover()
	try(t, c, []attempt{{"a is held", write(m, "packages/a/f"), "EROFS"}, {"b is held", write(m, "packages/b/f"), "EROFS"}, {"docs", write(m, "docs/f"), ""}})
	try(t, a, []attempt{{"a goes on", write(m, "packages/a/f"), ""}, {"in its own", write(m, "packages/b/f"), "EROFS"}})
	try(t, b, []attempt{{"b goes on", write(m, "packages/b/f"), ""}, {"in its own", write(m, "packages/a/f"), "EROFS"}})
}

// A snapshot of everything would not wait for the writers of parts, so it is refused. One of a part is not.
func TestQuiesceIsRefusedForATreeOfPartsAndGrantedForOne(t *testing.T) {
	m := parts(t, harness.Calm, "--mode", "exclusive")
	_, errs, exit := m.CLI("quiesce", m.At("docs"), "--", "true")
	require.Equal(t, harness.ExitUnquiet, exit, errs)
	require.Contains(t, errs, "rule packages gives directories of it leases of their own")
	m.MustCLI("quiesce", m.At("packages", "a"), "--", "true")
}
