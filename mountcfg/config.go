package mountcfg

import (
	"cmp"
	"time"
)

// Config is one mount as the admin configured it.
//
// Fields may be read freely. Write them through Set, which validates the value and remembers its
// origin.
type Config struct {
	Source     string // absolute directory to guard; "" = not given yet
	Mountpoint string // absolute; "" = in place, over Source
	Control    string // absolute directory of lock and control files; "" = the mount decides

	// Attributes of the mount itself, in addition to those of the source's mount.
	ReadOnly    bool // the kernel refuses every write; then Enforce is readonly
	NoSUID      bool
	NoDev       bool
	NoExec      bool
	NoSymFollow bool

	Repository string // absolute; the git repository below Source whose checkouts are guarded, "" = by Layout

	Layout  string // auto | tree | jvs | jvs-folder | git: what one lease covers
	Mode    string // exclusive | shared
	Enforce string // enforce | observe | readonly
	OnFree  string // acquire | deny | allow: a write while nobody holds the lease
	Scope   string // "" | tree | session | user | cgroup | mount; "" = tree for a lease taken on purpose, else session
	Errno   string // name of the errno of every refusal

	Cache        string        // auto | shared | exclusive: how long the kernel may cache
	CacheTimeout time.Duration // of names and attributes that others can change, in whole milliseconds

	WaitOnConflict time.Duration // how long a write waits for another holder to end; 0 = not at all, at most MaxWaitOnConflict

	FileLocks string // everywhere | mount: between which processes flock and fcntl locks hold

	Transport string `json:",omitempty"` // auto | uring | dev: how requests come from the kernel; see Snapshot

	// Timing of leases, in whole milliseconds, as locking spec v6.3 writes them.
	LeaseDuration time.Duration
	RenewInterval time.Duration
	MaxClockSkew  time.Duration
	StealGrace    time.Duration

	LogFile   string // absolute; "" = standard error or the journal
	LogFormat string // json | text
	LogLevel  string // debug | info | warn | error

	Metrics string // address for Prometheus, see ParseMetrics; "" = none

	// Fence is the program that cuts another host off the store before its lease is taken over, and its arguments. Only a file
	// names it.
	Fence []string `json:",omitempty"` // see Rules

	// FenceSelf ends this host's own connection to the store when writes hang there beyond the deadline of their lease.
	FenceSelf bool `json:",omitempty"` // as Rules

	// RelyOnFence leaves it to the fence agents of the other hosts that no late write of this one lands: writes are neither made durable
	// nor looked at one by one.
	RelyOnFence bool `json:",omitempty"` // as Rules

	// Exempt are globs of places where anybody may write, relative to each worktree's root
	// (doublestar's syntax). ExemptGit lets globs that name .git reach into it.
	Exempt    []string
	ExemptGit bool

	// LocalOnly says that no other host writes to the source, whatever its file system.
	LocalOnly bool `json:",omitempty"` // as Rules

	Etcd Etcd `json:",omitzero"` // where the leases are kept; see Rules

	// Rules tell of the lock files of other programs.
	Rules []LockRule `json:",omitempty"` // so that a daemon without them can be followed by an earlier release

	// Worktrees has the overrides by worktree id. An empty field takes the mount's value. Scope
	// "default" overrides the mount's scope with the built-in one.
	Worktrees map[string]WorktreeRule

	origins map[string]string // key -> where; a missing key is a default
	marks   []ruleMark        // of Rules; none after Restore
}

// WorktreeRule is the configuration of one worktree.
type WorktreeRule struct {
	Mode   string
	OnFree string
	Scope  string
	Exempt []string // nil takes the mount's list; an empty list exempts nothing
}

// MaxWaitOnConflict bounds WaitOnConflict, because a call that waits may keep a file locked in the kernel.
const MaxWaitOnConflict = time.Minute

// Default is the configuration without file and flags. The timings are the defaults of locking spec
// v6.3.
func Default() Config {
	return Config{
		Layout:        "auto",
		Mode:          "exclusive",
		Enforce:       "enforce",
		OnFree:        "acquire",
		Errno:         "EROFS",
		Cache:         "auto",
		CacheTimeout:  time.Second,
		FileLocks:     "everywhere",
		Transport:     "auto",
		LeaseDuration: 30 * time.Second,
		RenewInterval: 10 * time.Second,
		MaxClockSkew:  2 * time.Second,
		StealGrace:    time.Second,
		LogFormat:     "json",
		LogLevel:      "info",
	}
}

// Exempts reports whether any worktree may have exempt places.
func (c Config) Exempts() bool {
	if len(c.Exempt) > 0 {
		return true
	}
	for _, rule := range c.Worktrees {
		if len(rule.Exempt) > 0 {
			return true
		}
	}
	return false
}

// For returns the effective configuration of a worktree: its overrides over the values of the
// mount. Scope is "" for the built-in choice. Unknown worktrees get the values of the mount.
func (c Config) For(worktree string) WorktreeRule {
	over := c.Worktrees[worktree]
	rule := WorktreeRule{
		Mode:   cmp.Or(over.Mode, c.Mode),
		OnFree: cmp.Or(over.OnFree, c.OnFree),
		Scope:  cmp.Or(over.Scope, c.Scope),
		Exempt: c.Exempt,
	}
	if over.Exempt != nil {
		rule.Exempt = over.Exempt
	}
	if rule.Scope == scopeDefault {
		rule.Scope = ""
	}
	return rule
}
