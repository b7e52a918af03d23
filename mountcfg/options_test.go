package mountcfg

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// resolved returns the configuration for a list of mount options.
func resolved(t *testing.T, text string) Config {
	t.Helper()
	opts, err := ParseOptions(text)
	require.NoError(t, err, text)
	c, err := ResolveOptions("", opts, nil)
	require.NoError(t, err, text)
	return c
}

// Every key of the configuration is an option, with - and with _.
func TestOptionsSetTheSameAsTheFile(t *testing.T) {
	values := map[string]string{
		"source": "/srv/repo", "mountpoint": "/mnt/repo", "control": "/run/x", "mode": "shared", "enforce": "observe",
		"on_free": "allow", "scope": "user", "errno": "EBUSY", "cache": "exclusive", "cache_timeout": "5s", "file_locks": "mount", "transport": "uring", "layout": "jvs",
		"lease_duration": "1m", "renew_interval": "15s", "max_clock_skew": "0s", "steal_grace": "5ms", "log_file": "/var/log/x",
		"nosuid": "true", "nodev": "true", "noexec": "true", "nosymfollow": "true",
	}
	var items, lines []string
	for key, value := range values {
		items = append(items, strings.ReplaceAll(key, "_", "-")+"="+value)
		quoted := `"` + value + `"`
		if value == "true" {
			quoted = value
		}
		lines = append(lines, key+": "+quoted)
	}
	byOption := resolved(t, strings.Join(items, ","))
	require.Equal(t, byOption, resolved(t, strings.ReplaceAll(strings.Join(items, ","), "-", "_")))
	byFile, err := Load(writeConfig(t, strings.Join(lines, "\n")+"\n"))
	require.NoError(t, err)
	byOption.origins, byFile.origins = nil, nil
	require.Equal(t, byFile, byOption)
}

func TestOptionsRemember(t *testing.T) {
	require.Contains(t, resolved(t, "mode=shared").Origins(), Origin{"mode", "shared", "-o option"})
	require.Equal(t, 1500*time.Millisecond, resolved(t, "renew_interval_ms=1500").RenewInterval)
	require.Equal(t, "deny", resolved(t, "on_free=allow,on-free=deny").OnFree, "the last one holds")
}

// Options of other programs and other file systems in fstab are no mistake.
func TestOptionsAcceptWhatIsHarmless(t *testing.T) {
	for _, text := range []string{
		"", ",", "rw,defaults,auto,nofail,_netdev", "noauto,nouser,nousers,noowner,nogroup", "x-systemd.automount,x-systemd.requires=a.service",
		"X-mount.mkdir=0755", "comment=by hand", "atime,noatime,relatime,strictatime,nodiratime,lazytime", "async,silent,loud",
		"allow_other,default_permissions,nonempty,subtype=jvsfs", "user=alice", "dev,suid,exec,symfollow",
	} {
		c := resolved(t, text)
		c.origins = nil
		require.Equal(t, Default(), c, text)
	}
}

func TestOptionsHonourAttributes(t *testing.T) {
	type attrs struct{ ro, suid, dev, exec, link bool }
	for text, want := range map[string]attrs{
		"ro": {ro: true}, "ro,rw": {}, "rw,ro": {ro: true}, "ro=true": {ro: true}, "ro=false": {},
		"nosuid": {suid: true}, "nodev,noexec": {dev: true, exec: true}, "nosymfollow": {link: true},
		"nosuid,suid": {}, "suid,nosuid": {suid: true},
		"user": {suid: true, dev: true, exec: true}, "users": {suid: true, dev: true, exec: true},
		"user,exec,dev": {suid: true}, "exec,user": {suid: true, dev: true, exec: true},
		"owner": {suid: true, dev: true}, "group,dev": {suid: true},
	} {
		c := resolved(t, text)
		require.Equal(t, want, attrs{c.ReadOnly, c.NoSUID, c.NoDev, c.NoExec, c.NoSymFollow}, text)
		require.Equal(t, c.ReadOnly, c.Enforce == "readonly", text)
	}
}

// ro decides about enforce, unless an equally strong source has set it.
func TestReadOnlyAndEnforce(t *testing.T) {
	observing := writeConfig(t, "enforce: observe\n")
	opts, err := ParseOptions("ro")
	require.NoError(t, err)
	c, err := ResolveOptions(observing, opts, nil)
	require.NoError(t, err)
	require.Contains(t, c.Origins(), Origin{"enforce", "readonly", "-o option"})

	// mount(8) passes rw by itself; dev and suid come from mount.fuse3.
	opts, err = ParseOptions("rw,dev,suid")
	require.NoError(t, err)
	locked := writeConfig(t, "ro: true\nnosuid: true\n")
	c, err = ResolveOptions(locked, opts, nil)
	require.NoError(t, err)
	require.True(t, c.ReadOnly && c.NoSUID, "no word against the file")
	require.Contains(t, c.Origins(), Origin{"enforce", "readonly", locked + ":1"})

	opts, err = ParseOptions("ro=false,nosuid=false")
	require.NoError(t, err)
	c, err = ResolveOptions(locked, opts, nil)
	require.NoError(t, err)
	require.False(t, c.ReadOnly || c.NoSUID)
	require.Equal(t, "enforce", c.Enforce)

	_, err = Load(writeConfig(t, "ro: true\nenforce: observe\n"))
	require.ErrorContains(t, err, "contradict each other")
	opts, err = ParseOptions("ro,enforce=enforce")
	require.NoError(t, err)
	_, err = ResolveOptions("", opts, nil)
	require.ErrorContains(t, err, "ro (-o option) and enforce enforce (-o option) contradict each other")
	flags, err := parseFlags(t, "--enforce=observe")
	require.NoError(t, err)
	opts, err = ParseOptions("ro")
	require.NoError(t, err)
	_, err = ResolveOptions("", opts, flags)
	require.ErrorContains(t, err, "contradict each other")
}

func TestOptionsQuoting(t *testing.T) {
	for text, want := range map[string]string{
		`control=/a\,b`:            "/a,b",
		`control="/a,b"`:           "/a,b",
		`control=/a"\","b,nosuid`:  `/a",b`,
		`control=/a\\b`:            `/a\b`,
		`control=/a\b`:             `/a\b`,
		`control=/a=b`:             "/a=b",
		`"control"=/x`:             "/x",
		`control=/a b$(touch x);'`: "/a b$(touch x);'",
		`control=/a\`:              `/a\`,
	} {
		require.Equal(t, want, resolved(t, text).Control, text)
	}
}

func TestOptionsRefuse(t *testing.T) {
	for text, want := range map[string]string{
		"nosiud":                  `mount option "nosiud": jvsfs does not know it; did you mean nosuid?`,
		"lease-durations=1s":      `mount option "lease-durations": jvsfs does not know it; did you mean lease_duration?`,
		"uid=1000":                `mount option "uid": jvsfs does not know it`,
		"mode":                    `mount option "mode": wants a word: mode=VALUE`,
		"control":                 `mount option "control": wants a path: control=VALUE`,
		"config":                  `mount option "config": wants a path: config=FILE`,
		"config=":                 `mount option "config": want a path, not an empty value`,
		"nofail=1":                `mount option "nofail": takes no value`,
		"ro=perhaps":              `mount option "ro": want true or false`,
		"lease_duration_ms=30s":   `mount option "lease_duration_ms": wants a whole number of milliseconds, not "30s"`,
		"mode_ms=3":               `mount option "mode_ms": jvsfs does not know it`,
		"worktrees=x":             `mount option "worktrees": worktrees are named in a file: config=FILE`,
		"remount,ro":              `mount option "remount": cannot be had: a mount keeps its options: unmount it`,
		"sync":                    `mount option "sync": cannot be had: jvsfs passes every write on`,
		"auto_unmount":            `mount option "auto_unmount": cannot be had: a mount whose daemon has died must stay`,
		"fsname=x":                `mount option "fsname": cannot be had`,
		"subtype=other":           `mount option "subtype": cannot be had`,
		"=x":                      `mount option "=x": a value without a name`,
		`control="/a`:             `mount option "control/a": its double quote is not closed`,
		"a\x1b[31mb":              `mount option "a\x1b[31mb": jvsfs does not know it`,
		strings.Repeat("x", 1000): `x...": jvsfs does not know it`,
	} {
		_, err := ParseOptions(text)
		require.ErrorContains(t, err, want, text)
		require.Less(t, len(err.Error()), 300)
	}
	_, err := ParseOptions("nosiud,ro,uid=3,mode")
	for _, name := range []string{`"nosiud"`, `"uid"`, `"mode"`} {
		require.ErrorContains(t, err, name, "all mistakes at once")
	}
}

func TestOptionValuesAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"mode=both":           `mode "both" (-o option): want exclusive or shared`,
		"errno=ESTALE":        `errno "ESTALE" (-o option): want EROFS`,
		"lease_duration=5s":   "renew_interval 10s (default) must be shorter than lease_duration 5s (-o option)",
		"lease_duration_ms=0": `(-o option): want more than zero`,
		"control=":            `control "" (-o option): want a path`,
	} {
		opts, err := ParseOptions(text)
		require.NoError(t, err, text)
		_, err = ResolveOptions("", opts, nil)
		require.ErrorContains(t, err, want, text)
	}
}

func TestSloppyOptions(t *testing.T) {
	opts, err := ParseSloppyOptions("nosiud,ro,uid=3")
	require.NoError(t, err)
	require.Equal(t, []string{"nosiud", "uid"}, opts.Unknown)
	require.Equal(t, "ro", opts.String())
	_, err = ParseSloppyOptions("remount")
	require.Error(t, err, "known, and impossible")
}

func TestOptionsNameTheFile(t *testing.T) {
	path := writeConfig(t, "mode: shared\nerrno: EIO\n")
	opts, err := ParseOptions("config=" + path + ",errno=EPERM")
	require.NoError(t, err)
	flags, err := parseFlags(t, "--on-free=deny")
	require.NoError(t, err)
	c, err := ResolveOptions("", opts, flags)
	require.NoError(t, err)
	require.Equal(t, []string{"shared", "EPERM", "deny"}, []string{c.Mode, c.Errno, c.OnFree})
	_, err = ResolveOptions(path, opts, nil)
	require.ErrorContains(t, err, "two configuration files")

	t.Chdir(filepath.Dir(path))
	opts, err = ParseOptions("config=jvsfs.yaml")
	require.NoError(t, err)
	cwd, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(cwd, "jvsfs.yaml"), opts.File)
}

// No option of mount(8) hides a key of the configuration.
func TestKeysAreNoGenericOptions(t *testing.T) {
	for i := range fields {
		_, generic := findGeneric(fields[i].key)
		require.Equal(t, slices.Contains(attributes, fields[i].key), generic, fields[i].key)
	}
	require.Nil(t, findField(keyFile))
}

func FuzzOptions(f *testing.F) {
	for _, seed := range []string{
		"", "rw,relatime,user,exec", "ro,nosuid,nodev=false", `config=/etc/j.yaml,control="/a,b",log-file=/x\,y`, "lease_duration_ms=45000,renew-interval=5s",
		"x-systemd.automount,_netdev,nofail", "remount", "=", `"`, `\`, `\,`, `a\`, "mode==,", "ro=true,rw,enforce=readonly", "scope=", "\xff=\x00",
	} {
		f.Add(seed)
	}
	for _, name := range optionNames() {
		f.Add("rw," + name + ",ro")
		f.Add(name + "=1m," + name + `="a,b",mode=shared`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sloppy, sloppyErr := ParseSloppyOptions(text)
		opts, err := ParseOptions(text)
		if err != nil {
			require.Contains(t, err.Error(), `mount option "`)
			require.True(t, sloppyErr != nil || len(sloppy.Unknown) > 0)
			return
		}
		require.NoError(t, sloppyErr)
		require.Equal(t, opts, sloppy)
		again, err := ParseOptions(opts.String())
		require.NoError(t, err, opts.String())
		require.Equal(t, opts, again, "what was accepted is told again")

		opts.File = ""
		c, err := ResolveOptions("", opts, nil)
		if err != nil {
			require.Contains(t, err.Error(), WhereOption, "the mistake is that of an option")
			return
		}
		again, err = ParseOptions(writtenAsOptions(c))
		require.NoError(t, err)
		d, err := ResolveOptions("", again, nil)
		require.NoError(t, err)
		require.Equal(t, c, d)
	})
}

// writtenAsOptions writes the option values of a configuration as options again.
func writtenAsOptions(c Config) string {
	var items []string
	for _, o := range c.Origins() {
		if o.Where == WhereOption {
			items = append(items, o.Key+"="+escapeOption(o.Value))
		}
	}
	return strings.Join(items, ",")
}

// Every value can be written as an option, and it comes back the same, also among others.
func TestOptionsCarryAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`/[^\x00]*`).Draw(t, "value")
		quoted := rapid.Bool().Draw(t, "quoted")
		word := escapeOption(value)
		if quoted {
			word = `"` + word + `"`
		}
		items := rapid.Permutation([]string{"control=" + word, "nosuid", "mode=shared", "x-a=b"}).Draw(t, "items")
		opts, err := ParseOptions(strings.Join(items, ","))
		require.NoError(t, err)
		var c Config
		require.NoError(t, opts.apply(&c))
		require.Equal(t, Config{Control: filepath.Clean(value), Mode: "shared", NoSUID: true}, Config{Control: c.Control, Mode: c.Mode, NoSUID: c.NoSUID})
	})
}
