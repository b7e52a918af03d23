package learn

import (
	"path"
	"slices"
	"strings"
)

// tenure is the time in which a name may have been a lock.
type tenure struct {
	lock        string
	how         Kind // Create, Mkdir, Link or Flock
	from, to    int  // the events that began and ended it
	taker, end  Who
	renamed     string // to what it was renamed in the end
	second      bool   // it got a second name: so it was a temporary file
	changed     []string
	pre, suf    string // what its name has more than the one that it guards
	derivedFrom string
}

// tenures are all, in the order of their ends.
func tenures(events []Event) (all []*tenure) {
	made, locked := map[string]*tenure{}, map[uint64]*tenure{}
	begin := func(name string, i int) *tenure {
		return &tenure{lock: name, how: events[i].Kind, from: i, to: len(events), taker: events[i].Who, end: events[i].Who}
	}
	finish := func(name string, i int) {
		if t := made[name]; t != nil {
			t.to, t.end, t.renamed = i, events[i].Who, events[i].To
			all = append(all, t)
			delete(made, name)
		}
	}
	for i, e := range events {
		switch e.Kind {
		case Create, Mkdir:
			made[e.Path] = begin(e.Path, i)
		case Link:
			made[e.To] = begin(e.To, i)
			if t := made[e.Path]; t != nil {
				t.second = true
			}
		case Rename:
			finish(e.Path, i)
			delete(made, e.To)
		case Remove:
			finish(e.Path, i)
		case Flock:
			if locked[e.Handle] == nil {
				locked[e.Handle] = begin(e.Path, i)
				all = append(all, locked[e.Handle])
			}
		case Unlock:
			if t := locked[e.Handle]; t != nil {
				t.to = i
				delete(locked, e.Handle)
			}
		}
	}
	for _, t := range all {
		t.look(events)
	}
	return slices.DeleteFunc(all, func(t *tenure) bool {
		return t.second || t.renamed != "" && t.derivedFrom == "" || t.how != Flock && len(t.changed) == 0
	})
}

// look finds what was changed meanwhile, and whether the name of the lock derives from it.
func (t *tenure) look(events []Event) {
	for i := t.from + 1; i <= t.to && i < len(events); i++ {
		for _, name := range events[i].touched() {
			if name != t.lock && !strings.HasPrefix(name, t.lock+"/") && !slices.Contains(t.changed, name) {
				t.changed = append(t.changed, name)
			}
		}
	}
	for _, name := range t.changed {
		if t.renamed != "" && name != t.renamed || path.Dir(name) != path.Dir(t.lock) {
			continue
		}
		if pre, suf, ok := strings.Cut(path.Base(t.lock), path.Base(name)); ok && len(name) > len(t.derivedFrom) {
			t.derivedFrom, t.pre, t.suf = name, pre, suf
		}
	}
}

// helped reports whether a helper took the lock, as mkdir(1) in a script: another process gave it back, which the
// taker did not start.
func (t *tenure) helped() bool {
	return t.how != Flock && t.taker.PID != t.end.PID && t.end.Parent != t.taker.PID
}
