package daemon

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// A mistake in the configuration is told with its place, and nothing is
// mounted.
func TestAMistakeInTheConfigurationMountsNothing(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	for _, c := range []struct{ text, want string }{
		{"enforce: enforce\nlease_durations: 30s\n", `:2:1: unknown key "lease_durations"`},
		{"scope: tree\nworktrees:\n  main:\n    modus: shared\n", `:4:5: `},
		{"worktrees:\n  ../x:\n    mode: shared\n", `:2:3: `},
		{"on_free: perhaps\n", `:1:10: `},
		{"lease_duration: 5s\nrenew_interval: 6s\n", "renew_interval"},
		{"errno: ESTALE\n", "ESTALE"},
		{"scope: [tree\n", ":1:"},
	} {
		file := m.WriteConfig("c.yaml", c.text)
		_, errs, exit := m.CLI("mount", "--config", file, "--control", m.LockDir, m.Source, m.Mountpoint)
		require.Equal(t, harness.ExitUsage, exit, "%s\n%s", c.text, errs)
		require.Contains(t, errs, c.want, c.text)
		require.Contains(t, errs, "jvsfs: E_USAGE: ")
		require.Empty(t, harness.TopType(t, m.Mountpoint))
	}
}

// The values of the file hold, and flags win over them.
func TestTheConfigurationFileHoldsAndFlagsWinOverIt(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	file := m.WriteConfig("c.yaml", "# times in two ways\nlease_duration_ms: 20000\nrenew_interval: 4s\non_free: allow\nerrno: EPERM\nscope: user\n")
	m.Opts.Policy = harness.Policy{}
	m.Mounted, m.WasMounted = true, true
	m.MustCLI("mount", "--config", file, "--control", m.LockDir, "--errno", "EBUSY", "--on-free", "deny", "--log-file", m.LogFile(), m.Source, m.Mountpoint)
	a := harness.StartActor(t, "a")
	a.Fails(m.Put("f"), "EBUSY")
	r := m.Acquire(a)
	require.Equal(t, int64(20), int64(r.ExpiresAt.Sub(r.RenewedAt).Seconds()))
	a.OK(m.Put("f"))
	harness.StartActor(t, "another session of the user").OK(m.Put("f"))
}

// --errno is what every refusal answers with, by path and by descriptor.
func TestErrnoOfTheOptionIsThatOfEveryRefusal(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{OnFree: "deny", Prepare: harness.WithFiles("f"), Extra: []string{"--errno", "EACCES"}})
	a, b := harness.StartActor(t, "a"), harness.StartActor(t, "b")
	b.Fails(m.Put("f"), "EACCES")
	m.Acquire(a)
	a.OK(harness.Command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	b.Fails(m.Put("f"), "EACCES")
	b.Fails(harness.Command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EACCES")
	b.Fails(harness.Command{Op: "chmod", Path: m.At("f"), Mode: 0o600}, "EACCES")
	b.Fails(m.Move("f", "g"), "EACCES")
	m.Release(a)
	a.Fails(harness.Command{Op: "write", Handle: "f", Data: []byte("x")}, "EACCES")
	_, errs, exit := m.CLI("mount", "--errno", "ENOENT", m.Source)
	require.Equal(t, harness.ExitUsage, exit, errs)
}

// A name that leads out of the repository is no worktree: nothing is made of
// it, in the lock directory or beside it.
func TestANameThatLeadsOutOfTheRepositoryIsNoWorktree(t *testing.T) {
	m := harness.NewMount(t, harness.MountOptions{Repository: true, OnFree: "deny", Prepare: harness.WithFiles("f")})
	a := harness.StartActor(t, "a")
	before := m.Digest()
	for _, path := range []string{"", "/", "/.", "/worktrees", "/.jvs", "/.jvs/locks", "/worktrees/..", "/worktrees/a/..",
		"/worktrees/a/../../worktrees/..", "/worktrees/a/../..", "/main/../worktrees", "/worktrees/bad name", "/worktrees/b?d/f"} {
		_, errs, exit := m.CLI("lock", "acquire", "--pid", strconv.Itoa(a.PID()), m.Mountpoint+path)
		require.Equal(t, harness.ExitUsage, exit, "%s: %s", path, errs)
		_, errs, exit = m.CLI("exec", m.Mountpoint+path, "--", "true")
		require.Equal(t, harness.ExitUsage, exit, "%s: %s", path, errs)
	}
	require.Empty(t, before.Diff(m.Digest()))
	entries, err := os.ReadDir(m.LockDir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), "claim")
	}
	// ".." counts by its meaning: this is main.
	m.MustCLI("lock", "status", m.Mountpoint+"/worktrees/../main")
}
