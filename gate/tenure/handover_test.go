package tenure

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// loans are those of two daemons in one process: what one lends the other calls in.
type loans struct {
	mu     sync.Mutex
	lent   map[string]*Book
	called []string
}

// loansOf are the loans as a book sees them.
type loansOf struct {
	*loans
	g *ground
}

func (l loansOf) Lend(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lent[id] = l.g.book
	return nil
}

func (l loansOf) Redeem(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.lent, id)
}

func (l loansOf) Lent() ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.lent)), nil
}

func (l loansOf) CallIn(id string) {
	l.mu.Lock()
	l.called = append(l.called, id)
	lender := l.lent[id]
	l.mu.Unlock()
	if lender != nil {
		lender.GiveUp(id)
	}
}

func (l loansOf) Returned(ctx context.Context, id string) bool {
	for ids, _ := l.Lent(); slices.Contains(ids, id); ids, _ = l.Lent() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(time.Millisecond):
		}
	}
	return true
}

// replaces has another daemon take the place, under these rules. It returns the book of the one before.
func (g *ground) replaces(all *loans, specs ...lockfile.Spec) (old *Book) {
	g.Helper()
	old = g.book
	old.cfg.Loans = loansOf{all, &ground{book: old}}
	require.NoError(g, old.Follow())
	g.joins, g.loans = true, loansOf{all, g}
	g.open(specs...)
	g.joins = false
	require.NoError(g, g.book.Join())
	g.book.Lead()
	return old
}

func newLoans() *loans { return &loans{lent: make(map[string]*Book)} }

// The age of a tenure counts on where another daemon goes on with it, and so does that of a lock that nobody was seen to take.
func TestTheAgeOfALockGoesOnUnderTheNextDaemon(t *testing.T) {
	rule := agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{After: time.Hour, Unknown: time.Hour} })
	g := newGround(t, rule)
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	g.has("repos/x/.lock", File{Inode: 99})
	other.refused(gate.ReasonLockStays, other.remove("repos/x/.lock")) // it is seen now
	g.clock.ahead.Add(int64(40 * time.Minute))
	g.replaces(newLoans(), rule)
	other.refused(gate.ReasonLockHeld, other.remove(theLock))
	other.refused(gate.ReasonLockStays, other.remove("repos/x/.lock"))
	g.clock.ahead.Add(int64(21 * time.Minute))
	require.NoError(t, other.remove("repos/x/.lock"))
	require.NoError(t, other.remove(theLock))
	one.refusedWrite(theFile, "stays out")
	require.NoError(t, other.make(theLock))
	g.replaces(newLoans(), rule)
	one.refused(gate.ReasonRobbed, one.remove(theLock))
	one.refusedWrite(theFile, "stays out")
	other.writes(theFile)
}

// What rests on a lock in the old daemon is over before the tenure is in the new one, or before another begins.
func TestTheOldDaemonEndsItsUseOfALockBeforeItChangesHands(t *testing.T) {
	rule := agency(func(s *lockfile.Spec) { s.Without = lockfile.Allow })
	g, all := newGround(t, rule), newLoans()
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	held := g.book.Use(g.book.Rules().At(theLock).Locks[0])
	free := g.book.Use(g.book.Rules().At("repos/b/.lock").Locks[0])
	id, freeID := held.ID(), free.ID()
	g.replaces(all, rule)
	require.Len(t, all.lent, 2)
	open := func(l *Lock, p *program) *gate.Refusal {
		pass, no := l.Guard().Enter(gate.Request{Op: gate.OpWrite, Caller: p.Caller})
		if no == nil {
			pass.End()
		}
		return no
	}
	require.Nil(t, open(held, one))
	require.NotNil(t, open(held, other))
	require.Nil(t, open(free, other))
	require.NoError(t, one.remove(theLock))
	require.Equal(t, []string{id}, all.called)
	require.NotNil(t, open(held, one), "its tenure is over")
	require.NotNil(t, open(held, other), "it is not this daemon's to say who may write")
	require.Nil(t, open(free, other))
	require.NoError(t, other.make("repos/b/.lock"))
	require.Equal(t, []string{id, freeID}, all.called)
	require.NotNil(t, open(free, other), "it was opened without a lock")
	require.NoError(t, other.remove("repos/b/.lock"))
	require.NotNil(t, open(free, other), "nor may anybody when the lock is free again: it must be opened anew")
	require.Len(t, all.called, 2, "once for each")
	require.Empty(t, all.lent)
}

// A daemon that was not replaced after all goes on with what it had, whatever the other one has made of the notes.
func TestADaemonThatWasNotReplacedGoesOnWithItsLocks(t *testing.T) {
	g, all := newGround(t, agency(nil)), newLoans()
	one, other := g.program(), g.program()
	require.NoError(t, one.make(theLock))
	g.book.cfg.Loans = loansOf{all, g}
	used := g.book.Use(g.book.Rules().At(theLock).Locks[0])
	defer used.Done()
	require.NoError(t, g.book.Follow())
	require.Len(t, all.lent, 1)
	clear(g.kept)
	g.book.TakeBack()
	require.Empty(t, all.lent)
	require.Len(t, g.kept, 1)
	one.writes(theFile)
	other.refused(gate.ReasonLockHeld, other.remove(theLock))
	require.NoError(t, one.remove(theLock))
	require.False(t, slices.Contains(g.seen(), Bypassed))
}

// A daemon that follows acts on nothing: the end of a holder is the next one's to deal with.
func TestAReplacedDaemonDoesNotActOnTheEndOfAHolder(t *testing.T) {
	rule := agency(func(s *lockfile.Spec) { s.OnGone = lockfile.Remove })
	g := newGround(t, rule)
	one := g.program()
	require.NoError(t, one.make(theLock))
	old := g.replaces(newLoans(), rule)
	one.kill()
	require.Eventually(t, func() bool { return slices.Contains(g.seen(), Removed) }, time.Minute, time.Millisecond)
	old.lockOf(old.Rules().At(theLock).Locks[0]).lookAfter(context.Background())
	require.Equal(t, []EventKind{Taken, HolderGone, Removed}, g.seen())
}
