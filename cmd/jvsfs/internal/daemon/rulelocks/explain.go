package rulelocks

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Explanation is an explanation with what the rules and the file system say.
type Explanation struct {
	gate.Explanation
	api.ByRules
	api.ByPermission
}

// Explain adds what the rules say of a path. A write must be let in by the lease and by the rules: the first that refuses
// is explained.
func (d *Locks) Explain(x gate.Explanation, path string, who process.Identity) Explanation {
	r := Explanation{Explanation: x}
	if i, ok := d.Rules.LeaseOf(path); ok && d.IsPart(x.Worktree) {
		r.Part = i.ID()
		r.Sentence += human.Printable(fmt.Sprintf("; rule %s makes %s a worktree of its own", r.Part, i.Path))
	}
	p := d.book.Rules().At(path)
	if p.Free() || d.Enforcement.Mode() == gate.ReadOnly {
		return r
	}
	var said []gate.Explanation
	exists := d.book.Exists(path)
	for _, i := range p.Guards {
		said = append(said, d.guardedBy(&r, i, path, who, exists))
	}
	for _, i := range p.Locks {
		said = append(said, d.lockOfRule(&r, i, path, who, exists))
	}
	said = append(said, d.fixedBy(&r, p, path, who, exists)...)
	for _, s := range said {
		r.join(s)
	}
	return r
}

// join adds what one rule says. What was refused before stays.
func (r *Explanation) join(s gate.Explanation) {
	switch {
	case !r.Allowed || r.WouldRefuse && s.Allowed && !s.WouldRefuse:
	case s.Class != "":
		r.Allowed, r.WouldRefuse, r.Class, r.Errno = s.Allowed, s.WouldRefuse, s.Class, s.Errno
		r.Sentence, r.Next, r.Holder, r.Exempt = s.Sentence, s.Next, s.Holder, ""
	case r.Status.Mode == gate.Shared || r.Worktree == "":
		r.Sentence = s.Sentence
	default:
		r.Sentence += "; " + s.Sentence
	}
}

func (d *Locks) guardedBy(r *Explanation, i lockfile.Instance, path string, who process.Identity, exists bool) gate.Explanation {
	x, v := d.book.Guarding(i, who.PID, !exists)
	r.Rules = append(r.Rules, v)
	sentence := fmt.Sprintf("%s is guarded by rule %s: %s", path, v.Rule, heldText(v))
	switch {
	case x.Class != "" && v.State == tenure.StateWindow:
	case x.Class != "" && v.State != tenure.StateFree:
		x.Next += d.orBreak(path)
	case x.Class != "":
	case v.State == tenure.StateHeld || v.State == tenure.StateWindow:
		sentence += ", to which the process belongs"
	default:
		sentence += ", and the rule lets this be written then"
	}
	if x.Class != "" && v.State == tenure.StateHeld && x.Sentence != "" && x.Class != (&gate.Refusal{Reason: gate.ReasonLockHeld}).Class() {
		sentence += "; " + x.Sentence // it was robbed
	}
	if x.WouldRefuse {
		sentence = "would be refused, but this mount only observes: " + sentence
	}
	x.Sentence = human.Printable(sentence)
	return x
}

// heldText says who holds a lock.
func heldText(v tenure.View) string {
	switch {
	case v.State == tenure.StateWindow && v.Holder != nil:
		return fmt.Sprintf("a maintenance window for its lock %s of %s is open until %s", v.Lock, v.HolderText(), v.Until.Local().Format(time.DateTime))
	case v.State == tenure.StateUnknown:
		return fmt.Sprintf("its lock %s is there, and nobody was seen to take it", v.Lock)
	case v.Holder == nil:
		return fmt.Sprintf("nobody holds its lock %s", v.Lock)
	case v.State == tenure.StateGone:
		return fmt.Sprintf("its lock %s is left from %s, which has ended", v.Lock, v.HolderText())
	}
	return fmt.Sprintf("its lock %s is held since %s by %s", v.Lock, human.Clock(*v.Since), v.HolderText())
}

func (d *Locks) orBreak(path string) string {
	return "; or take it away: jvsfs rules break " + human.Typed(filepath.Join(d.Paths.Mountpoint(), path)) + " (root, or who mounted)"
}

// lockOfRule explains a lock file: whether the process may change or remove it.
func (d *Locks) lockOfRule(r *Explanation, i lockfile.Instance, path string, who process.Identity, exists bool) gate.Explanation {
	no, v := d.book.Removal(i, process.Caller{TID: uint32(who.PID), UID: who.UID})
	r.Rules = append(r.Rules, v)
	x := gate.Explanation{Allowed: true, Sentence: fmt.Sprintf("%s is the lock file of rule %s", path, v.Rule)}
	switch {
	case !exists && v.State != tenure.StateWindow:
		x.Sentence += ", and who makes it holds the lock"
		if i.Rule.TakenBy == lockfile.ByFlock {
			x.Sentence = fmt.Sprintf("%s is the lock file of rule %s, and who locks it with flock(2) holds the lock", path, v.Rule)
		}
	case no != nil:
		x.Allowed, x.WouldRefuse, x.Class, x.Errno = no.Observed, no.Observed, no.Class(), d.Errno
		x.Sentence += ": " + no.Sentence()
		x.Next, x.Holder = no.Next(), v.Holder
		if v.State != tenure.StateWindow {
			x.Next += d.orBreak(path)
		}
		if v.Holder != nil {
			x.Sentence += "; " + heldText(v)
		}
	default:
		x.Sentence += ", which the process may change and remove now: " + heldText(v)
	}
	x.Sentence = human.Printable(x.Sentence)
	return x
}

// fixedBy explains once, keep and append. A write in place is what is asked about. Where a maintenance window is open, that
// decides.
func (d *Locks) fixedBy(r *Explanation, p lockfile.Place, path string, who process.Identity, exists bool) (said []gate.Explanation) {
	born, over := d.book.Born(path), d.book.Over(path, p)
	if len(p.Once)+len(p.Keep)+len(p.Append) == 0 {
		over = nil
	}
	for _, w := range over {
		said = append(said, d.inWindow(w, path, who))
	}
	for _, f := range []struct {
		key     string
		by      []*lockfile.Rule
		refuses bool
		why     gate.Reason
		passes  string
	}{
		{lockfile.KeyOnce, p.Once, exists && !born, gate.ReasonOnce, "may be made, and never be changed after that"},
		{lockfile.KeyKeep, p.Keep, false, gate.ReasonKeep, "may be written, and never be removed or renamed"},
		{lockfile.KeyAppend, p.Append, false, gate.ReasonAppend, "may only grow: a write at its end passes"},
	} {
		for _, rule := range f.by {
			r.Fixed = append(r.Fixed, f.key+" of "+rule.Name)
			if len(over) > 0 {
				continue
			}
			x := gate.Explanation{Allowed: true, Sentence: fmt.Sprintf("%s %s (%s of rule %s)", path, f.passes, f.key, rule.Name)}
			if f.refuses {
				no := gate.Refusal{Reason: f.why, Lock: &gate.LockFile{Rule: rule.Name, Path: path}, Observed: d.Enforcement.Mode() == gate.Observing}
				x = gate.Explanation{Allowed: no.Observed, WouldRefuse: no.Observed, Class: no.Class(), Errno: d.Errno, Sentence: no.Sentence(), Next: no.Next()}
			}
			x.Sentence = human.Printable(x.Sentence)
			said = append(said, x)
		}
	}
	return said
}

// inWindow explains a maintenance window over something that is fixed.
func (d *Locks) inWindow(w *tenure.Window, path string, who process.Identity) gate.Explanation {
	x, v := w.Guard().Explain(who.PID), w.View()
	sentence := fmt.Sprintf("%s is fixed by rules, and a maintenance window of %s is open there until %s", path, v.HolderText(), v.Until.Local().Format(time.DateTime))
	switch {
	case x.WouldRefuse:
		sentence = "would be refused, but this mount only observes: " + sentence
	case x.Class == "":
		sentence += ", to which the process belongs"
	}
	x.Sentence = human.Printable(sentence)
	return x
}
