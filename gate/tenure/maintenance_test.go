package tenure

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/integration/goroutines"
	"github.com/jvsfs/jvsfs/lease"
)

func fixing() lockfile.Spec {
	return lockfile.Spec{Name: "log", Append: []string{"log/**"}, Once: []string{"once/**"}}
}

func (p *program) holder() lease.Holder {
	p.Helper()
	h, err := p.book.cfg.Resolver.HolderFor(int(p.TID), gate.ScopeTree, "repair")
	require.NoError(p, err)
	return h
}

func (p *program) opening(path string) Opening {
	return Opening{Path: path, Holder: p.holder(), Lasts: time.Hour, By: p.Caller, Record: func(WindowView) error { return nil }}
}

func (p *program) opens(path string) *Window {
	p.Helper()
	w, err := p.book.Open(p.Context(), p.opening(path))
	require.NoError(p, err)
	return w
}

// changes enters the windows over a path that a rule fixes.
func (p *program) changes(path string) (leave func(), err error) {
	count := p.book.Pass()
	var passes []gate.Pass
	leave = func() {
		for _, pass := range passes {
			pass.End()
		}
		count.Leave()
	}
	for _, w := range p.book.Over(path, p.book.Rules().At(path)) {
		pass, no := w.Guard().Enter(gate.Request{Op: gate.OpWrite, Caller: p.Caller})
		if no != nil {
			leave()
			return nil, no
		}
		passes = append(passes, pass)
	}
	return leave, nil
}

func TestAWindowKeepsOthersOut(t *testing.T) {
	g := newGround(t, agency(nil), fixing())
	one, other := g.program(), g.program()
	w := one.opens(theFile)
	log := one.opens("log/a")
	leave, err := one.changes("log/a")
	require.NoError(t, err)
	leave()
	one.writes(theFile)
	require.NoError(t, one.make(theLock))
	require.NoError(t, one.remove(theLock))
	_, err = other.changes("log/a")
	other.refused(gate.ReasonHeldByOther, err)
	_, err = other.write(theFile)
	other.refused(gate.ReasonHeldByOther, err)
	require.Contains(t, err.Error(), "a maintenance window is open here until "+w.View().Until.Local().Format(time.DateTime))
	other.refused(gate.ReasonLockHeld, other.make(theLock))
	_, err = g.book.Open(t.Context(), other.opening(theLock))
	require.ErrorAs(t, err, new(OverlapError))
	_, err = g.book.Break(t.Context(), g.book.Rules().At(theLock).Locks[0], 0, other.Caller)
	require.ErrorIs(t, err, ErrWindow)
	require.Len(t, g.book.Windows(), 2)
	w.Close(one.Caller)
	log.Close(one.Caller)
	require.Empty(t, g.book.Windows())
	_, err = one.write(theFile)
	one.refused(gate.ReasonFree, err)
	require.NoError(t, other.make(theLock))
	other.writes(theFile)
	counts := g.book.Counts()
	require.Equal(t, []uint64{1, 1, 0, 0}, []uint64{counts[0].Windows, counts[1].Windows, counts[0].Open, counts[1].Open})
	require.Contains(t, g.seen(), WindowOpened)
	require.Contains(t, g.seen(), WindowClosed)
}

func TestAWindowTakesNothingFromAnybody(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	require.NoError(t, other.make(theLock))
	_, err := g.book.Open(t.Context(), one.opening(theFile))
	var held HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, int(other.TID), held.Holder.PID)
	other.writes(theFile)
	_, err = g.book.Open(t.Context(), one.opening("elsewhere"))
	require.ErrorIs(t, err, ErrUnprotected)
}

// The record comes first: while it is made others still write, and without it there is no window.
func TestAWindowIsRecordedBeforeItOpens(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Without = lockfile.Allow }))
	one, other := g.program(), g.program()
	o, failed := one.opening(theFile), errors.New("no space left")
	o.Record = func(v WindowView) error {
		require.Equal(t, theFile, v.Path)
		require.Empty(t, g.book.Windows())
		other.writes(theFile)
		return failed
	}
	_, err := g.book.Open(t.Context(), o)
	require.ErrorIs(t, err, failed)
	require.Empty(t, g.book.Windows())
	other.writes(theFile)
	require.NotContains(t, g.seen(), WindowOpened)
}

// What others have in flight has landed when a window is open, and what its holder has in flight when it is over.
func TestAWindowWaitsForWhatIsInFlight(t *testing.T) {
	g := newGround(t, fixing())
	one, other := g.program(), g.program()
	slow, err := other.changes("log/a")
	require.NoError(t, err)
	type outcome struct {
		w   *Window
		err error
	}
	opens := func(ctx context.Context) <-chan outcome {
		opened, o := make(chan outcome, 1), one.opening("log/a")
		go func() {
			w, err := g.book.Open(ctx, o)
			opened <- outcome{w, err}
		}()
		goroutines.MustBlock(t, opened, "tenure.(*windows).landed")
		return opened
	}
	ctx, cancel := context.WithCancel(t.Context())
	opened := opens(ctx)
	cancel()
	require.ErrorIs(t, (<-opened).err, context.Canceled)
	require.Empty(t, g.book.Windows())
	opened = opens(t.Context())
	require.True(t, g.book.SomeWindow())
	_, err = other.changes("log/a")
	other.refused(gate.ReasonHeldByOther, err)
	slow()
	got := <-opened
	require.NoError(t, got.err)
	w := got.w

	slow, err = one.changes("log/a")
	require.NoError(t, err)
	go w.Close(one.Caller)
	goroutines.MustBlock(t, w.Over(), "gate.(*epoch).drain")
	_, err = one.changes("log/a")
	require.Error(t, err, "nothing more is let in")
	slow()
	<-w.Over()
	require.Equal(t, EndClosed, w.How())
}

func TestAWindowEndsAfterItsTime(t *testing.T) {
	g := newGround(t, agency(nil), fixing())
	one, other := g.program(), g.program()
	timed := one.opens(theFile)
	g.clock.ahead.Add(int64(time.Hour))
	_, err := one.write(theFile) // perhaps before anybody has looked
	require.ErrorAs(t, err, new(*gate.Refusal))
	g.book.look()
	<-timed.Over()
	require.Equal(t, EndTime, timed.How())
	bound := other.opens("log/a")
	other.kill()
	<-bound.Over()
	require.Equal(t, EndHolder, bound.How())
	last := one.opens("log/a")
	g.book.EndWindows()
	<-last.Over()
	require.Equal(t, EndDaemon, last.How())
}

// A lock that is left is there again after the window, unless the window has removed it. One that was taken in the window is
// its taker's.
func TestLocksAreThereAgainAfterAWindow(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Break = lockfile.Break{Gone: true} }))
	dead, one, other := g.program(), g.program(), g.program()
	require.NoError(t, dead.make(theLock))
	dead.kill()
	view := func() State { return g.book.Locks()[0].State }
	require.Eventually(t, func() bool { return view() == StateGone }, time.Minute, time.Millisecond)
	w := one.opens(theLock)
	require.Equal(t, StateWindow, view())
	require.Error(t, other.remove(theLock), "nobody breaks a lock in a window")
	w.Close(one.Caller)
	require.Equal(t, StateGone, view())
	w = one.opens(theLock)
	require.NoError(t, one.remove(theLock))
	require.NoError(t, one.make(theLock))
	w.Close(one.Caller)
	require.Equal(t, StateHeld, view())
	one.writes(theFile)
	_, err := other.write(theFile)
	other.refused(gate.ReasonHeldByOther, err)
	require.NotContains(t, err.Error(), "window")
	require.NoError(t, one.remove(theLock))
	require.NoError(t, other.make(theLock))
}

// The next daemon knows who held the locks, and nothing of a window.
func TestAWindowEndsWithItsDaemon(t *testing.T) {
	g := newGround(t, agency(nil))
	dead, one := g.program(), g.program()
	require.NoError(t, dead.make(theLock))
	dead.kill()
	require.Eventually(t, func() bool { return g.book.Locks()[0].State == StateGone }, time.Minute, time.Millisecond)
	one.opens(theFile)
	g.open(agency(nil))
	require.Empty(t, g.book.Windows())
	require.Equal(t, StateGone, g.book.Locks()[0].State)
	_, err := one.write(theFile)
	require.ErrorAs(t, err, new(*gate.Refusal))
}

func TestAFlockCannotBeTakenInAWindow(t *testing.T) {
	g := newGround(t, lockfile.Spec{Name: "jit", Lock: ".lock", TakenBy: lockfile.ByFlock, Guards: []string{"data/**"}})
	one, other := g.program(), g.program()
	g.has(".lock", File{Inode: 1})
	w := one.opens(".lock")
	l := g.book.Use(g.book.Rules().At(".lock").Locks[0])
	defer l.Done()
	require.NotNil(t, l.Barred(other.Caller))
	_, err := l.Locked(other.Caller, File{Inode: 1})
	other.refused(gate.ReasonLockHeld, err)
	require.Nil(t, l.Barred(one.Caller))
	number, err := l.Locked(one.Caller, File{Inode: 1})
	require.NoError(t, err)
	w.Close(one.Caller)
	one.writes("data/x")
	l.Unlocked(number)
	require.Nil(t, l.Barred(other.Caller))
	_, err = l.Locked(other.Caller, File{Inode: 1})
	require.NoError(t, err)
	other.writes("data/x")
}
