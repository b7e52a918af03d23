package tenure

import (
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

// Kept is a tenure as Memory has it. The JSON names are those of a file.
type Kept struct {
	ID      string        `json:"id"`
	Lock    string        `json:"lock"`
	Number  uint64        `json:"number"`
	Holder  lease.Holder  `json:"holder"`
	File    File          `json:"file"`
	Since   time.Time     `json:"since"`
	Renewed time.Duration `json:"renewed"`
}

// is tells whether a lock file is the one that was taken. Without one the taker was about to make it: then a file that came since is
// his, for there was none. File systems stamp with the timer tick.
func (k Kept) is(f File) bool {
	if k.File == (File{}) {
		return f.Birth == 0 || f.Birth >= k.Since.Add(-stampTick).UnixNano()
	}
	return f.same(k.File)
}

const stampTick = 20 * time.Millisecond

// intend has the one kept who is about to make the lock file. Without that, a crash in between leaves an unknown lock.
func (b *Book) intend(l *Lock, holder lease.Holder) {
	if b.cfg.Memory != nil {
		_ = b.cfg.Memory.Put(Kept{ID: l.ID(), Lock: l.Path, Number: b.number.Add(1), Holder: holder, Since: time.Now(), Renewed: b.now()})
	}
}

// remember has the tenure kept before its taker gets its answer.
func (b *Book) remember(l *Lock) {
	if b.cfg.Memory == nil || l.Rule.TakenBy == lockfile.ByFlock {
		return
	}
	l.mu.Lock()
	h := l.held
	l.mu.Unlock()
	if h == nil {
		return
	}
	if err := b.cfg.Memory.Put(Kept{l.ID(), l.Path, h.number, h.holder, h.file, h.since, h.renewed}); err != nil {
		b.tell(Event{Kind: Unseen, Lock: l, Holder: h.holder, Number: h.number, Err: err})
	}
}

func (b *Book) forget(l *Lock) {
	if b.cfg.Memory != nil && l.Rule.TakenBy != lockfile.ByFlock {
		_ = b.cfg.Memory.Drop(l.ID()) // what stays is not believed: the file is gone, or another one
	}
}

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
	is, there := b.files.Look(k.Lock)
	for _, i := range b.cfg.Rules.At(k.Lock).Locks {
		if i.ID() != k.ID || !there || !k.is(is) {
			continue
		}
		l := b.Use(i)
		b.raise(k.Number)
		l.begin(&held{number: k.Number, holder: k.Holder, file: is, since: k.Since, renewed: k.Renewed, born: make(map[string]bool)})
		if b.cfg.Resolver.Liveness(k.Holder) == lease.Gone {
			b.mayHaveEnded(l)
		}
		b.remember(l)
		l.Done()
		return
	}
	_ = b.cfg.Memory.Drop(k.ID)
}

// raise keeps numbers growing where the wall clock was set back.
func (b *Book) raise(past uint64) {
	for now := b.number.Load(); now < past; now = b.number.Load() {
		b.number.CompareAndSwap(now, past)
	}
}

var _ gate.Leaseholder = (*follower)(nil)
