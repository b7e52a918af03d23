package tenure

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// Lock is one lock file: who holds it, and the guard of what it guards.
type Lock struct {
	lockfile.Instance
	book  *Book
	guard *gate.Guard
	users atomic.Int64
	turn  wait.Mutex // whoever changes the name of the lock, or who holds it

	window atomic.Pointer[Window] // that is open; it changes in the turn alone. The guard's epoch is the window's then

	mu      sync.Mutex
	held    *held       // nil: nobody was seen to take it
	next    *KeptTenure // who is about to take it
	robbed  []lease.Holder
	seen    File // an unknown lock file, as it was first seen
	seenAt  time.Duration
	counted counted
	last    time.Duration // when it was last counted (boot clock)
	over    bool          // the daemon that leads has called it in: nobody writes under it here
	noted   bool          // Memory may have something of a flock
}

// held is a tenure.
type held struct {
	number  uint64
	holder  lease.Holder
	file    File
	since   time.Time
	renewed time.Duration // boot clock
	born    map[string]bool
	// elsewhere says that the flock is in a daemon that was replaced.
	elsewhere bool
	over      bool // its holder has ended, and what it had in flight has taken effect; only lookAfter knows
}

type counted struct{ tenures, breaks, refusals uint64 }

// removeAgain is how long to wait before a lock file is removed that could not be: a disk was full, a snapshot was taken,
// or the mount was read-only.
const removeAgain = time.Second

// forever is the deadline of a tenure: it has none.
const forever = time.Duration(1<<63 - 1)

func newLock(b *Book, i lockfile.Instance) *Lock {
	l := &Lock{Instance: i, book: b, turn: wait.NewMutex()}
	onFree := gate.DenyOnFree
	if i.Rule.Without == lockfile.Allow {
		onFree = gate.AllowOnFree
	}
	l.guard = gate.NewGuard(gate.GuardConfig{
		Worktree: b.cfg.Worktree, Mode: gate.Exclusive, OnFree: onFree, MakeOnFree: i.Rule.Without == lockfile.Create, Errno: b.cfg.Errno,
		Lock: &gate.LockFile{Rule: i.Rule.Name, Path: i.Path}, Policy: record.Policy{}, Clock: b.cfg.Clock, Resolver: b.cfg.Resolver, Exits: b.cfg.Exits,
		Enforcement: b.cfg.Enforcement, OnRefusal: l.refused, Until: l.openUntil,
	})
	l.guard.Bind((*follower)(l))
	b.files.Prepare(l.guard)
	return l
}

// Guard is the guard of what the lock guards.
func (l *Lock) Guard() *gate.Guard { return l.guard }

// Again is Use of the same lock by one more.
func (l *Lock) Again() *Lock {
	l.users.Add(1)
	return l
}

// Done ends Use.
func (l *Lock) Done() { l.users.Add(-1) }

// Bore notes that a path was made in the current tenure: until that is over, once does not protect it.
func (l *Lock) Bore(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		l.held.born[path] = true
	}
}

// HasBorn reports whether a path was made in the current tenure.
func (l *Lock) HasBorn(path string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held != nil && l.held.born[path]
}

func (l *Lock) refused(no *gate.Refusal) {
	l.countRefusal()
	if l.book.cfg.OnRefusal != nil {
		l.book.cfg.OnRefusal(no)
	}
}

// isPlain reports whether the lock can be forgotten: nobody holds it, and nobody was robbed of it.
func (l *Lock) isPlain() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held == nil && len(l.robbed) == 0 && l.window.Load() == nil
}

// begin opens a tenure. The former one, if any, is over when it returns. The caller has the turn.
func (l *Lock) begin(h *held) {
	l.mu.Lock()
	before := l.held
	l.held, l.next = h, nil
	l.robbed = withoutHolder(l.robbed, h.holder)
	l.counted.tenures++
	l.last = l.book.now()
	l.mu.Unlock()
	l.sum().tenures.Add(1)
	if before != nil {
		l.close(before, lease.LossReleased)
	}
	if l.window.Load() == nil { // otherwise it begins when the window ends
		l.open(h)
	}
}

func (l *Lock) open(h *held) {
	l.guard.Admit(h.holder)
	l.guard.Open(lease.Grant{Token: lease.Token(h.number), Holder: h.holder, Deadline: forever})
	if l.book.cfg.Resolver.Gone(h.holder) { // before its end was watched for
		l.book.mayHaveEnded(l)
	}
}

// end closes the tenure: nothing is in flight under it when it returns. The caller has the turn.
func (l *Lock) end(kind lease.LossKind) {
	l.mu.Lock()
	h := l.held
	l.mu.Unlock()
	if h == nil {
		return
	}
	l.close(h, kind)
	l.mu.Lock()
	if kind == lease.LossSuperseded {
		l.robbed = append(l.living(withoutHolder(l.robbed, h.holder)), h.holder)
		l.counted.breaks++
		l.sum().breaks.Add(1)
	}
	l.held, l.last = nil, l.book.now()
	l.mu.Unlock()
	l.keep()
}

func (l *Lock) close(h *held, kind lease.LossKind) {
	if l.window.Load() != nil {
		return
	}
	l.callIn()
	l.guard.Close(lease.Loss{Kind: kind, Token: lease.Token(h.number), Holder: h.holder})
}

// living leaves out the holders that have ended: nothing comes from them.
func (l *Lock) living(all []lease.Holder) []lease.Holder {
	return slices.DeleteFunc(all, l.book.cfg.Resolver.Gone)
}

func withoutHolder(all []lease.Holder, h lease.Holder) (rest []lease.Holder) {
	for _, one := range all {
		if one.PID != h.PID || one.StartTime != h.StartTime || one.Scope != h.Scope || one.ScopeKey != h.ScopeKey {
			rest = append(rest, one)
		}
	}
	return rest
}

// lookAfter ends the tenure of a holder that has ended, and removes its lock file if the rule says so.
func (l *Lock) lookAfter(ctx context.Context) {
	if !l.turn.LockOr(ctx.Done()) {
		return
	}
	removed := l.book.is(leads) && l.afterTheEnd()
	l.turn.Unlock()
	if removed {
		l.book.files.Forget(l.Path)
	}
}

// afterTheEnd reports whether it has removed the lock file. The caller has the turn.
func (l *Lock) afterTheEnd() (removed bool) {
	l.mu.Lock()
	h := l.held
	l.mu.Unlock()
	if h == nil || !l.book.cfg.Resolver.Gone(h.holder) || l.window.Load() != nil {
		return false
	}
	first := !h.over
	if h.over = true; first {
		l.close(h, lease.LossHolderGone)
		l.book.tell(Event{Kind: HolderGone, Lock: l, Holder: h.holder, Number: h.number})
	}
	if l.Rule.OnGone != lockfile.Remove {
		return false
	}
	if err := l.book.files.Remove(l.Path, h.file); err != nil {
		if first {
			l.book.tell(Event{Kind: Stays, Lock: l, Holder: h.holder, Number: h.number, Err: err})
		}
		time.AfterFunc(removeAgain, func() { l.book.mayHaveEnded(l) })
		return false
	}
	l.mu.Lock()
	l.held = nil
	l.mu.Unlock()
	l.keep()
	l.book.tell(Event{Kind: Removed, Lock: l, Holder: h.holder, Number: h.number})
	return true
}

// follower is a lock as its guard's Leaseholder.
type follower Lock

var errFollows = errors.New("a lock file is taken by its own program")

// Acquire is never asked: no rule takes a lock for a writer.
func (f *follower) Acquire(context.Context, lease.Holder) (lease.Grant, error) {
	return lease.Grant{}, errFollows
}

// Observe tells whether the lock is free while no tenure is open.
func (f *follower) Observe() (lease.Head, lease.Judgement) {
	l := (*Lock)(f)
	if l.state() == lockfile.Free {
		return lease.Head{}, lease.Judgement{State: lease.Free}
	}
	return lease.Head{}, lease.Judgement{State: lease.Held}
}

// Late is never asked: no mutation is late.
func (f *follower) Late(lease.LateWrite) error { return nil }

// Past tells nothing: who was robbed is known to the guard.
func (f *follower) Past(lease.Token, lease.Token) ([]lease.Past, error) { return nil, nil }

// Look has the holder looked at.
func (f *follower) Look() { f.book.mayHaveEnded((*Lock)(f)) }

// state asks the backing file system if nobody was seen to take the lock.
func (l *Lock) state() lockfile.State {
	if l.window.Load() != nil {
		return lockfile.Window
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil || l.over {
		return lockfile.Held
	}
	file, there := l.book.files.Look(l.Path)
	if !there || l.Rule.TakenBy == lockfile.ByFlock {
		l.seen = File{}
		return lockfile.Free
	}
	if file != l.seen {
		l.seen, l.seenAt = file, l.book.now()
	}
	return lockfile.Unknown
}
