package mountcfg

import (
	"cmp"
	"time"
)

// Config is one mount as the admin asked for it.
//
// Fields may be read freely. Write them through Set, which validates the value
// and remembers where it came from.
type Config struct {
	Source     string // absolute directory to guard; "" = not given yet
	Mountpoint string // absolute; "" = in place, over Source
	Control    string // absolute directory of lock and control files; "" = the mount decides

	// Attributes of the mount itself, beside those of the mount that the source lies on.
	ReadOnly    bool // the kernel refuses every write; Enforce is readonly then
	NoSUID      bool
	NoDev       bool
	NoExec      bool
	NoSymFollow bool

	Mode    string // exclusive | shared
	Enforce string // enforce | observe | readonly
	OnFree  string // acquire | deny | allow: a write while nobody holds the lease
	Scope   string // "" | tree | session | user | cgroup | mount; "" = tree for a lease taken on purpose, else session
	Errno   string // name of the errno of every refusal

	Cache        string        // auto | shared | exclusive: how long the kernel may believe what it was told
	CacheTimeout time.Duration // of names and attributes that others can change, whole milliseconds

	WaitOnConflict time.Duration // of a write for who holds the lease, instead of a refusal; 0 = none, at most MaxWaitOnConflict

	FileLocks string // everywhere | mount: between whom flock and fcntl locks hold

	// Timing of leases, whole milliseconds (locking spec v6.3 writes them as such).
	LeaseDuration time.Duration
	RenewInterval time.Duration
	MaxClockSkew  time.Duration
	StealGrace    time.Duration

	LogFile   string // absolute; "" = standard error or the journal
	LogFormat string // json | text
	LogLevel  string // debug | info | warn | error

	Metrics string // where Prometheus scrapes, see ParseMetrics; "" = nowhere

	// Exempt are globs of places where anybody may write, relative to each worktree's
	// root (doublestar's syntax). ExemptGit lets those that name .git reach into it.
	Exempt    []string
	ExemptGit bool

	// Worktrees has the overrides by worktree id; an empty field inherits.
	// Scope "default" overrides the mount's scope with the built-in choice.
	Worktrees map[string]WorktreeRule

	origins map[string]string // key -> where; a missing key is a default
}

// WorktreeRule is what holds for one worktree.
type WorktreeRule struct {
	Mode   string
	OnFree string
	Scope  string
	Exempt []string // nil inherits; empty exempts nothing
}

// MaxWaitOnConflict bounds WaitOnConflict: what waits may keep a file locked in the kernel.
const MaxWaitOnConflict = time.Minute

// Default is the configuration of a mount without file and flags. The timings
// are the defaults of locking spec v6.3.
func Default() Config {
	return Config{
		Mode:          "exclusive",
		Enforce:       "enforce",
		OnFree:        "acquire",
		Errno:         "EROFS",
		Cache:         "auto",
		CacheTimeout:  time.Second,
		FileLocks:     "everywhere",
		LeaseDuration: 30 * time.Second,
		RenewInterval: 10 * time.Second,
		MaxClockSkew:  2 * time.Second,
		StealGrace:    time.Second,
		LogFormat:     "json",
		LogLevel:      "info",
	}
}

// Exempts reports whether any worktree may have places where anybody may write.
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

// For gives the effective rule of a worktree: its overrides over the values of
// the mount. Scope is "" where the built-in choice holds. Unknown worktrees get
// the values of the mount.
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
