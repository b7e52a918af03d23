package tenure

import (
	"slices"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/lease"
)

// Memory keeps what the next daemon needs to know who took which lock, should this one be killed or replaced. It need not be
// durable: after a boot no holder lives.
type Memory interface {
	Put(Kept) error
	Drop(id string) error
	All() ([]Kept, error)
}

// Kept is what Memory has of one lock. The JSON names are those of a file.
type Kept struct {
	ID   string      `json:"id"`
	Lock string      `json:"lock"`
	Held *KeptTenure `json:"held,omitempty"`
	// Next is who is about to take the lock, or to renew it. Without that, a crash between the call and what is
	// remembered of it leaves a lock that nobody is known to have made, and that stays.
	Next *KeptTenure `json:"next,omitempty"`
	// Robbed are those who lost the lock to another and have not taken it anew. The file is not theirs.
	Robbed []lease.Holder `json:"robbed,omitempty"`
	Rest   *KeptRest      `json:"rest,omitempty"`
}

// KeptTenure is a tenure as Memory has it.
type KeptTenure struct {
	Number  uint64        `json:"number"`
	Holder  lease.Holder  `json:"holder"`
	File    File          `json:"file"` // of Next the zero value: one that is made
	Since   time.Time     `json:"since"`
	Renewed time.Duration `json:"renewed"`
}

// of is whose tenure a lock file stands for, nil if for none that is kept.
func (k Kept) of(f File) *KeptTenure {
	switch {
	case k.Held != nil && f.same(k.Held.File):
		return k.Held
	case k.Next != nil && k.Next.makes(f):
		return k.Next
	}
	return nil
}

// makes tells whether a lock file is the one that was about to be there. What was to be made came since: there was none before.
// File systems stamp with the timer tick.
func (t KeptTenure) makes(f File) bool {
	if t.File == (File{}) {
		return f.Birth == 0 || f.Birth >= t.Since.Add(-stampTick).UnixNano()
	}
	return f.same(t.File)
}

const stampTick = 20 * time.Millisecond

// keep has Memory know what is known of the lock now. The caller has the turn.
func (l *Lock) keep() {
	b := l.book
	if b.cfg.Memory == nil || !b.is(leads) {
		return
	}
	if l.Rule.TakenBy == lockfile.ByFlock {
		l.keepFlock()
		return
	}
	l.mu.Lock()
	h, k := l.held, Kept{ID: l.ID(), Lock: l.Path, Next: l.next, Robbed: slices.Clone(l.robbed)}
	if h != nil {
		k.Held = h.kept()
	}
	l.mu.Unlock()
	if err := l.put(k); err != nil && h != nil {
		b.tell(Event{Kind: Unseen, Lock: l, Holder: h.holder, Number: h.number, Err: err})
	}
}

func (l *Lock) put(k Kept) error {
	if k.Held == nil && k.Next == nil && len(k.Robbed) == 0 && k.Rest == nil {
		_ = l.book.cfg.Memory.Drop(k.ID) // what stays is not believed: the file is gone, or another one
		return nil
	}
	return l.book.cfg.Memory.Put(k)
}

func (h *held) kept() *KeptTenure { return &KeptTenure{h.number, h.holder, h.file, h.since, h.renewed} }

// recall takes over what was kept, as far as the lock files are still the same.
func (b *Book) recall() {
	all, err := b.cfg.Memory.All()
	if err != nil {
		return // then those locks are unknown
	}
	for _, k := range all {
		b.believe(k)
	}
}

func (b *Book) believe(k Kept) {
	for _, i := range b.cfg.Rules.At(k.Lock).Locks {
		if i.ID() != k.ID {
			continue
		}
		l := b.Use(i)
		defer l.Done()
		l.restore(k.Rest)
		l.mu.Lock()
		l.noted = true
		l.mu.Unlock()
		if flock := l.Rule.TakenBy == lockfile.ByFlock; flock && !b.lent[k.ID] {
			k.Held = nil // it ended with its daemon
		}
		if is, there := b.files.Look(k.Lock); there {
			l.resume(k.of(is), is, k.Rest)
		}
		l.bar(k.Robbed)
		l.keep()
		return
	}
	b.stale = append(b.stale, k.ID)
}

// resume opens the tenure that the lock file stands for; nil: it is not known.
func (l *Lock) resume(was *KeptTenure, is File, rest *KeptRest) {
	if was == nil {
		return
	}
	l.book.raise(was.Number)
	l.begin((&held{number: was.Number, holder: was.Holder, file: is, since: was.Since, renewed: was.Renewed, elsewhere: l.Rule.TakenBy == lockfile.ByFlock}).bears(rest))
}

// bar keeps those out who were robbed under the daemon before.
func (l *Lock) bar(robbed []lease.Holder) {
	l.mu.Lock()
	if l.held != nil { // it may have taken the lock anew just then
		robbed = withoutHolder(robbed, l.held.holder)
	}
	l.mu.Unlock()
	robbed = l.living(slices.Clone(robbed))
	for _, h := range robbed {
		l.guard.Bar(h)
	}
	l.mu.Lock()
	l.robbed = robbed
	l.mu.Unlock()
}

// raise keeps numbers growing where the wall clock was set back.
func (b *Book) raise(past uint64) {
	for now := b.number.Load(); now < past; now = b.number.Load() {
		b.number.CompareAndSwap(now, past)
	}
}

var _ gate.Leaseholder = (*follower)(nil)
