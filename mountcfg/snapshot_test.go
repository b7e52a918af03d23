package mountcfg

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// changed is a configuration in which every value differs from its default.
func changed(t *testing.T) Config {
	t.Helper()
	c := Default()
	for i := range fields {
		f := &fields[i]
		for _, text := range []string{"/srv/" + f.key, "42s", "7s", "shared", "observe", "deny", "user", "EACCES", "exclusive", "mount", "uring", "text", "debug", "127.0.0.1:9", "true", "tree"} {
			next := c
			if f.set(&next, text, "") == nil && f.get(&next) != f.get(&c) {
				c = next
				break
			}
		}
	}
	c.LeaseDuration, c.RenewInterval = time.Minute, 20*time.Second
	c.Etcd = Etcd{"https://a:1", "/jvsfs/x", "/srv/ca", "/srv/cert", "/srv/key", "ann", "/srv/password"}
	c.Enforce = "readonly" // what goes with ro
	c.Rules = []LockRule{everyKey()}
	c.Fence = []string{"/sbin/fence_it", "port=1"}
	c.Worktrees = map[string]WorktreeRule{"a": {Mode: "shared", OnFree: "deny", Scope: "tree"}}
	return c
}

// A value that a snapshot drops would be different after a recovery.
func TestSnapshotKeepsEveryValue(t *testing.T) {
	c, defaults := changed(t), Default()
	for i := range reflect.TypeFor[Config]().NumField() {
		f := reflect.TypeFor[Config]().Field(i)
		if f.IsExported() {
			require.NotEqual(t, reflect.ValueOf(defaults).Field(i).Interface(), reflect.ValueOf(c).Field(i).Interface(),
				"give %s another value than the default's", f.Name)
		}
	}
	raw, err := c.Snapshot()
	require.NoError(t, err)
	got, err := Restore(raw, "the state file")
	require.NoError(t, err)
	got.origins = nil
	require.Equal(t, c, got)
	got, err = Restore(raw, "the state file")
	require.NoError(t, err)
	require.Equal(t, "the state file", got.where("on_free"))
}

// A release refuses what it does not know. So what is newer than the last one is written only where somebody has asked for it, or the
// earlier daemon could not follow this one.
func TestASnapshotOfDefaultsSaysNothingNew(t *testing.T) {
	raw, err := Default().Snapshot()
	require.NoError(t, err)
	for _, field := range []string{"Transport", "Fence", "FenceSelf", "LocalOnly", "Etcd", "Rules"} {
		require.NotContains(t, string(raw), field)
	}
	got, err := Restore(raw, "x")
	require.NoError(t, err)
	require.Equal(t, "auto", got.Transport)
}

func TestRestoreTrustsNothing(t *testing.T) {
	for _, raw := range []string{``, `{`, `[]`, `{"Mode":"chaos"}`, `{"Source":"relative"}`, `{"NoSuchField":1}`,
		`{"LeaseDuration":1000000,"RenewInterval":2000000}`, `{"Worktrees":{"../x":{}}}`} {
		_, err := Restore([]byte(raw), "x")
		require.Error(t, err, raw)
	}
}
