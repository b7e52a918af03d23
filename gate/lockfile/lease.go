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
