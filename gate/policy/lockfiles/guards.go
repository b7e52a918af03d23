package lockfiles

import (
	"slices"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Guard is what guards what a change is of: a lock, or a maintenance window; or it counts the change.
type Guard struct {
	Lock   *tenure.Lock // nil: it is none
	Makes  bool         // the change makes the name
	window *tenure.Window
	counts *tenure.Passing
}

// Gate is the gate to be asked; nil: none.
func (g Guard) Gate() *gate.Guard {
	switch {
	case g.window != nil:
		return g.window.Guard()
	case g.Lock != nil:
		return g.Lock.Guard()
	}
	return nil
}

// Guards are those of one change. Drop must follow when it has been made, or not.
type Guards []Guard

// Drop lets go of them.
func (all Guards) Drop() {
	for _, g := range all {
		switch {
		case g.Lock != nil:
			g.Lock.Done()
		case g.counts != nil:
			g.counts.Leave()
		}
	}
}

// InWindow reports whether a window decides, and not the rules.
func (all Guards) InWindow() bool {
	return slices.ContainsFunc(all, func(g Guard) bool { return g.window != nil })
}

// by adds the locks of instances, each once.
func (p *Policy) by(all Guards, of []lockfile.Instance, makes bool) Guards {
	for _, i := range of {
		all = all.with(Guard{Lock: p.book.Use(i), Makes: makes})
	}
	return all
}

// with adds a lock, unless it is there already.
func (all Guards) with(g Guard) Guards {
	if slices.ContainsFunc(all, func(have Guard) bool { return have.Lock == g.Lock }) {
		g.Lock.Done()
		return all
	}
	return append(all, g)
}

// While a maintenance window is open (gate/tenure), its guard decides who changes what rules fix there, and not the rules: its holder
// everything, others nothing. What a lock guards is under the lock's own guard, of which the window has the epoch.

// over counts a change of what rules fix, and adds the windows that are open over it. It is empty where nothing is fixed.
func (p *Policy) over(path string, place lockfile.Place) (all Guards) {
	if path == "" || !fixes(place) {
		return nil
	}
	return p.windows(Guards{{counts: p.book.Pass()}}, path, place)
}

// windows adds those that are open over a path. The change is counted.
func (p *Policy) windows(all Guards, path string, place lockfile.Place) Guards {
	for _, w := range p.book.Over(path, place) {
		all = append(all, Guard{window: w})
	}
	return all
}

// fixes reports whether anything is fixed at a place.
func fixes(p lockfile.Place) bool { return len(p.Once)+len(p.Keep)+len(p.Append) > 0 }
