package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Exempt holds the rules that say where in a worktree anybody may write. A name is exempt if a rule
// matches it or a directory above it. So a whole subtree is exempt, and a move within it moves
// nothing that is guarded. If a rule ends in "/**" the directory itself stays guarded.
//
// Below .jvs nothing is exempt. Below .git a name is exempt only if the rule itself names .git. The
// value is immutable and safe for concurrent use.
type Exempt struct{ rules []exemptRule }

type exemptRule struct {
	glob string // as the user wrote it
	base string // matched against a name and the directories above it
	in   string // matched against directories that may have an exempt entry
	// below says that what base matches stays guarded itself.
	below bool
	gits  int // how many components .git a name may have
}

const (
	gitDir = ".git"
	jvsDir = ".jvs"
)

// Reserved reports whether nothing below such a component is exempt by a general rule.
func Reserved(component string) bool { return named(component, gitDir) || named(component, jvsDir) }

// named takes .GIT for .git: a directory may ignore case.
func named(component, name string) bool { return strings.EqualFold(component, name) }

// NewExempt makes rules of globs in the syntax of doublestar, relative to the worktree's root. With
// git, a glob that names .git reaches into it. Without globs it returns nil.
func NewExempt(globs []string, git bool) (*Exempt, error) {
	if len(globs) == 0 {
		return nil, nil
	}
	x := &Exempt{}
	for _, g := range globs {
		if !doublestar.ValidatePattern(g) {
			return nil, fmt.Errorf("exempt %q: %w", g, doublestar.ErrBadPattern)
		}
		x.rules = append(x.rules, newExemptRule(g, git))
	}
	return x, nil
}

func newExemptRule(glob string, git bool) exemptRule {
	r := exemptRule{glob: glob, base: onceEach(glob)}
	for strings.HasSuffix(r.base, "/**") {
		r.base, r.below = strings.TrimSuffix(r.base, "/**"), true
	}
	if i := strings.LastIndexByte(r.base, '/'); i > 0 {
		r.in = r.base[:i]
	}
	if git {
		r.gits = gitsIn(strings.Split(glob, "/"))
	}
	return r
}

// onceEach replaces several "**" in a row by one. They mean the same, but doublestar matches b with
// b/** and not with b/**/**.
func onceEach(glob string) string {
	again := func(a, b string) bool { return a == "**" && b == "**" }
	return strings.Join(slices.CompactFunc(strings.Split(glob, "/"), again), "/")
}

func gitsIn(components []string) (n int) {
	for _, c := range components {
		if named(c, gitDir) {
			n++
		}
	}
	return n
}

// match returns the rule that exempts a name, relative to the worktree's root. The root itself is
// never exempt.
func (x *Exempt) match(name string) (rule string, ok bool) {
	components := strings.Split(name, "/")
	if name == "" || slices.ContainsFunc(components, func(c string) bool { return named(c, jvsDir) }) {
		return "", false
	}
	gits := gitsIn(components)
	for i := range x.rules {
		if r := &x.rules[i]; gits <= r.gits && r.covers(name) {
			return r.glob, true
		}
	}
	return "", false
}

// covers looks at the directories above a name, the outermost first, and then at the name itself.
func (r *exemptRule) covers(name string) bool {
	for i := 0; i < len(name); i++ {
		if name[i] == '/' && doublestar.MatchUnvalidated(r.base, name[:i]) {
			return true
		}
	}
	return !r.below && doublestar.MatchUnvalidated(r.base, name)
}

// mayHold reports whether a directory can have exempt entries, which others may change. It may be
// true without need.
func (x *Exempt) mayHold(dir string) bool {
	for i := range x.rules {
		if x.rules[i].mayHold(dir) {
			return true
		}
	}
	return false
}

func (r *exemptRule) mayHold(dir string) bool {
	if dir == "" {
		return !r.below && (r.in == "" || r.in == "**")
	}
	if r.covers(dir) || doublestar.MatchUnvalidated(r.base, dir) {
		return true
	}
	return !r.below && r.in != "" && doublestar.MatchUnvalidated(r.in, dir)
}

// Where is the place of a mutation, as the file system found it.
type Where struct {
	Worktree lease.WorktreeID
	// Names are the names that the mutation changes, and the names of the inodes that it changes,
	// relative to the worktree's root. It is empty if they are not known.
	Names []string
	// Linked says that an inode which it changes has further names (hard links).
	Linked bool
}

// Place finds out where a mutation takes effect. It is asked only if the lease does not admit the
// mutation.
type Place interface {
	// Hold calls ok with the place. If ok agrees, Hold returns true, and nothing moves until the
	// pass is left. Otherwise nothing is held.
	Hold(ok func(Where) bool) bool
	// Release frees what Hold holds, if anything: the answer was not used.
	Release()
}

// Exemption is a mutation that was admitted for its place, whoever made it.
type Exemption struct {
	Worktree lease.WorktreeID
	Op       Op
	Rule     string // the glob
	Name     string // relative to the worktree's root
	Caller   process.Caller
}

// Sentence says what happened.
func (x Exemption) Sentence() string {
	return fmt.Sprintf("exempt by rule %s: anybody may write here", x.Rule)
}

// decideByPlace is the policy for a mutation that its place may admit. It does not know the writer:
// a place is exempt for everybody or for nobody.
func decideByPlace(enforce Enforce, id lease.WorktreeID, x *Exempt, w Where) (rule string, ok bool) {
	if x == nil || enforce == ReadOnly || w.Worktree != id || w.Linked || len(w.Names) == 0 {
		return "", false
	}
	for _, name := range w.Names {
		if rule, ok = x.match(name); !ok {
			return "", false
		}
	}
	return rule, true
}

// Exempted admits a mutation for its place alone. If it refuses it counts nothing.
func (g *Guard) Exempted(r Request) (Pass, bool) {
	for {
		under := g.cfg.Enforcement.now.Load()
		p, ok := attempt{g, r, under.mode}.exempted()
		switch {
		case !ok:
			return Pass{}, false
		case g.cfg.Enforcement.now.Load() == under: // as Enter does
			f := g.frozen.Load().bars(r)
			if f == nil {
				g.count(p)
				return p, true
			}
			p.undo(r)
			if !f.waits(r) {
				return Pass{}, false
			}
			continue
		}
		p.undo(r)
	}
}

func (a attempt) exempted() (Pass, bool) {
	if a.cfg.Exempt == nil || a.At == nil {
		return Pass{}, false
	}
	x := Exemption{Worktree: a.cfg.Worktree, Op: a.Op, Caller: a.Caller}
	rules, mode := a.cfg.Exempt, a.mode
	admitted := a.At.Hold(func(w Where) (ok bool) {
		if x.Rule, ok = decideByPlace(mode, x.Worktree, rules, w); ok {
			x.Name = w.Names[0]
		}
		return ok
	})
	if !admitted {
		return Pass{}, false
	}
	if !a.exempt.enter(a.cfg.Clock) {
		a.At.Release()
		return Pass{}, false
	}
	return Pass{a.exempt, &x}, true
}

// count counts an admitted mutation. It reports those that were admitted for their place.
func (g *Guard) count(p Pass) {
	if p.exempt == nil {
		g.writes.Add(1)
		return
	}
	g.exemptWrites.Add(1)
	if g.cfg.OnExempt != nil {
		g.cfg.OnExempt(*p.exempt)
	}
}

// MayHoldExempt reports whether a directory, relative to the worktree's root, can have exempt
// entries.
func (g *Guard) MayHoldExempt(dir string) bool {
	return g.cfg.Exempt != nil && g.cfg.Exempt.mayHold(dir)
}
