package tenure

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
)

// Name is a name that a request is about to change.
type Name struct {
	Path   string
	Locks  []lockfile.Instance // that the path is the lock of
	Exists bool
	IsDir  bool
	Comes  bool // after the change something else lies there: it is made, or the target of a rename
	File   File // what gets the name by a link
}

// Change is a change of names: one, or the two of a rename.
type Change struct {
	Op     gate.Op
	Caller gate.Caller
	// Away begins a wait: the channel is closed when the caller does not wait any more. nil: it waits.
	Away  func() (off <-chan struct{}, end func())
	Names []Name
	From  string // the source of a rename
}

// Turn is the right to change the names of locks, one at a time. nil changes no lock.
type Turn struct {
	book   *Book
	change Change
	parts  []part
	whole  bool // of all trees
}

// part is one lock whose name changes.
type part struct {
	lock    *Lock
	name    Name
	outcome lockfile.Outcome
	taker   *lease.Holder // who is about to take the lock; nil: nobody, or one who cannot be seen
	intends bool          // that was kept
}

// Begin waits until nobody else changes one of these locks, and judges the change. It must be asked before any guard is
// entered: whoever has the turn may wait for what is in flight. Without a lock among the names it returns nil.
// interrupted says that the caller does not wait any more.
func (b *Book) Begin(c Change) (t *Turn, no *gate.Refusal, interrupted bool) {
	t = &Turn{book: b, change: c}
	dirs := false
	for _, n := range c.Names {
		for _, i := range n.Locks {
			t.parts = append(t.parts, part{lock: b.Use(i), name: n})
		}
		dirs = dirs || n.Exists && n.IsDir && c.Op == gate.OpRename
	}
	if len(t.parts) == 0 && !dirs {
		return nil, nil, false
	}
	if t.whole = dirs; dirs {
		b.trees.Lock()
	} else {
		b.trees.RLock()
	}
	if !t.take() {
		t.leave(0)
		return nil, nil, true
	}
	if no = t.judge(); no != nil && b.refuse(no) {
		t.leave(len(t.parts))
		return nil, no, false
	}
	for i := range t.parts {
		t.intend(&t.parts[i])
	}
	return t, nil, false
}

// take takes the turns of all locks, in one order for everybody.
func (t *Turn) take() bool {
	slices.SortFunc(t.parts, func(a, b part) int { return cmp.Compare(a.lock.ID(), b.lock.ID()) })
	for i, p := range t.parts {
		if i > 0 && p.lock == t.parts[i-1].lock {
			continue
		}
		if !p.lock.take(t.change) {
			t.giveBack(i)
			return false
		}
	}
	return true
}

func (l *Lock) take(c Change) bool {
	select {
	case l.turn <- struct{}{}:
		return true
	default:
	}
	if c.Away == nil {
		l.turn <- struct{}{}
		return true
	}
	off, end := c.Away()
	defer end()
	select {
	case l.turn <- struct{}{}:
		return true
	case <-off:
		return false
	}
}

func (t *Turn) giveBack(first int) {
	for i, p := range t.parts[:first] {
		if i == 0 || p.lock != t.parts[i-1].lock {
			<-p.lock.turn
		}
	}
}

// leave gives back what was taken: the turns of the first locks, and the trees.
func (t *Turn) leave(first int) {
	t.giveBack(first)
	for _, p := range t.parts {
		p.lock.Done()
	}
	if t.whole {
		t.book.trees.Unlock()
	} else {
		t.book.trees.RUnlock()
	}
}

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
	if !p.name.Exists || p.name.Comes && c.Op != gate.OpRename {
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
	p.outcome = lockfile.Breaks // where the mount only observes
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
	return &gate.Refusal{Reason: why, Op: c.Op, Caller: c.Caller, Holder: holder, Lock: &gate.LockFile{Rule: l.Rule.Name, Path: l.Path}}
}

var reasons = map[lockfile.Why]gate.Reason{
	lockfile.NoRenewal: gate.ReasonNoRenewal, lockfile.HeldByOther: gate.ReasonLockHeld, lockfile.NotYet: gate.ReasonLockStays, lockfile.RobbedBefore: gate.ReasonRobbed,
}

// facts gathers what a decision about the lock depends on.
func (l *Lock) facts(c gate.Caller, f *lockfile.Facts) (holder lease.Holder) {
	l.checkFile()
	return l.look(c, f)
}

// look is facts without a change of what is known.
func (l *Lock) look(c gate.Caller, f *lockfile.Facts) (holder lease.Holder) {
	f.State = l.state()
	id, err := l.book.cfg.Resolver.Identify(c)
	now := l.book.now()
	l.mu.Lock()
	h, robbed := l.held, slices.Clone(l.robbed)
	f.Seen = now - l.seenAt
	l.mu.Unlock()
	if h != nil {
		holder = h.holder
		f.Lives = l.book.cfg.Resolver.Liveness(h.holder) != lease.Gone
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
		h := l.held
		l.mu.Unlock()
		for _, n := range c.Names {
			if h != nil && n.IsDir && strings.HasPrefix(l.Path, n.Path+"/") {
				return l.refusal(c, gate.ReasonLockBelow, h.holder)
			}
		}
	}
	return nil
}

// End notes what has become of the locks. It must be asked when the change has left its guards.
func (t *Turn) End(done bool) {
	if t == nil {
		return
	}
	for i := range t.parts {
		if p := &t.parts[i]; done {
			p.carryOut(t.change)
		} else if p.intends {
			p.lock.intends(nil)
		}
	}
	t.leave(len(t.parts))
}

func (p *part) carryOut(c Change) {
	l := p.lock
	l.mu.Lock()
	h := l.held
	l.mu.Unlock()
	switch {
	case p.name.Exists && p.outcome == lockfile.Renews && h != nil && l.book.cfg.Resolver.Liveness(h.holder) != lease.Gone:
		l.renew()
		return
	case p.name.Exists && p.outcome == lockfile.Releases && h != nil:
		l.end(lease.LossReleased)
		l.book.tell(Event{Kind: Released, Lock: l, Holder: h.holder, Number: h.number})
	case p.name.Exists && p.outcome == lockfile.Breaks && h != nil:
		l.end(lease.LossSuperseded)
		l.book.tell(Event{Kind: Broken, Lock: l, Holder: h.holder, Number: h.number, By: c.Caller})
	case p.name.Exists && p.outcome == lockfile.Breaks:
		l.book.tell(Event{Kind: Broken, Lock: l, By: c.Caller})
	}
	if p.name.Comes && l.Rule.TakenBy != lockfile.ByFlock {
		l.taken(c.Caller, p.taker)
	}
}

// renew notes that the holder has changed its lock file: its age begins anew.
func (l *Lock) renew() {
	file, there := l.book.files.Look(l.Path)
	l.mu.Lock()
	if l.held != nil && there {
		l.held.file, l.held.renewed = file, l.book.now()
	}
	l.next = nil
	l.mu.Unlock()
	l.keep()
}

// intend keeps who is about to take or to renew the lock, before its file is there. If the daemon is killed between the two, the
// caller gets an error, but the file is there: the next daemon knows whose it is, and when it may go.
func (t *Turn) intend(p *part) {
	l := p.lock
	file, comes := t.coming(p.name)
	if !comes || l.Rule.TakenBy == lockfile.ByFlock {
		return
	}
	next := l.renewed(p.outcome)
	if next == nil {
		holder, err := l.book.cfg.Resolver.LockHolder(t.change.Caller, l.Rule.Holder)
		if err != nil {
			return // taken tells of it
		}
		p.taker = &holder
		next = &KeptTenure{Number: l.book.number.Add(1), Holder: holder, Since: time.Now(), Renewed: l.book.now()}
	}
	next.File, p.intends = file, true
	l.intends(next)
}

// coming is the file that is to lie at a name, the zero value if it is made anew; false if none comes, or it is not known which.
func (t *Turn) coming(n Name) (file File, comes bool) {
	switch {
	case !n.Comes:
		return File{}, false
	case t.change.Op == gate.OpRename:
		return t.book.files.Look(t.source(n))
	case n.Exists: // the file system refuses it
		return File{}, false
	}
	return n.File, t.change.Op != gate.OpLink || n.File != File{}
}

// source is the path from which a rename brings a name's file: in an exchange the other name.
func (t *Turn) source(to Name) string {
	for _, n := range t.change.Names {
		if t.change.From == "" && n.Path != to.Path {
			return n.Path
		}
	}
	return t.change.From
}

// renewed is the tenure as it is after a renewal; nil if the change is none.
func (l *Lock) renewed(o lockfile.Outcome) *KeptTenure {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o != lockfile.Renews || l.held == nil {
		return nil
	}
	next := l.held.kept()
	next.Renewed = l.book.now()
	return next
}

// taken begins the tenure of who has just made the lock. One that cannot be seen here holds it unknown.
func (l *Lock) taken(c gate.Caller, taker *lease.Holder) {
	file, there := l.book.files.Look(l.Path)
	if !there { // it was removed past the mount
		l.nobodys()
		return
	}
	if taker == nil {
		holder, err := l.book.cfg.Resolver.LockHolder(c, l.Rule.Holder)
		if err != nil {
			l.nobodys()
			l.book.tell(Event{Kind: Unseen, Lock: l, By: c, Err: err})
			return
		}
		taker = &holder
	}
	l.hold(*taker, file)
}

// nobodys ends the former tenure, if the lock file that it had was removed past the mount: its holder must not write beside another.
func (l *Lock) nobodys() {
	l.checkFile()
	l.intends(nil)
}

func (l *Lock) hold(holder lease.Holder, file File) (number uint64) {
	h := &held{number: l.book.number.Add(1), holder: holder, file: file, since: time.Now(), renewed: l.book.now(), born: make(map[string]bool)}
	l.callIn()
	l.begin(h)
	l.keep()
	l.book.tell(Event{Kind: Taken, Lock: l, Holder: holder, Number: h.number})
	return h.number
}
