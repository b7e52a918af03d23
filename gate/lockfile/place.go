package lockfile

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Instance is a rule with its captures filled in: one lock file.
type Instance struct {
	Rule     *Rule
	Path     string // of the lock file, below the source
	Captures []Capture
}

// ID names the instance: "agency{repo=abc}". Two instances are the same if their ids are: a value in which something could be taken for
// the end of it stands in quotes, "agency{repo=\"a,b\"}".
func (i Instance) ID() string {
	var b strings.Builder
	b.WriteString(i.Rule.Name)
	if len(i.Captures) == 0 {
		return b.String()
	}
	b.WriteByte('{')
	for n, c := range i.Captures {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString(c.Name + "=" + encoded(c.Value))
	}
	b.WriteByte('}')
	return b.String()
}

// encoded is a value as it stands in a compound key: as it is if nothing in it separates, or in Go's quotes. No value without quotes begins
// with one, so no two values are encoded alike.
func encoded(value string) string {
	if strings.ContainsAny(value, ",={}\"\\") || strings.ContainsFunc(value, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(value)
	}
	return value
}

// Place is what the rules say of a path. The zero value says nothing.
type Place struct {
	Locks  []Instance // the path is their lock
	Guards []Instance // the path is guarded by them
	Once   []*Rule
	Keep   []*Rule
	Append []*Rule
}

// Free reports whether no rule says anything.
func (p Place) Free() bool {
	return len(p.Locks)+len(p.Guards)+len(p.Once)+len(p.Keep)+len(p.Append) == 0
}

// SomeGrow reports whether a rule says that some file may only grow.
func (r *Rules) SomeGrow() bool {
	return slices.ContainsFunc(r.All(), func(one *Rule) bool { return len(one.append) > 0 })
}

// Fixes reports whether the rule says that anything is fixed: once, keep or append.
func (r *Rule) Fixes() bool { return len(r.once)+len(r.keep)+len(r.append) > 0 }

// At says what the rules say of a path below the worktree's root. For a path that no rule says anything of it
// allocates nothing.
func (r *Rules) At(path string) (p Place) {
	if r == nil || ofRecords(path) {
		return p
	}
	for _, one := range r.all {
		one.at(path, &p)
	}
	return p
}

func (r *Rule) at(path string, p *Place) {
	if i, ok := r.lockAt(path); ok {
		p.Locks = append(p.Locks, i)
	}
	if i, ok := r.guardOf(path); ok && !matchesAny(r.except, path) {
		p.Guards = append(p.Guards, i)
	}
	if matchesAny(r.once, path) {
		p.Once = append(p.Once, r)
	}
	if matchesAny(r.keep, path) {
		p.Keep = append(p.Keep, r)
	}
	if matchesAny(r.append, path) {
		p.Append = append(p.Append, r)
	}
}

// lockAt returns the instance whose lock a path is.
func (r *Rule) lockAt(path string) (i Instance, ok bool) {
	if r.lock == nil {
		return i, false
	}
	caught, ok := r.lock.match(path)
	return Instance{r, path, caught}, ok
}

// guardOf returns the instance that guards a path. The captures are those that the lock's own pattern finds in its
// path, so that the lock and all that it guards are of one instance.
func (r *Rule) guardOf(path string) (i Instance, ok bool) {
	for _, g := range r.guards {
		caught, matched := g.match(path)
		if !matched {
			continue
		}
		if i, ok = r.lockAt(r.lock.fill(caught)); ok && i.Path != path {
			return i, true
		}
	}
	return Instance{}, false
}

// Below says what guards everything right below a directory: a change of the directory's own name concerns it.
// Captures that only a deeper name would tell are not known. A lock that is a directory (mkdir) does not guard itself:
// else nobody could break it.
func (r *Rules) Below(dir string) (guards []Instance) {
	const any = "\x00"
	for _, one := range r.All() {
		i, ok := one.guardOf(dir + "/" + any)
		if ok && !strings.Contains(i.Path, any) && i.Path != dir && !matchesAny(one.except, dir+"/"+any) {
			guards = append(guards, i)
		}
	}
	return guards
}
