package lockfile

import (
	"slices"
	"strings"
)

// A rule with taken_by: lease has no lock file. Each directory that its pattern matches is a worktree with a lease of
// its own, and all below it belongs to that. So a name must have one such directory at most, above it or itself: the
// patterns are paths with whole components, and no two of them overlap.

// component is one name of such a pattern.
type component struct {
	text    string // "": any name
	capture string
}

// dirPattern matches directories by their path, component by component.
type dirPattern []component

const leaseShape = "want whole components, each a text or one capture, and '/**' at the end, such as packages/{pkg}/**"

// everythingBelow ends each pattern of a lease.
const everythingBelow = "/**"

// parseDirs reads a pattern of a lease. The error is for the one who wrote it, "" is none. In except a component may be "*".
func parseDirs(text string, star bool) (dirs dirPattern, wrong string) {
	above, ok := strings.CutSuffix(text, everythingBelow)
	if !ok {
		return nil, leaseShape
	}
	for name := range strings.SplitSeq(above, "/") {
		capture := strings.TrimSuffix(strings.TrimPrefix(name, "{"), "}")
		switch {
		case star && name == "*":
			dirs = append(dirs, component{})
		case name == "{"+capture+"}" && captureName.MatchString(capture):
			dirs = append(dirs, component{capture: capture})
		case strings.ContainsAny(name, `{}*?[]\`):
			return nil, leaseShape
		default:
			dirs = append(dirs, component{text: name})
		}
	}
	return dirs, ""
}

func (c component) mayBe(name string) bool { return c.text == "" || c.text == name }

// begins reports whether a directory with these names is matched as far as they go.
func (p dirPattern) begins(names []string) bool {
	if len(names) > len(p) {
		return false
	}
	for i, name := range names {
		if !p[i].mayBe(name) {
			return false
		}
	}
	return true
}

// overlaps reports whether a name may lie in a directory of each pattern: of two that it lies in, one is the other or
// lies below it.
func (p dirPattern) overlaps(q dirPattern) bool {
	for i := range min(len(p), len(q)) {
		if a, b := p[i].text, q[i].text; a != b && a != "" && b != "" {
			return false
		}
	}
	return true
}

// lease checks a rule with taken_by: lease.
func (c *compiler) lease(s Spec) {
	r := &Rule{Spec: s}
	for key, of := range map[string]struct {
		set  bool
		text string
	}{
		KeyLock:    {s.Lock != "", "taken_by: lease has no lock file: guards says which directories have a lease of their own"},
		KeyHolder:  {s.Holder != "", "who holds a lease is said by scope, for the mount or the worktree"},
		KeyWithout: {s.Without != "", "what becomes of a write without a lease is said by on_free, for the mount or the worktree"},
		KeyBreak:   {s.Break != Break{}, "a lease ends by its own rules: there is no lock file to break"},
		KeyOnGone:  {s.OnGone != "", "a lease ends with its holder: there is no lock file to keep or to remove"},
		KeyRecord:  {s.Record != RecordOf{}, "it needs taken_by: record"},
		KeyOnce:    {len(s.Once) > 0, "want a rule of its own for it, without taken_by: lease"},
		KeyKeep:    {len(s.Keep) > 0, "want a rule of its own for it, without taken_by: lease"},
		KeyAppend:  {len(s.Append) > 0, "want a rule of its own for it, without taken_by: lease"},
	} {
		if of.set {
			c.fail(key, -1, "%s", of.text)
		}
	}
	switch len(s.Guards) {
	case 0:
		c.fail(KeyTakenBy, -1, "want guards beside it: the directories that are worktrees, such as packages/{pkg}/**")
	case 1:
		r.dirs = c.dirs(KeyGuards, 0, s.Guards[0], false)
	default:
		c.fail(KeyGuards, 1, "want one pattern: a worktree has one directory; write another rule")
	}
	if len(s.Except) > MaxPatterns {
		c.fail(KeyExcept, -1, "want at most %d patterns", MaxPatterns)
		return
	}
	for i, text := range s.Except {
		not := c.dirs(KeyExcept, i, text, true)
		if r.dirs != nil && len(not) > len(r.dirs) {
			c.fail(KeyExcept, i, "%q lies in one of the worktrees, and a worktree has one lease for all of it", text)
		}
		if not != nil {
			r.notDirs = append(r.notDirs, not)
		}
	}
	c.apart(r)
	c.leases = append(c.leases, r)
	c.leaseAt = append(c.leaseAt, c.at)
}

func (c *compiler) dirs(key string, item int, text string, star bool) dirPattern {
	p, err := parsePattern(text)
	switch {
	case err != nil:
		c.fail(key, item, "%q: %v", text, err)
		return nil
	case p.matchesAll():
		c.fail(key, item, "%q: it matches everything: one lease for all of the source is what the layout tree has, without a rule", text)
		return nil
	}
	dirs, wrong := parseDirs(text, star)
	if wrong != "" {
		c.fail(key, item, "%q: %s", text, wrong)
		return nil
	}
	if dirs[0].text == controlName {
		c.fail(key, item, "%q: %s is no worktree", text, controlName)
	}
	return dirs
}

// apart checks that no name has two leases.
func (c *compiler) apart(r *Rule) {
	if r.dirs == nil {
		return
	}
	for i, other := range c.leases {
		if other.dirs != nil && r.dirs.overlaps(other.dirs) {
			c.fail(KeyGuards, 0, "%q overlaps with %q of rule %d, and a file has one lease", r.Guards[0], other.Guards[0], c.leaseAt[i]+1)
		}
	}
}

// controlName is a directory of JVS, whose records are no rule's.
const controlName = ".jvs"

// Leases are the rules with taken_by: lease. All has the others.
func (r *Rules) Leases() []*Rule {
	if r == nil {
		return nil
	}
	return r.leases
}

// LeaseAt returns the instance that a directory is the root of.
func (r *Rules) LeaseAt(dir string) (i Instance, ok bool) {
	names := strings.Split(dir, "/")
	for _, one := range r.Leases() {
		if len(names) == len(one.dirs) && one.mayHave(names) {
			return Instance{one, dir, one.dirs.captured(names)}, true
		}
	}
	return i, false
}

// LeaseOf returns the instance that a path lies in, or is the root of.
func (r *Rules) LeaseOf(path string) (i Instance, ok bool) {
	for end := range len(path) + 1 {
		if end == len(path) || path[end] == '/' {
			if i, ok = r.LeaseAt(path[:end]); ok {
				return i, true
			}
		}
	}
	return i, false
}

// LeasesBelow reports whether roots of instances may lie below a directory, "" for the root of the source.
func (r *Rules) LeasesBelow(dir string) bool {
	var names []string
	if dir != "" {
		names = strings.Split(dir, "/")
	}
	return slices.ContainsFunc(r.Leases(), func(one *Rule) bool { return len(names) < len(one.dirs) && one.mayHave(names) })
}

// mayHave reports whether the names lead to a root of the rule, or are one.
func (r *Rule) mayHave(names []string) bool {
	return r.dirs.begins(names) && (len(names) == 0 || names[0] != controlName) && !slices.ContainsFunc(r.notDirs, func(not dirPattern) bool {
		return len(not) <= len(names) && not.begins(names[:len(not)])
	})
}

func (p dirPattern) captured(names []string) (all []Capture) {
	for i, c := range p {
		if c.capture != "" {
			all = append(all, Capture{c.capture, names[i]})
		}
	}
	return all
}

// LeaseRoot is the root of the instance with these values of its captures, in their order.
func (r *Rule) LeaseRoot(values []string) (dir string, ok bool) {
	names := make([]string, len(r.dirs))
	for i, c := range r.dirs {
		switch {
		case c.capture == "":
			names[i] = c.text
		case len(values) == 0 || values[0] == "":
			return "", false
		default:
			names[i], values = values[0], values[1:]
		}
	}
	return strings.Join(names, "/"), len(values) == 0 && r.mayHave(names)
}
