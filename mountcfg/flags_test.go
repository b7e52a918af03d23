package mountcfg

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// parseFlags returns a parsed flag set of a mount command.
func parseFlags(t *testing.T, args ...string) (*pflag.FlagSet, error) {
	t.Helper()
	fs := pflag.NewFlagSet("mount", pflag.ContinueOnError)
	c := Default()
	c.AddFlags(fs)
	fs.Bool("foreground", false, "a flag of somebody else")
	return fs, fs.Parse(args)
}

func TestFlagsSetTheSameAsTheFile(t *testing.T) {
	fs, err := parseFlags(t, "--control=/run/x", "--mode", "shared", "--enforce=readonly", "--on-free=allow", "--scope=user",
		"--errno=EBUSY", "--cache=exclusive", "--cache-timeout=5s", "--file-locks=mount", "--transport=dev", "--layout=jvs-folder", "--lease-duration=1m", "--renew-interval=15s", "--max-clock-skew=0", "--steal-grace=5ms", "--log-file=/var/log/x", "--log-format=text", "--log-level=warn", "--metrics=unix:/run/x.sock,mode=0660")
	require.NoError(t, err)
	byFlag, err := Resolve("", fs)
	require.NoError(t, err)
	byFile, err := Load(writeConfig(t, `
control: /run/x
mode: shared
enforce: readonly
on_free: allow
scope: user
errno: EBUSY
cache: exclusive
cache_timeout: 5s
file_locks: mount
transport: dev
layout: jvs-folder
lease_duration: 1m
renew_interval: 15s
max_clock_skew: "0"
steal_grace: 5ms
log_file: /var/log/x
log_format: text
log_level: warn
metrics: unix:/run/x.sock,mode=0660
`))
	require.NoError(t, err)
	byFlag.origins, byFile.origins = nil, nil
	require.Equal(t, byFile, byFlag)
}

func TestFlagErrorsNameFlagValueAndChoices(t *testing.T) {
	tests := map[string]string{
		"--mode=both":            `invalid argument "both" for "--mode" flag: want exclusive or shared`,
		"--enforce=":             `for "--enforce" flag: want enforce, observe or readonly`,
		"--enforce":              `flag needs an argument: --enforce`,
		"--on-free=no":           `invalid argument "no" for "--on-free" flag: want acquire, deny or allow`,
		"--scope=planet":         `want default, tree, session, user, cgroup or mount`,
		"--errno=ESTALE":         `invalid argument "ESTALE" for "--errno" flag: want EROFS, EACCES, EPERM, EBUSY or EIO: the kernel retries`,
		"--cache=none":           `invalid argument "none" for "--cache" flag: want auto, shared or exclusive`,
		"--cache-timeout=-1s":    `want no less than zero`,
		"--lease-duration=30":    `invalid argument "30" for "--lease-duration" flag: want a duration such as 30s`,
		"--lease-duration=0s":    `want more than zero`,
		"--max-clock-skew=-1s":   `want no less than zero`,
		"--control=":             `want a path, not an empty value`,
		"--lease-duration-ms=30": `unknown flag`,
		"--source=/x":            `unknown flag`,
	}
	for arg, want := range tests {
		t.Run(arg, func(t *testing.T) {
			_, err := parseFlags(t, arg)
			require.ErrorContains(t, err, want)
		})
	}
}

func TestEnforceAcceptsTrue(t *testing.T) {
	fs, err := parseFlags(t, "--enforce=true")
	require.NoError(t, err)
	c, err := Resolve(writeConfig(t, "enforce: true\n"), fs)
	require.NoError(t, err)
	require.Equal(t, "enforce", c.Enforce)
}

func TestResolvePrecedence(t *testing.T) {
	path := writeConfig(t, "mode: shared\nerrno: EIO\nworktrees:\n  main: {mode: exclusive}\n")
	fs, err := parseFlags(t, "--errno=EPERM", "--scope=default", "--foreground")
	require.NoError(t, err)
	c, err := Resolve(path, fs)
	require.NoError(t, err)
	require.Equal(t, "shared", c.Mode, "file over default")
	require.Equal(t, "EPERM", c.Errno, "flag over file")
	require.Equal(t, "acquire", c.OnFree, "default")
	require.Equal(t, []Origin{
		{"source", "", "default"}, {"mountpoint", "", "default"},
		{"ro", "false", "default"}, {"nosuid", "false", "default"}, {"nodev", "false", "default"},
		{"noexec", "false", "default"}, {"nosymfollow", "false", "default"}, {"control", "", "default"},
		{"layout", "auto", "default"}, {"repository", "", "default"}, {"mode", "shared", path + ":1"},
		{"enforce", "enforce", "default"}, {"on_free", "acquire", "default"},
		{"scope", "default", "flag"}, {"wait_on_conflict", "0s", "default"}, {"errno", "EPERM", "flag"},
		{"cache", "auto", "default"}, {"cache_timeout", "1s", "default"}, {"file_locks", "everywhere", "default"}, {"transport", "auto", "default"},
		{"lease_duration", "30s", "default"}, {"renew_interval", "10s", "default"},
		{"max_clock_skew", "2s", "default"}, {"steal_grace", "1s", "default"}, {"log_file", "", "default"},
		{"log_format", "json", "default"}, {"log_level", "info", "default"}, {"metrics", "", "default"},
		{"exempt", "", "default"}, {"exempt_git", "false", "default"}, {"fence", "", "default"}, {"fence_self", "false", "default"}, {"rely_on_fence", "false", "default"},
		{"etcd", "", "default"}, {"etcd_prefix", "", "default"}, {"etcd_ca", "", "default"}, {"etcd_cert", "", "default"}, {"etcd_key", "", "default"},
		{"etcd_user", "", "default"}, {"etcd_password_file", "", "default"}, {"local_only", "false", "default"},
		{"rules", "", "default"},
		{"worktrees.main.mode", "exclusive", path + ":4"},
	}, c.Origins())
}

func TestResolveValidatesTheWhole(t *testing.T) {
	path := writeConfig(t, "lease_duration: 5s\n")
	_, err := Resolve(path, nil)
	require.ErrorContains(t, err, "renew_interval 10s (default) must be shorter than lease_duration 5s ("+path+":1)")

	fs, err := parseFlags(t, "--renew-interval=1s")
	require.NoError(t, err)
	c, err := Resolve(path, fs)
	require.NoError(t, err, "the flag repairs what the file alone would break")
	require.Equal(t, time.Second, c.RenewInterval)
}

func TestResolveOfAnAbsentFile(t *testing.T) {
	_, err := Resolve(filepath.Join(t.TempDir(), "absent.yaml"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestRelativePathsOfFlagsStartAtTheWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	cwd, err := os.Getwd()
	require.NoError(t, err)
	fs, err := parseFlags(t, "--control=locks/../run")
	require.NoError(t, err)
	c, err := Resolve("", fs)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cwd, "run"), c.Control)
}
