package mountcfg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// writeConfig writes text to a new file and returns its path.
func writeConfig(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jvsfs.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLoadReadsEveryField(t *testing.T) {
	path := writeConfig(t, `# a comment
source: /srv/repo
mountpoint: /mnt/repo
nosuid: true
nodev: true
noexec: true
nosymfollow: true
control: /run/jvsfs
mode: shared
enforce: observe
on_free: deny
scope: cgroup
errno: EACCES
cache: shared
cache_timeout: 0s
file_locks: mount
transport: dev
layout: tree
lease_duration: 1m
renew_interval: 20s
max_clock_skew: 0s
steal_grace: 250ms
log_file: logs/jvsfs.log   # beside this file
log_format: text
log_level: debug
metrics: 127.0.0.1:9750
worktrees:
  main: {mode: exclusive}
  "feature.1":
    on_free: allow
    scope: default
  empty: {}
`)
	c, err := Load(path)
	require.NoError(t, err)
	c.origins = nil
	require.Equal(t, Config{
		Source: "/srv/repo", Mountpoint: "/mnt/repo", Control: "/run/jvsfs",
		NoSUID: true, NoDev: true, NoExec: true, NoSymFollow: true,
		Layout: "tree", Mode: "shared", Enforce: "observe", OnFree: "deny", Scope: "cgroup", Errno: "EACCES",
		Cache:     "shared",
		FileLocks: "mount", Transport: "dev",
		LeaseDuration: time.Minute, RenewInterval: 20 * time.Second, StealGrace: 250 * time.Millisecond,
		LogFile: filepath.Join(filepath.Dir(path), "logs/jvsfs.log"), LogFormat: "text", LogLevel: "debug",
		Metrics: "127.0.0.1:9750",
		Worktrees: map[string]WorktreeRule{
			"main":      {Mode: "exclusive"},
			"feature.1": {OnFree: "allow", Scope: "default"},
			"empty":     {},
		},
	}, c)
}

func TestLoadOfNothingIsTheDefault(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "blank": "\n\n", "comment": "# nothing yet\n", "marker": "---\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load(writeConfig(t, text))
			require.NoError(t, err)
			require.Equal(t, Default(), c)
		})
	}
}

func TestLoadMilliseconds(t *testing.T) {
	c, err := Load(writeConfig(t, `
lease_duration_ms: 45000
renew_interval_ms: 1_500
max_clock_skew_ms: 0
steal_grace_ms: 1
`))
	require.NoError(t, err)
	require.Equal(t, 45*time.Second, c.LeaseDuration)
	require.Equal(t, 1500*time.Millisecond, c.RenewInterval)
	require.Zero(t, c.MaxClockSkew)
	require.Equal(t, time.Millisecond, c.StealGrace)
}

func TestLoadRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"unknown key":         {"mode: shared\nmood: bad\n", `:2:1: unknown key "mood"; did you mean mode?`},
		"dash for underscore": {"on-free: deny\n", `did you mean on_free?`},
		"unknown, far":        {"colour: red\n", `:1:1: unknown key "colour"` + "\n    1 | colour: red\n        ^"},
		"unknown of worktree": {"worktrees:\n  main:\n    errno: EIO\n", `:3:5: unknown key "errno" of worktree main`},
		"not a mapping":       {"- mode\n", `wants lines of 'key: value', not a list`},
		"bare word":           {"shared\n", `not the text "shared"`},
		"syntax":              {"mode: [shared\n", `:1:7: `},
		"duplicate":           {"mode: shared\nerrno: EIO\nmode: shared\n", `:3:1: `},
		"two documents":       {"mode: shared\n---\nmode: shared\n", `second document`},
		"bad mode":            {"mode: both\n", `:1:7: mode "both": want exclusive or shared`},
		"mode of a number":    {"mode: 7\n", `:1:7: mode wants a word, not the number 7`},
		"mode of nothing":     {"mode:\n", `mode wants a word, not nothing`},
		"mode of a list":      {"mode: [shared]\n", `mode wants a word, not a list`},
		"mode by anchor":      {"mode: &m shared\n", `not an anchor, alias or tag`},
		"enforce false":       {"enforce: false\n", `enforce "false": want enforce, observe or readonly: to look on`},
		"bad on_free":         {"on_free: maybe\n", `want acquire, deny or allow`},
		"bad scope":           {"scope: planet\n", `want default, tree, session, user, cgroup or mount`},
		"errno with a reason": {"errno: ESTALE\n", `errno "ESTALE": want EROFS, EACCES, EPERM, EBUSY or EIO: the kernel retries`},
		"errno, other":        {"errno: ENOTTY\n", `tools do not read it as 'you may not write here now'`},
		"duration, no unit":   {"lease_duration: 30\n", `:1:17: lease_duration wants a duration with a unit, such as 30s or 30ms`},
		"duration, zero":      {"lease_duration: 0s\n", `want more than zero`},
		"duration, negative":  {"steal_grace: -1s\n", `want no less than zero`},
		"duration, too fine":  {"renew_interval: 10us\n", `want whole milliseconds`},
		"duration, endless":   {"lease_duration: 100000h\n", `want at most 8760h0m0s`},
		"ms as text":          {"lease_duration_ms: 30s\n", `lease_duration_ms wants a whole number of milliseconds, not the text "30s"`},
		"ms as a fraction":    {"lease_duration_ms: 1.5\n", `not the number 1.5`},
		"ms, huge":            {"lease_duration_ms: 18446744073709551615\n", `wants at most`},
		"ms, negative":        {"lease_duration_ms: -5\n", `lease_duration_ms "-5": want more than zero`},
		"ms of no duration":   {"mode_ms: 5\n", `unknown key "mode_ms"`},
		"both spellings":      {"lease_duration: 30s\nlease_duration_ms: 30000\n", `:2:1: lease_duration is given both as lease_duration and as lease_duration_ms; first at `},
		"empty path":          {"source: ''\n", `want a path, not an empty value`},
		"path of a number":    {"source: 12\n", `source wants a path, not the number 12`},
		"switch":              {"nosuid: perhaps\n", `:1:9: nosuid "perhaps": want true or false`},
		"switch of a number":  {"nosuid: 1\n", `nosuid wants true or false, not the number 1`},
		"worktree id":         {"worktrees:\n  a/b: {mode: shared}\n", `:2:3: worktree id "a/b": want 1 to 128`},
		"worktree dots":       {"worktrees: {..: {mode: shared}}\n", `worktree id ".."`},
		"worktree rule":       {"worktrees:\n  main: shared\n", `worktree main wants lines`},
		"worktree mode":       {"worktrees:\n  main:\n    mode: both\n", `:3:11: mode "both"`},
		"worktree type":       {"worktrees:\n  main:\n    mode: yes please\n    scope: 1\n", `:4:12: scope wants a word`},
		"worktree twice":      {"worktrees:\n  main: {}\n  main: {}\n", `:3:3: `},
		"log in the mount":    {"source: /srv\nlog_file: /srv/x.log\n", `want a file outside of /srv`},
		"renew too slow":      {"lease_duration: 5s\n", `renew_interval 10s (default) must be shorter than lease_duration 5s (`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := writeConfig(t, tt.text)
			c, err := Load(path)
			require.ErrorContains(t, err, tt.want)
			require.Contains(t, err.Error(), path, "an error names the file unless it is about sums of values")
			require.Equal(t, Config{}, c)
		})
	}
}

func TestLoadReportsAllMistakesAtOnce(t *testing.T) {
	_, err := Load(writeConfig(t, "mode: both\nerrno: EGG\nnope: 1\n"))
	require.ErrorContains(t, err, ":1:7:")
	require.ErrorContains(t, err, ":2:8:")
	require.ErrorContains(t, err, ":3:1:")
}

func TestLoadPointsAtTheMistake(t *testing.T) {
	path := writeConfig(t, "errno: EIO\n\tmode: x\n")
	_, err := Load(path)
	var at *FileError
	require.ErrorAs(t, err, &at)
	require.Equal(t, path, at.File)
	require.Positive(t, at.Line)

	_, err = Load(writeConfig(t, "# größe\nmode: größe\n"))
	require.ErrorContains(t, err, "\n    2 | mode: größe\n              ^")
}

func TestLoadOfUnreadableFiles(t *testing.T) {
	_, err := Load(filepath.Join(t.TempDir(), "absent.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)

	_, err = Load(t.TempDir())
	require.Error(t, err)

	_, err = Load(writeConfig(t, "#"+strings.Repeat("x", maxFileSize)))
	require.ErrorContains(t, err, "is larger than")
}

func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "mode: shared\n", "worktrees:\n  main: {mode: exclusive, on_free: deny}\n", "lease_duration: 1h\nrenew_interval_ms: 5\n",
		"enforce: true\n", "a: &a {b: *a}\n", "? [x]\n: y\n", "ro: true\nnosuid: false\n", "mode: |\n  shared\n", "<<: {mode: shared}\n", "\x00", "---\n---\n", "!!str x: y",
		"rules: [git, {preset: jit, without: deny}, {name: a, lock: '{d...}/l', taken_by: flock, guards: ['{d...}/x'], break: {after: 2h}}]\n",
		"rules:\n  - gti\n  - preset: git\n    guards: [1, []]\n    break: {gone: 7}\n  - {}\n", "rules: {a: b}\n", "rules: [*x, !!y z, {{}: 1}, [git]]\n",
		"exempt: ['**/a/**', .git/x]\nexempt_git: true\nworktrees: {a: {exempt: []}}\n", "exempt:\n  - '[a'\n  - {b: c}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse("fuzz.yaml", "/base", data)
		if err != nil {
			require.Contains(t, err.Error(), "fuzz.yaml")
			return
		}
		if c.Validate() != nil {
			return
		}
		require.Less(t, c.RenewInterval, c.LeaseDuration)
		for _, o := range c.Origins() {
			require.True(t, o.Where == WhereDefault || strings.HasPrefix(o.Where, "fuzz.yaml:") || strings.HasPrefix(o.Where, "preset "), o)
		}
		for id := range c.Worktrees {
			rule := c.For(id)
			require.Contains(t, modes.words, rule.Mode)
			require.Contains(t, onFrees.words, rule.OnFree)
			require.NotEqual(t, scopeDefault, rule.Scope)
		}
	})
}
