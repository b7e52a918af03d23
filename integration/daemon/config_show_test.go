package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/integration/harness"
)

// Each value is shown with the place that it came from; a living mount is asked itself,
// by anybody.
func TestConfigShowNamesWhereEachValueCameFrom(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{Prepare: harness.WithFiles("f")})
	file := m.WriteConfig("c.yaml", "scope: user\nerrno: EPERM\nworktrees:\n  main: {mode: shared}\n")
	args := []string{"--config", file, "-o", "errno=EBUSY,nosuid", "--on-free", "deny", m.Source, m.Mountpoint}
	before := m.Origins(args...)
	for key, want := range map[string][2]string{
		"source": {m.Source, "argument"}, "mountpoint": {m.Mountpoint, "argument"}, "scope": {"user", file + ":1"},
		"errno": {"EBUSY", "-o option"}, "nosuid": {"true", "-o option"}, "on_free": {"deny", "flag"}, "mode": {"exclusive", "default"},
		"worktrees.main.mode": {"shared", file + ":4"},
	} {
		require.Equal(t, want, before[key], key)
	}
	require.Regexp(t, `(?m)^KEY +VALUE +FROM\n(.*\n)*errno +EBUSY +-o option\n(.*\n)*log_file +- +default$`, m.MustCLI(append([]string{"config", "show"}, args...)...))
	require.Empty(t, harness.TopType(t, m.Mountpoint), "showing mounts nothing")

	m.Opts.Extra = args[:6]
	m.Mount()
	living := m.Origins(m.Mountpoint)
	for _, key := range []string{"source", "mountpoint", "scope", "errno", "nosuid", "on_free", "mode", "worktrees.main.mode"} {
		require.Equal(t, before[key], living[key], key)
	}
	require.Equal(t, [2]string{m.LogFile(), "flag"}, living["log_file"])
	w := harness.Workshop{T: t, Dir: "/", Prefix: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}}
	require.Contains(t, w.OK(m.Bin, "config", "show", m.Mountpoint), file+":4")
	_, errs, exit := m.CLI("config", "show", "--mode", "shared", m.Mountpoint)
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "is mounted already")
}

// A mistake is shown in its line.
func TestConfigCheckShowsTheLineOfAMistake(t *testing.T) {
	m := harness.PrepareMount(t, harness.MountOptions{})
	good, bad := m.WriteConfig("good.yaml", "source: /srv\n"), m.WriteConfig("bad.yaml", "errno: EIO\nmoed: shared\n")
	require.Equal(t, good+": ok\n", m.MustCLI("config", "check", good))
	out, errs, exit := m.CLI("config", "check", bad, good)
	require.Equal(t, harness.ExitUsage, exit)
	require.Equal(t, good+": ok\n", out)
	require.Contains(t, errs, bad+":2:1: unknown key \"moed\"; did you mean mode?\n    2 | moed: shared\n        ^\n")

	late := m.WriteConfig("late.yaml", "lease_duration: 5s\nrenew_interval: 6s\n")
	out, errs, exit = m.CLI("config", "check", "--json", bad, good, late)
	require.Equal(t, harness.ExitUsage, exit)
	require.Empty(t, errs)
	require.JSONEq(t, `{"ok": false, "files": [
		{"file": "`+bad+`", "ok": false, "mistakes": [{"line": 2, "column": 1, "message": "unknown key \"moed\"; did you mean mode?"}]},
		{"file": "`+good+`", "ok": true, "source": "/srv"},
		{"file": "`+late+`", "ok": false, "mistakes": [
			{"message": "renew_interval 6s (`+late+`:2) must be shorter than lease_duration 5s (`+late+`:1)"}]}]}`, out)
	require.JSONEq(t, `{"ok": true, "files": [{"file": "`+good+`", "ok": true, "source": "/srv"}]}`, m.MustCLI("config", "check", "--json", good))

	_, errs, exit = m.CLI("config", "show", "-o", "nosiud")
	require.Equal(t, harness.ExitUsage, exit)
	require.Contains(t, errs, "did you mean nosuid?")
}
