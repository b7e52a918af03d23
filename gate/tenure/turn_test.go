package tenure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
)

// A program asks for a removal when no lock file is there, and waits for its turn: it is judged by the lock that is there then.
func TestAWaitForTheTurnIsFollowedByAnotherLook(t *testing.T) {
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

// Who takes a lock ends before the call does, as a shell may whose child makes it: nothing would tell of its end.
func TestATakerThatEndsMeanwhile(t *testing.T) {
	g := newGround(t, agency(func(s *lockfile.Spec) { s.OnGone = lockfile.Remove }))
	one := g.program()
	require.NoError(t, one.change(gate.OpMkdir, Name{Path: theLock, Comes: true}, func() error {
		one.kill()
		g.files[theLock] = File{Inode: 50}
		return nil
	}))
	require.Eventually(t, func() bool { _, there := g.Look(theLock); return !there }, time.Minute, time.Millisecond)
}
