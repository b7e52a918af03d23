package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const exitUsage = 2

func (m *mount) writeConfig(name, text string) string {
	m.t.Helper()
	path := filepath.Join(m.base, name)
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// A mistake in the configuration is told with its place, and nothing is
// mounted.
func TestConfigMistakes(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	for _, c := range []struct{ text, want string }{
		{"enforce: enforce\nlease_durations: 30s\n", `:2:1: unknown key "lease_durations"`},
		{"scope: tree\nworktrees:\n  main:\n    modus: shared\n", `:4:5: `},
		{"worktrees:\n  ../x:\n    mode: shared\n", `:2:3: `},
		{"on_free: perhaps\n", `:1:10: `},
		{"lease_duration: 5s\nrenew_interval: 6s\n", "renew_interval"},
		{"errno: ESTALE\n", "ESTALE"},
		{"scope: [tree\n", ":1:"},
	} {
		file := m.writeConfig("c.yaml", c.text)
		_, errs, exit := m.CLI("mount", "--config", file, "--control", m.LockDir, m.Source, m.Mountpoint)
		require.Equal(t, exitUsage, exit, "%s\n%s", c.text, errs)
		require.Contains(t, errs, c.want, c.text)
		require.Contains(t, errs, "jvsfs: E_USAGE: ")
		require.Empty(t, topType(t, m.Mountpoint))
	}
}

// What the file says holds, and flags win over it.
func TestConfigFile(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	file := m.writeConfig("c.yaml", "# times in two ways\nlease_duration_ms: 20000\nrenew_interval: 4s\non_free: allow\nerrno: EPERM\nscope: user\n")
	m.opts.policy = policy{}
	m.mounted, m.wasMounted = true, true
	m.cliOK("mount", "--config", file, "--control", m.LockDir, "--errno", "EBUSY", "--on-free", "deny", "--log-file", m.logFile(), m.Source, m.Mountpoint)
	a := startActor(t, "a")
	a.fails(m.put("f"), "EBUSY")
	r := m.acquire(a)
	require.Equal(t, int64(20), int64(r.ExpiresAt.Sub(r.RenewedAt).Seconds()))
	a.ok(m.put("f"))
	startActor(t, "another session of the user").ok(m.put("f"))
}

// --errno is what every refusal answers with, by path and by descriptor.
func TestErrno(t *testing.T) {
	m := newMount(t, mountOptions{onFree: "deny", prepare: withFiles("f"), extra: []string{"--errno", "EACCES"}})
	a, b := startActor(t, "a"), startActor(t, "b")
	b.fails(m.put("f"), "EACCES")
	m.acquire(a)
	a.ok(command{Op: "open", Handle: "f", Path: m.At("f"), Flags: unix.O_WRONLY})
	b.fails(m.put("f"), "EACCES")
	b.fails(command{Op: "mkdir", Path: m.At("d"), Mode: 0o755}, "EACCES")
	b.fails(command{Op: "chmod", Path: m.At("f"), Mode: 0o600}, "EACCES")
	b.fails(m.move("f", "g"), "EACCES")
	m.release(a)
	a.fails(command{Op: "write", Handle: "f", Data: []byte("x")}, "EACCES")
	_, errs, exit := m.CLI("mount", "--errno", "ENOENT", m.Source)
	require.Equal(t, exitUsage, exit, errs)
}

// A name that leads out of the repository is no worktree: nothing is made of
// it, in the lock directory or beside it.
func TestWorktreeNames(t *testing.T) {
	m := newMount(t, mountOptions{repository: true, onFree: "deny", prepare: withFiles("f")})
	a := startActor(t, "a")
	before := m.digest()
	for _, path := range []string{"", "/", "/.", "/worktrees", "/.jvs", "/.jvs/locks", "/worktrees/..", "/worktrees/a/..",
		"/worktrees/a/../../worktrees/..", "/worktrees/a/../..", "/main/../worktrees", "/worktrees/bad name", "/worktrees/b?d/f"} {
		_, errs, exit := m.CLI("lock", "acquire", "--pid", strconv.Itoa(a.pid()), m.Mountpoint+path)
		require.Equal(t, exitUsage, exit, "%s: %s", path, errs)
		_, errs, exit = m.CLI("exec", m.Mountpoint+path, "--", "true")
		require.Equal(t, exitUsage, exit, "%s: %s", path, errs)
	}
	require.Empty(t, before.diff(m.digest()))
	entries, err := os.ReadDir(m.LockDir)
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, e.Name(), "claim")
	}
	// ".." counts by its meaning: this is main.
	m.cliOK("lock", "status", m.Mountpoint+"/worktrees/../main")
}
