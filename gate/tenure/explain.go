package tenure

import (
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Guarding says whether a process may write to what a lock guards. makes says that the name would be made.
func (b *Book) Guarding(i lockfile.Instance, pid int, makes bool) (gate.Explanation, View) {
	l := b.lockOf(i)
	defer l.Done()
	x, v := l.guard.Explain(pid), l.View()
	if v.State == StateFree && makes && i.Rule.Without == lockfile.Create && b.cfg.Enforcement.Mode() != gate.ReadOnly {
		x.Allowed, x.WouldRefuse, x.Class, x.Errno, x.Next = true, false, "", "", ""
	}
	return x, v
}

// Removal says whether a caller may remove the lock file. Nothing is counted. no is why not.
func (b *Book) Removal(i lockfile.Instance, c process.Caller) (no *gate.Refusal, v View) {
	l := b.lockOf(i)
	defer l.Done()
	v = l.View()
	f := lockfile.Facts{Act: lockfile.Take}
	holder := l.look(c, &f)
	if outcome, why := lockfile.Judge(l.Rule.Break, f); outcome == lockfile.Refused {
		no = l.refusal(Change{Op: gate.OpUnlink, Caller: c}, reasons[why], holder)
		no.Errno, no.Worktree = b.cfg.Errno, b.cfg.Worktree
		no.Observed = b.cfg.Enforcement.Mode() == gate.Observing
	}
	return no, v
}

// Exists reports whether something lies at a path below the source.
func (b *Book) Exists(path string) bool {
	_, there := b.files.Look(path)
	return there
}

// Born reports whether a path was made in a tenure that still lasts: until that is over, once does not protect it.
func (b *Book) Born(path string) bool {
	for _, i := range b.cfg.Rules.At(path).Guards {
		l := b.lockOf(i)
		born := l.HasBorn(path)
		l.Done()
		if born {
			return true
		}
	}
	return false
}
