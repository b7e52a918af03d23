package tenure

import (
	"slices"
	"strings"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

func (t *Turn) judge() *gate.Refusal {
	for i := range t.parts {
		if no := t.parts[i].judge(t.change); no != nil {
			return no
		}
	}
	if !t.whole {
		return nil
	}
	return t.book.judgeTrees(t.change)
}

func (p *part) judge(c Change) *gate.Refusal {
	l := p.lock
	window := l.window.Load() != nil
	if !window && (!p.name.Exists || p.name.Comes && c.Op != gate.OpRename) {
		return nil // the file system itself says who comes too late
	}
	f := lockfile.Facts{Act: lockfile.Take}
	if p.name.Comes {
		f.Act = lockfile.Change
	}
	holder := l.facts(c.Caller, &f)
	outcome, why := l.judge(f, c.From)
	p.outcome = outcome
	if outcome != lockfile.Refused {
		return nil
	}
	if p.outcome = lockfile.Breaks; window { // where the mount only observes
		p.outcome = lockfile.Passes
	}
	l.countRefusal()
	return l.refusal(c, reasons[why], holder)
}

// Touch judges a change of what a lock file says. By its holder it is a renewal.
func (l *Lock) Touch(c Change) *gate.Refusal {
	if l.Rule.TakenBy == lockfile.ByFlock {
		return nil
	}
	f := lockfile.Facts{Act: lockfile.Change}
	holder := l.look(c.Caller, &f) // a tenure ends in its turn alone
	b := l.Rule.Break
	if l.Rule.TakenBy == lockfile.ByRecord {
		b.After = 0 // counts from what the record says, and a record is replaced by a rename
	}
	switch outcome, why := lockfile.Judge(b, f); outcome {
	case lockfile.Refused:
		l.countRefusal()
		if no := l.refusal(c, reasons[why], holder); l.book.refuse(no) {
			return no
		}
	case lockfile.Renews:
		l.mu.Lock()
		if l.held != nil {
			l.held.renewed = l.book.now()
		}
		l.mu.Unlock()
	}
	return nil
}

// judge decides about the change of the lock's name. from is what would replace it.
func (l *Lock) judge(f lockfile.Facts, from string) (lockfile.Outcome, lockfile.Why) {
	if l.Rule.TakenBy != lockfile.ByRecord {
		return lockfile.Judge(l.Rule.Break, f)
	}
	at := l.book.cfg.Clock.Wall()
	now, next := l.record(l.Path), lockfile.Record{}
	if from != "" && f.Act == lockfile.Change {
		next = l.record(from)
	}
	return lockfile.JudgeRecord(l.Rule.Break, f, at, now, next)
}

func (l *Lock) record(path string) lockfile.Record {
	text, err := l.book.files.Read(path, lockfile.MaxRecord)
	if err != nil {
		return lockfile.Record{}
	}
	return l.Rule.Record.Read(text)
}

func (l *Lock) refusal(c Change, why gate.Reason, holder lease.Holder) *gate.Refusal {
	return &gate.Refusal{Reason: why, Op: c.Op, Caller: c.Caller, Holder: holder, Lock: &gate.LockFile{Rule: l.Rule.Name, Path: l.Path, Until: l.openUntil()}}
}

var reasons = map[lockfile.Why]gate.Reason{
	lockfile.NoRenewal: gate.ReasonNoRenewal, lockfile.HeldByOther: gate.ReasonLockHeld, lockfile.NotYet: gate.ReasonLockStays, lockfile.RobbedBefore: gate.ReasonRobbed,
}

// facts gathers what a decision about the lock depends on.
func (l *Lock) facts(c process.Caller, f *lockfile.Facts) (holder lease.Holder) {
	l.checkFile()
	return l.look(c, f)
}

// look is facts without a change of what is known.
func (l *Lock) look(c process.Caller, f *lockfile.Facts) (holder lease.Holder) {
	f.State = l.state()
	id, err := l.book.cfg.Resolver.Identify(c)
	now := l.book.now()
	l.mu.Lock()
	h, robbed := l.held, slices.Clone(l.robbed)
	f.Seen = now - l.seenAt
	l.mu.Unlock()
	if w := l.window.Load(); w != nil {
		f.Member = err == nil && now < w.deadline && l.book.cfg.Resolver.Member(w.holder, id)
		return w.holder
	}
	if h != nil {
		holder = h.holder
		f.Lives = !l.book.cfg.Resolver.Gone(h.holder)
		f.Member = err == nil && l.book.cfg.Resolver.Member(h.holder, id)
		f.Renewed = now - h.renewed
	}
	f.Robbed = err == nil && slices.ContainsFunc(robbed, func(was lease.Holder) bool { return l.book.cfg.Resolver.Member(was, id) })
	return holder
}

// checkFile forgets a tenure whose lock file was removed or replaced past the mount.
func (l *Lock) checkFile() {
	l.mu.Lock()
	h := l.held
	l.mu.Unlock()
	if h == nil || l.Rule.TakenBy == lockfile.ByFlock {
		return
	}
	if is, there := l.book.files.Look(l.Path); there && is.same(h.file) {
		return
	}
	l.end(lease.LossReleased)
	l.sum().bypassed.Add(1)
	l.book.tell(Event{Kind: Bypassed, Lock: l, Holder: h.holder, Number: h.number})
}

// judgeTrees keeps a directory where it is while somebody holds a lock below it: with the name, the lock would be another.
func (b *Book) judgeTrees(c Change) *gate.Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.all {
		l.mu.Lock()
		h, w := l.held, l.window.Load()
		l.mu.Unlock()
		for _, n := range c.Names {
			below := n.IsDir && strings.HasPrefix(l.Path, n.Path+"/")
			if w != nil && below {
				return l.refusal(c, gate.ReasonLockBelow, w.holder)
			}
			if h != nil && below {
				return l.refusal(c, gate.ReasonLockBelow, h.holder)
			}
		}
	}
	return nil
}
