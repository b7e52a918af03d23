package integration

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// origins are what config show says: value and place by key.
func (m *mount) origins(args ...string) map[string][2]string {
	m.t.Helper()
	var view struct {
		Values []struct{ Key, Value, Where string }
	}
	require.NoError(m.t, json.Unmarshal([]byte(m.cliOK(append([]string{"config", "show", "--json"}, args...)...)), &view))
	all := map[string][2]string{}
	for _, v := range view.Values {
		all[v.Key] = [2]string{v.Value, v.Where}
	}
	return all
}

// Each value is shown with the place that it came from; a living mount is asked itself,
// by anybody.
func TestConfigShow(t *testing.T) {
	m := prepareMount(t, mountOptions{prepare: withFiles("f")})
	file := m.writeConfig("c.yaml", "scope: user\nerrno: EPERM\nworktrees:\n  main: {mode: shared}\n")
	args := []string{"--config", file, "-o", "errno=EBUSY,nosuid", "--on-free", "deny", m.Source, m.Mountpoint}
	before := m.origins(args...)
	for key, want := range map[string][2]string{
		"source": {m.Source, "argument"}, "mountpoint": {m.Mountpoint, "argument"}, "scope": {"user", file + ":1"},
		"errno": {"EBUSY", "-o option"}, "nosuid": {"true", "-o option"}, "on_free": {"deny", "flag"}, "mode": {"exclusive", "default"},
		"worktrees.main.mode": {"shared", file + ":4"},
	} {
		require.Equal(t, want, before[key], key)
	}
	require.Regexp(t, `(?m)^KEY +VALUE +FROM\n(.*\n)*errno +EBUSY +-o option\n(.*\n)*log_file +- +default$`, m.cliOK(append([]string{"config", "show"}, args...)...))
	require.Empty(t, topType(t, m.Mountpoint), "showing mounts nothing")

	m.opts.extra = args[:6]
	m.mount()
	living := m.origins(m.Mountpoint)
	for _, key := range []string{"source", "mountpoint", "scope", "errno", "nosuid", "on_free", "mode", "worktrees.main.mode"} {
		require.Equal(t, before[key], living[key], key)
	}
	require.Equal(t, [2]string{m.logFile(), "flag"}, living["log_file"])
	w := workshop{t: t, dir: "/", prefix: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}}
	require.Contains(t, w.ok(m.bin, "config", "show", m.Mountpoint), file+":4")
	_, errs, exit := m.CLI("config", "show", "--mode", "shared", m.Mountpoint)
	require.Equal(t, exitUsage, exit)
	require.Contains(t, errs, "is mounted already")
}

// A mistake is shown in its line.
func TestConfigCheck(t *testing.T) {
	m := prepareMount(t, mountOptions{})
	good, bad := m.writeConfig("good.yaml", "source: /srv\n"), m.writeConfig("bad.yaml", "errno: EIO\nmoed: shared\n")
	require.Equal(t, good+": ok\n", m.cliOK("config", "check", good))
	out, errs, exit := m.CLI("config", "check", bad, good)
	require.Equal(t, exitUsage, exit)
	require.Equal(t, good+": ok\n", out)
	require.Contains(t, errs, bad+":2:1: unknown key \"moed\"; did you mean mode?\n    2 | moed: shared\n        ^\n")

	late := m.writeConfig("late.yaml", "lease_duration: 5s\nrenew_interval: 6s\n")
	out, errs, exit = m.CLI("config", "check", "--json", bad, good, late)
	require.Equal(t, exitUsage, exit)
	require.Empty(t, errs)
	require.JSONEq(t, `{"ok": false, "files": [
		{"file": "`+bad+`", "ok": false, "mistakes": [{"line": 2, "column": 1, "message": "unknown key \"moed\"; did you mean mode?"}]},
		{"file": "`+good+`", "ok": true, "source": "/srv"},
		{"file": "`+late+`", "ok": false, "mistakes": [
			{"message": "renew_interval 6s (`+late+`:2) must be shorter than lease_duration 5s (`+late+`:1)"}]}]}`, out)
	require.JSONEq(t, `{"ok": true, "files": [{"file": "`+good+`", "ok": true, "source": "/srv"}]}`, m.cliOK("config", "check", "--json", good))

	_, errs, exit = m.CLI("config", "show", "-o", "nosiud")
	require.Equal(t, exitUsage, exit)
	require.Contains(t, errs, "did you mean nosuid?")
}
