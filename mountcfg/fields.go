package mountcfg

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const keyWaitOnConflict = "wait_on_conflict"

// kind says which YAML scalars a field accepts.
type kind uint8

const (
	kindChoice kind = iota
	kindEnforce
	kindPath
	kindDuration
	kindMillis
	kindBool
	kindAddress
	kindGlobs
	kindRules
	kindCommand
	kindEndpoints
	kindText
)

// want completes the sentence "KEY wants ...".
func (k kind) want() string {
	switch k {
	case kindPath:
		return "a path"
	case kindDuration:
		return "a duration such as 30s"
	case kindMillis:
		return "a whole number of milliseconds"
	case kindBool:
		return "true or false"
	case kindAddress:
		return "unix:/PATH or HOST:PORT"
	case kindGlobs:
		return "a pattern in quotes"
	case kindRules:
		return "a preset or a file"
	case kindCommand:
		return "a word in quotes"
	case kindEndpoints:
		return "URLS such as http://10.0.0.1:2379,http://10.0.0.2:2379"
	case kindText:
		return "a text"
	default:
		return "a word"
	}
}

// field is one value of the mount. The table of fields serves the file and the flags.
type field struct {
	key   string // YAML key; the flag is the same with dashes
	kind  kind
	usage string   // "" = no flag
	words []string // of a choice
	get   func(*Config) string
	set   func(c *Config, text, base string) error // base: directory for relative paths
	list  func(*Config) *[]string                  // only of kindGlobs: set appends one
	clear func(*Config)                            // of what has several items: set appends
}

func (f *field) flag() string { return strings.ReplaceAll(f.key, "_", "-") }

var fields = []field{
	pathField("source", "", func(c *Config) *string { return &c.Source }),
	pathField("mountpoint", "", func(c *Config) *string { return &c.Mountpoint }),
	// Attributes of the mount are mount options (-o) on a command line.
	boolField(attrReadOnly, "", func(c *Config) *bool { return &c.ReadOnly }),
	boolField(attrNoSUID, "", func(c *Config) *bool { return &c.NoSUID }),
	boolField(attrNoDev, "", func(c *Config) *bool { return &c.NoDev }),
	boolField(attrNoExec, "", func(c *Config) *bool { return &c.NoExec }),
	boolField(attrNoSymFollow, "", func(c *Config) *bool { return &c.NoSymFollow }),
	pathField("control", "keep lock and control files in `DIR`", func(c *Config) *string { return &c.Control }),
	choiceField("layout", kindChoice, "`WHAT` is guarded: tree (all of SOURCE by one lease), jvs (main and each of worktrees/* by its own), jvs-folder (all but .jvs by one), git (each checkout of a git repository by its own) or auto (by what SOURCE has)",
		layouts, func(c *Config) *string { return &c.Layout }),
	pathField("repository", "guard the checkouts of the git repository `DIR`, wherever below SOURCE they lie (layout git)",
		func(c *Config) *string { return &c.Repository }),
	choiceField("mode", kindChoice, "`MODE` of the worktrees: exclusive (one writer) or shared (no guarantee)",
		modes, func(c *Config) *string { return &c.Mode }),
	choiceField(keyEnforce, kindEnforce, "`HOW` to treat a write without the lease: enforce (refuse), observe (count and log) or readonly (refuse every write)",
		enforces, func(c *Config) *string { return &c.Enforce }),
	choiceField("on_free", kindChoice, "`WHAT` a write does while nobody holds the lease: acquire (take it), deny or allow",
		onFrees, func(c *Config) *string { return &c.OnFree }),
	choiceField("scope", kindChoice, "`WHO` counts as the holder: tree, session, user, cgroup or mount (default: tree for a lease taken on purpose, session otherwise)",
		scopes, func(c *Config) *string { return &c.Scope }),
	durationField(keyWaitOnConflict, "how `LONG` a write waits for another holder to end, in the order of asking, before it is refused; at most 1m, 0 refuses at once",
		func(c *Config) *time.Duration { return &c.WaitOnConflict }),
	choiceField("errno", kindChoice, "`ERRNO` of a refusal: EROFS, EACCES, EPERM, EBUSY or EIO",
		errnos, func(c *Config) *string { return &c.Errno }),
	choiceField("cache", kindChoice, "`HOW` names and attributes are cached: auto (long while this mount's holder is the only writer), shared (cache_timeout) or exclusive (always long: you say that nobody else changes the backing directory)",
		caches, func(c *Config) *string { return &c.Cache }),
	durationField("cache_timeout", "see the changes of others after this `LONG` at the latest; 0 caches nothing",
		func(c *Config) *time.Duration { return &c.CacheTimeout }),
	choiceField("file_locks", kindChoice, "`WHERE` flock and fcntl locks hold: everywhere (all mounts of the source, native processes) or mount (between those who come through this mount; quicker)",
		fileLocks, func(c *Config) *string { return &c.FileLocks }),
	choiceField("transport", kindChoice, "`HOW` requests come from the kernel: dev (/dev/fuse), uring (io_uring, on x86-64 with Linux 6.14 or later, if fuse.enable_uring is on) or auto (uring where it can be had)",
		transports, func(c *Config) *string { return &c.Transport }),
	durationField("lease_duration", "a lease lasts this `LONG` unless renewed",
		func(c *Config) *time.Duration { return &c.LeaseDuration }),
	durationField("renew_interval", "renew a held lease this `OFTEN`; must be shorter than the lease",
		func(c *Config) *time.Duration { return &c.RenewInterval }),
	durationField("max_clock_skew", "clocks of hosts may differ by this `MUCH`",
		func(c *Config) *time.Duration { return &c.MaxClockSkew }),
	durationField("steal_grace", "wait this `LONG` after expiry and skew before a lease can be stolen",
		func(c *Config) *time.Duration { return &c.StealGrace }),
	pathField("log_file", "append the log to `FILE`", func(c *Config) *string { return &c.LogFile }),
	choiceField("log_format", kindChoice, "`FORMAT` of the log: json (for programs) or text (for people)",
		logFormats, func(c *Config) *string { return &c.LogFormat }),
	choiceField("log_level", kindChoice, "log from `LEVEL` up: debug, info, warn or error",
		logLevels, func(c *Config) *string { return &c.LogLevel }),
	metricsField("metrics", "serve Prometheus metrics at `ADDR`: unix:/PATH[,mode=0660] or HOST:PORT (no TLS, no password: prefer a socket or 127.0.0.1)"),
	globsField("exempt", "let anybody write what matches `GLOB`, relative to each worktree's root; may be repeated",
		func(c *Config) *[]string { return &c.Exempt }),
	boolField("exempt_git", "let patterns that name .git exempt .git and what is below it",
		func(c *Config) *bool { return &c.ExemptGit }),
	{
		key: keyFence, kind: kindCommand, clear: func(c *Config) { c.Fence = nil },
		get: func(c *Config) string { return strings.Join(c.Fence, " ") },
		set: func(*Config, string, string) error {
			return errors.New("only a configuration file may name the program")
		},
	},
	boolField("fence_self", "where SOURCE is a FUSE file system: end this host's connection to it when writes hang there beyond the lease's deadline",
		func(c *Config) *bool { return &c.FenceSelf }),
	boolField(keyRelyOnFence, "on a store of several hosts, where each has a fence agent that is known to work: a write is answered when the store's client has it, and the agent alone keeps late writes out, see jvsfs-fence(7)",
		func(c *Config) *bool { return &c.RelyOnFence }),
	endpointsField(func(c *Config) *string { return &c.Etcd.Endpoints }),
	etcdTextField(keyEtcdPrefix, "the `PREFIX` of this tree's keys in etcd, the same on all hosts, such as /jvsfs/REPOSITORY", checkEtcdPrefix,
		func(c *Config) *string { return &c.Etcd.Prefix }),
	pathField(keyEtcdCA, "know etcd by the certificates in `FILE`", func(c *Config) *string { return &c.Etcd.CA }),
	pathField(keyEtcdCert, "show etcd the certificate in `FILE`", func(c *Config) *string { return &c.Etcd.Cert }),
	pathField(keyEtcdKey, "the key of etcd_cert is in `FILE`", func(c *Config) *string { return &c.Etcd.Key }),
	etcdTextField(keyEtcdUser, "log in to etcd as `USER`", checkEtcdUser, func(c *Config) *string { return &c.Etcd.User }),
	pathField(keyEtcdSecret, "the password of etcd_user is the first line of `FILE`, which nobody else may read", func(c *Config) *string { return &c.Etcd.PasswordFile }),
	boolField("local_only", "no other host writes there: the records may be on this host though SOURCE is on a file system for several",
		func(c *Config) *bool { return &c.LocalOnly }),
	rulesField("enforce the lock files of other programs as a preset or a file says (`FILE|PRESET`, see jvsfs-rules(7)); may be repeated"),
}

// ruleField is a value that a worktree may override.
type ruleField struct {
	key    string
	choice choice
	at     func(*WorktreeRule) *string
}

var ruleFields = []ruleField{
	{"mode", modes, func(r *WorktreeRule) *string { return &r.Mode }},
	{"on_free", onFrees, func(r *WorktreeRule) *string { return &r.OnFree }},
	{"scope", scopes, func(r *WorktreeRule) *string { return &r.Scope }},
}

func findField(key string) *field {
	for i := range fields {
		if fields[i].key == key {
			return &fields[i]
		}
	}
	return nil
}

func choiceField(key string, k kind, usage string, ch choice, at func(*Config) *string) field {
	return field{
		key: key, kind: k, usage: usage, words: ch.words,
		get: func(c *Config) string { return *at(c) },
		set: func(c *Config, text, _ string) error {
			value, err := ch.parse(text)
			if err == nil && value == scopeDefault {
				value = ""
			}
			return assign(at(c), value, err)
		},
	}
}

func pathField(key, usage string, at func(*Config) *string) field {
	return field{
		key: key, kind: kindPath, usage: usage,
		get: func(c *Config) string { return *at(c) },
		set: func(c *Config, text, base string) error {
			value, err := parsePath(text, base)
			return assign(at(c), value, err)
		},
	}
}

func durationField(key, usage string, at func(*Config) *time.Duration) field {
	return field{
		key: key, kind: kindDuration, usage: usage,
		get: func(c *Config) string { return at(c).String() },
		set: func(c *Config, text, _ string) error {
			value, err := parseDuration(text, mayBeZero(key))
			return assign(at(c), value, err)
		},
	}
}

func boolField(key, usage string, at func(*Config) *bool) field {
	return field{
		key: key, kind: kindBool, usage: usage,
		get: func(c *Config) string { return strconv.FormatBool(*at(c)) },
		set: func(c *Config, text, _ string) error {
			value, err := parseBool(text)
			return assign(at(c), value, err)
		},
	}
}

// globsField is a list. Each Set from the same place appends to it.
func globsField(key, usage string, at func(*Config) *[]string) field {
	return field{
		key: key, kind: kindGlobs, usage: usage, list: at, clear: func(c *Config) { *at(c) = nil },
		get: func(c *Config) string { return strings.Join(*at(c), " ") },
		set: func(c *Config, text, _ string) error {
			if err := checkGlob(text); err != nil {
				return err
			}
			*at(c) = append(slices.Clone(*at(c)), text)
			return nil
		},
	}
}

func mayBeZero(key string) bool {
	return key == "max_clock_skew" || key == "steal_grace" || key == "cache_timeout" || key == keyWaitOnConflict
}

func assign[T any](at *T, value T, err error) error {
	if err == nil {
		*at = value
	}
	return err
}

// Set sets a value by its YAML key, as text, and remembers its origin (WhereFlag, WhereArgument, or
// any place that a person can find). Relative paths are relative to the working directory. A list
// grows by each Set from one place, and replaces what another place has set. After an error nothing
// has changed.
func (c *Config) Set(key, text, where string) error {
	f := findField(key)
	if f == nil {
		return fmt.Errorf("%q is not a key of the configuration%s", key, didYouMean(key, fieldKeys()))
	}
	next := *c
	if f.clear != nil && c.where(key) != where {
		f.clear(&next)
	}
	before := len(next.marks)
	if err := f.set(&next, text, ""); err != nil {
		return fmt.Errorf("%s %q (%s): %w", key, text, where, err)
	}
	*c = next
	for i := before; i < len(c.marks); i++ {
		c.marks[i].where = where
	}
	c.remember(key, where)
	if f.list != nil {
		c.remember(itemKey(key, len(*f.list(c))-1), where)
	}
	return nil
}
