package learn

import (
	"path"
	"slices"
	"strings"
)

// group is the tenures of what looks like one rule.
type group struct {
	derived  bool // the name of the lock is that of what it guards, with pre and suf around it
	pre, suf string
	base     string // otherwise: the name that all its locks have
	tenures  []*tenure
}

// Found is what a list of events tells of locks.
type Found struct {
	rules  []*group
	maybe  []*group // seen once, and not called a lock
	ranges []string // files of which ranges were locked
	once   []string // files that were made, and never changed again by another
	gone   []string // names that had gone in the end
	events []Event
}

// Any reports whether there is a rule to propose.
func (f Found) Any() bool { return len(f.rules) > 0 }

// Ranges are the files of which ranges were locked with fcntl.
func (f Found) Ranges() []string { return f.ranges }

// Maybe are names that may be locks.
func (f Found) Maybe() (names []string) {
	for _, g := range f.maybe {
		names = append(names, g.tenures[0].lock)
	}
	return names
}

// Find looks for locks in what was done.
func Find(events []Event) Found {
	f := Found{events: events}
	f.sort(tenures(events))
	there, maker := map[string]bool{}, map[string]int{}
	for _, e := range events {
		switch e.Kind {
		case Range:
			if !slices.Contains(f.ranges, e.Path) {
				f.ranges = append(f.ranges, e.Path)
			}
		case Create, Open:
			there[e.Path], maker[e.Path] = true, e.Who.PID
		case Link, Rename:
			_, old := there[e.To]
			there[e.To] = !old
			maker[e.To] = e.Who.PID
			if e.Kind == Rename {
				there[e.Path] = false
			}
		case Remove:
			there[e.Path] = false
		case Change:
			if _, made := there[e.Path]; made && maker[e.Path] != e.Who.PID {
				delete(maker, e.Path) // changed by another
			}
		}
	}
	for name, is := range there {
		if _, unchanged := maker[name]; is && unchanged {
			f.once = append(f.once, name)
		} else if !is {
			f.gone = append(f.gone, name)
		}
	}
	slices.Sort(f.once)
	slices.Sort(f.gone)
	return f
}

// sort puts tenures of one rule together.
func (f *Found) sort(all []*tenure) {
	var groups []*group
	for _, derived := range []bool{true, false} { // what derives comes first: others may have the same affix
		for _, t := range all {
			if (t.derivedFrom != "") != derived {
				continue
			}
			at := slices.IndexFunc(groups, func(g *group) bool { return g.takes(t) })
			if at < 0 {
				groups = append(groups, &group{derived: derived, pre: t.pre, suf: t.suf, base: path.Base(t.lock)})
				at = len(groups) - 1
			}
			groups[at].tenures = append(groups[at].tenures, t)
		}
	}
	for _, g := range groups {
		switch {
		case g.sure():
			f.rules = append(f.rules, g)
		case g.tenures[0].renamed == "":
			f.maybe = append(f.maybe, g)
		}
	}
}

func (g *group) takes(t *tenure) bool {
	base := path.Base(t.lock)
	switch {
	case (g.tenures[0].how == Flock) != (t.how == Flock):
		return false
	case !g.derived:
		return g.base == base
	case t.derivedFrom != "":
		return g.pre == t.pre && g.suf == t.suf
	}
	return len(base) > len(g.pre+g.suf) && strings.HasPrefix(base, g.pre) && strings.HasSuffix(base, g.suf)
}

// sure tells locks from temporary files: those have a new name each time.
func (g *group) sure() bool {
	name := g.base
	if g.derived {
		name = g.pre + g.suf
	}
	name = strings.ToLower(name)
	return len(g.tenures) > 1 || g.tenures[0].how == Flock || g.tenures[0].how == Mkdir && g.tenures[0].renamed == "" ||
		strings.Contains(name, "lock") || strings.Contains(name, "lck")
}

// dirs are the directories that the locks are in.
func (g *group) dirs() (dirs []string) {
	for _, t := range g.tenures {
		dirs = append(dirs, path.Dir(t.lock))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
