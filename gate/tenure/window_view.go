package tenure

import (
	"cmp"
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/gate"
)

// WindowView is a maintenance window as it is shown. The JSON names are stable.
type WindowView struct {
	Window uint64           `json:"window"` // its number
	Path   string           `json:"path"`   // below the source; "" is all of it
	Rules  []string         `json:"rules"`  // that it concerns
	Locks  []string         `json:"locks,omitempty"`
	Holder *gate.HolderView `json:"holder"`
	Since  time.Time        `json:"since"`
	Until  time.Time        `json:"until"` // at the latest
}

// View shows the window.
func (w *Window) View() WindowView {
	v := WindowView{Window: w.number, Path: w.path, Holder: gate.ViewOf(w.holder, 0), Since: w.since.UTC(), Until: w.until.UTC()}
	for _, r := range w.rules {
		v.Rules = append(v.Rules, r.Name)
	}
	for _, l := range w.locks {
		v.Locks = append(v.Locks, l.ID())
	}
	return v
}

// HolderText names the holder for people.
func (v WindowView) HolderText() string { return View{Holder: v.Holder}.HolderText() }

// Windows are all that are open, by their paths.
func (b *Book) Windows() (all []WindowView) {
	if b == nil {
		return nil
	}
	for _, w := range b.open() {
		all = append(all, w.View())
	}
	slices.SortFunc(all, func(a, b WindowView) int { return cmp.Compare(a.Path, b.Path) })
	return all
}
