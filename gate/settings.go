package gate

import (
	"fmt"
	"slices"
	"strings"
)

// Mode says whether a worktree is fenced (locking spec v6.3, "Lock scope").
type Mode string

const (
	// Exclusive worktrees have one writer: the holder of the current token.
	Exclusive Mode = "exclusive"
	// Shared worktrees have no such guarantee: writes pass and are counted.
	Shared Mode = "shared"
)

// Enforce says what becomes of a refusal.
type Enforce string

const (
	// Enforcing refuses.
	Enforcing Enforce = "enforce"
	// Observing decides the same, counts it as "would refuse" and lets it pass.
	Observing Enforce = "observe"
	// ReadOnly refuses every mutation, even the holder's.
	ReadOnly Enforce = "readonly"
)

// OnFree says what happens to a write while nobody holds the lease.
type OnFree string

const (
	// AcquireOnFree takes a lease for the first writer's session.
	AcquireOnFree OnFree = "acquire"
	// DenyOnFree refuses: somebody must take the lease on purpose first.
	DenyOnFree OnFree = "deny"
	// AllowOnFree lets the write pass without a lease.
	AllowOnFree OnFree = "allow"
)

// Scope says which processes belong to the holder.
type Scope string

const (
	// ScopeDefault is ScopeTree for a lease taken on purpose, and ScopeSession for a lease that
	// AcquireOnFree takes.
	ScopeDefault Scope = ""
	// ScopeTree is the holder process and its descendants.
	ScopeTree Scope = "tree"
	// ScopeSession is a POSIX session (setsid).
	ScopeSession Scope = "session"
	// ScopeUser is every process of one user id.
	ScopeUser Scope = "user"
	// ScopeCgroup is every process in one cgroup (version 2) and below.
	ScopeCgroup Scope = "cgroup"
	// ScopeMount is everybody who writes through this mount.
	ScopeMount Scope = "mount"
)

func parse[T ~string](what, s string, allowed ...T) (T, error) {
	if slices.Contains(allowed, T(s)) {
		return T(s), nil
	}
	names := make([]string, 0, len(allowed))
	for _, a := range allowed {
		if a != "" {
			names = append(names, string(a))
		}
	}
	return "", fmt.Errorf("%s %q is not one of %s", what, s, strings.Join(names, ", "))
}

// ParseEnforce accepts "enforce", "observe" and "readonly".
func ParseEnforce(s string) (Enforce, error) {
	return parse("enforce", s, Enforcing, Observing, ReadOnly)
}

// ParseScope accepts the five scopes and the empty string.
func ParseScope(s string) (Scope, error) {
	return parse("scope", s, ScopeDefault, ScopeTree, ScopeSession, ScopeUser, ScopeCgroup, ScopeMount)
}
