package tenure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/integration/goroutines"
)

// A program asks for a removal when no lock file is there, and waits for its turn: it is judged by the lock that is there then.
func TestARemovalThatWaitedIsJudgedByTheLockThatIsThereThen(t *testing.T) {
	g := newGround(t, agency(nil))
	one, other := g.program(), g.program()
	n := Name{Path: theLock, Comes: true, Locks: g.book.Rules().At(theLock).Locks}
	turn, no, _ := g.book.Begin(Change{Op: gate.OpCreate, Caller: one.Caller, Names: []Name{n}})
	require.Nil(t, no)
	waits, removed := make(chan struct{}), make(chan *gate.Refusal, 1)
	go func() {
		n := Name{Path: theLock, Locks: n.Locks}
		later, no, _ := g.book.Begin(Change{Op: gate.OpUnlink, Caller: other.Caller, Names: []Name{n}, Away: func() (<-chan struct{}, func()) {
			close(waits)
			return nil, func() {}
		}})
		later.End(false)
		removed <- no
	}()
	<-waits
	g.has(theLock, File{Inode: 50})
	turn.End(true)
	no = <-removed
	require.NotNil(t, no)
	require.Equal(t, gate.ReasonLockHeld, no.Reason)
}

// A file is flocked, and before that is noted another has the name, which somebody has flocked: that one holds the lock.
func TestAFlockOfAFileThatLostItsNameHoldsNoLock(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.TakenBy = lockfile.ByFlock }))
	one, other := g.program(), g.program()
	l := g.book.Use(g.book.Rules().At(theLock).Locks[0])
	defer l.Done()
	g.has(theLock, File{Inode: 51})
	_, err := l.Locked(other.Caller, File{Inode: 51})
	require.NoError(t, err)
	_, err = l.Locked(one.Caller, File{Inode: 50})
	require.ErrorIs(t, err, errNoName)
	other.writes(theFile)
	one.refusedWrite(theFile, "held by")
	g.has(theLock, File{})
	_, err = l.Locked(one.Caller, File{Inode: 50})
	require.ErrorIs(t, err, errNoName)
}

// Somebody who cannot be identified takes a lock that nobody needs to write: what is in flight without it comes first.
func TestWritesWithoutALockEndBeforeAnUnknownProgramTakesIt(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.Without = lockfile.Allow }))
	one, other := g.program(), g.program()
	leave, err := one.write(theFile)
	require.NoError(t, err)
	other.kill()
	made := make(chan error, 1)
	go func() { made <- other.make(theLock) }()
	goroutines.MustBlock(t, made, "gate.(*Guard).EndFree")
	leave()
	require.NoError(t, <-made)
	one.refusedWrite(theFile, "is left from a process")
}

// Who was robbed stays out under the next daemon, too.
func TestTheNextDaemonRefusesAHolderWhoWasRobbed(t *testing.T) {
	rule := agency(func(s *lockfile.Spec) { s.Without, s.Break = lockfile.Allow, lockfile.Break{After: time.Hour} })
	g := newGround(t, rule)
	slow, next := g.program(), g.program()
	require.NoError(t, slow.make(theLock))
	g.clock.ahead.Add(int64(time.Hour + time.Second))
	require.NoError(t, next.remove(theLock))
	g.open(rule)
	slow.refusedWrite(theFile, "stays out until it takes it anew")
	next.writes(theFile)
	require.NoError(t, next.make(theLock))
	g.clock.ahead.Add(int64(time.Hour + time.Second))
	g.open(rule)
	slow.refused(gate.ReasonRobbed, slow.remove(theLock)) // a late release
	require.NoError(t, next.remove(theLock))
	require.NoError(t, slow.make(theLock))
	slow.writes(theFile)
	require.NoError(t, slow.remove(theLock))
	require.Empty(t, g.kept)
}

// Who takes a lock ends before the call does, as a shell may whose child makes it: nothing would tell of its end.
func TestATakerThatEndsDuringItsCallLeavesAFreeLock(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.OnGone = lockfile.Remove }))
	one := g.program()
	require.NoError(t, one.change(gate.OpMkdir, Name{Path: theLock, Comes: true}, func() error {
		one.kill()
		g.files[theLock] = File{Inode: 50}
		return nil
	}))
	require.Eventually(t, func() bool { _, there := g.Look(theLock); return !there }, time.Minute, time.Millisecond)
}
