package mountcfg

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultIsValid(t *testing.T) { require.NoError(t, Default().Validate()) }

func TestForOverridesTheMount(t *testing.T) {
	c := Default()
	c.Scope = "user"
	c.Worktrees = map[string]WorktreeRule{
		"a": {Mode: "shared"}, "b": {OnFree: "deny", Scope: "default"}, "c": {Scope: "mount"}, "d": {},
	}
	tests := map[string]WorktreeRule{
		"a":       {"shared", "acquire", "user", nil},
		"b":       {"exclusive", "deny", "", nil},
		"c":       {"exclusive", "acquire", "mount", nil},
		"d":       {"exclusive", "acquire", "user", nil},
		"unknown": {"exclusive", "acquire", "user", nil},
	}
	for id, want := range tests {
		require.Equal(t, want, c.For(id), id)
	}
}

func TestValidateRefuses(t *testing.T) {
	tests := map[string]struct {
		change func(*Config)
		want   string
	}{
		"mode":              {func(c *Config) { c.Mode = "" }, `mode "" (default): want exclusive or shared`},
		"relative path":     {func(c *Config) { c.Control = "x" }, `control "x" (default): want an absolute path`},
		"renew not shorter": {func(c *Config) { c.RenewInterval = c.LeaseDuration }, "must be shorter"},
		"no lease":          {func(c *Config) { c.LeaseDuration = 0 }, "want more than zero"},
		"negative skew":     {func(c *Config) { c.MaxClockSkew = -time.Second }, "want no less than zero"},
		"negative grace":    {func(c *Config) { c.StealGrace = -1 }, "want no less than zero"},
		"log below mount":   {func(c *Config) { c.Mountpoint, c.LogFile = "/m", "/m/..log" }, "outside of /m"},
		"metrics in mount":  {func(c *Config) { c.Source, c.Metrics = "/m", "unix:/m/s,mode=0666" }, "outside of /m"},
		"metrics":           {func(c *Config) { c.Metrics = "9750" }, `metrics "9750" (default): want unix:/PATH or HOST:PORT`},
		"log format":        {func(c *Config) { c.LogFormat = "xml" }, "want json or text"},
		"worktree id":       {func(c *Config) { c.Worktrees = map[string]WorktreeRule{"a b": {}} }, `worktree id "a b"`},
		"worktree mode":     {func(c *Config) { c.Worktrees = map[string]WorktreeRule{"a": {Mode: "x"}} }, `worktrees.a.mode "x"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Default()
			tt.change(&c)
			require.ErrorContains(t, c.Validate(), tt.want)
		})
	}
}

func TestWorktreeIDs(t *testing.T) {
	for _, id := range []string{"main", "a", "...", "-", "A_b.c-9", strings.Repeat("x", 128)} {
		require.NoError(t, checkWorktreeID(id), id)
	}
	for _, id := range []string{"", ".", "..", "a/b", "a b", "ä", "a\x00", "a\n", strings.Repeat("x", 129)} {
		require.Error(t, checkWorktreeID(id), id)
	}
}

func TestSetRemembersWhere(t *testing.T) {
	c := Default()
	other := c
	require.NoError(t, c.Set("source", "/srv/../srv/repo", WhereArgument))
	require.Equal(t, "/srv/repo", c.Source)
	require.Equal(t, Origin{"source", "/srv/repo", "argument"}, c.Origins()[0])
	require.Equal(t, Origin{"source", "", "default"}, other.Origins()[0], "copies are apart")

	require.ErrorContains(t, c.Set("mode", "x", WhereFlag), `mode "x" (flag): want exclusive or shared`)
	require.ErrorContains(t, c.Set("sorce", "/x", WhereFlag), "did you mean source?")
	require.Equal(t, "exclusive", c.Mode)
	require.NoError(t, c.Validate())
}

func TestDidYouMean(t *testing.T) {
	tests := map[string]string{
		"mode": "mode", "Mode": "mode", "mod": "mode", "lease-duration-ms": "lease_duration_ms", "worktree": "worktrees",
		"xyz": "", "": "", strings.Repeat("mode", 100): "",
	}
	for key, want := range tests {
		got := didYouMean(key, fieldKeys())
		if want == "" {
			require.Empty(t, got, key)
			continue
		}
		require.Equal(t, "; did you mean "+want+"?", got, key)
	}
}

// The usage of every flag is one line and names a placeholder.
func TestFlagUsages(t *testing.T) {
	for i := range fields {
		if usage := fields[i].usage; usage != "" {
			if fields[i].kind != kindBool { // which needs no value
				require.Equal(t, 2, strings.Count(usage, "`"), fields[i].key)
			}
			require.NotContains(t, usage, "\n")
		}
	}
}
