package lockfile

import "strings"

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
	dirs, ok := parseDirs(text, star)
	if !ok {
		c.fail(key, item, "%q: %s", text, leaseShape)
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

const leaseShape = "want whole components, each a text or one capture, and '/**' at the end, such as packages/{pkg}/**"

// everythingBelow ends each pattern of a lease.
const everythingBelow = "/**"

// parseDirs reads a pattern of a lease. In except a component may be "*".
func parseDirs(text string, star bool) (dirs dirPattern, ok bool) {
	above, ok := strings.CutSuffix(text, everythingBelow)
	if !ok {
		return nil, false
	}
	for name := range strings.SplitSeq(above, "/") {
		capture := strings.TrimSuffix(strings.TrimPrefix(name, "{"), "}")
		switch {
		case star && name == "*":
			dirs = append(dirs, component{})
		case name == "{"+capture+"}" && isCaptureName(capture):
			dirs = append(dirs, component{capture: capture})
		case strings.ContainsAny(name, `{}*?[]\`):
			return nil, false
		default:
			dirs = append(dirs, component{text: name})
		}
	}
	return dirs, true
}
