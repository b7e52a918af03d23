package lease

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// forgetful is a keeper on a store that other kernels write, whose lock server forgets what it has granted, and a taker's gate.
func forgetful(t *testing.T) (a *rig, taker *gateLock, c *fakeClock) {
	d := testDir(t)
	d.tier = tierRemote
	c = newFakeClock()
	a = newRig(t, d, c)
	a.must(t, ann)
	taker = newGateLock(a.store)
	t.Cleanup(taker.close)
	return a, taker, c
}

// forget drops the lock behind the keeper's back.
func (r *rig) forget(t *testing.T) {
	require.NoError(t, unix.Flock(r.gate.gate.fd, unix.LOCK_UN))
}

// Rule 8. Asking whether the gate is still ours changes nothing, however often.
func TestAGateThatIsHeldIsProvenAgain(t *testing.T) {
	a, taker, c := forgetful(t)
	for range 10 {
		c.advance(10 * time.Second)
		a.tick()
		require.True(t, a.fence.passes())
		had, err := taker.store.try(&taker.gate, unix.LOCK_EX)
		require.NoError(t, err)
		require.False(t, had, "the holder has it")
	}
	require.Empty(t, a.fence.kinds())
}

// Rule 8. A lock server that was started again has given the gate to a taker.
func TestAGateThatTheStoreGaveAwayIsALoss(t *testing.T) {
	a, taker, c := forgetful(t)
	a.forget(t)
	had, err := taker.store.try(&taker.gate, unix.LOCK_EX)
	require.NoError(t, err)
	require.True(t, had)
	c.advance(10 * time.Second)
	a.tick()
	require.Equal(t, []LossKind{LossRenewFailed}, a.fence.kinds())
	require.False(t, a.fence.passes())
	c.advance(a.cfg.Tick)
	a.tick()
	require.False(t, a.fence.passes(), "the taker has the gate still")
	taker.unlock()
	c.advance(a.cfg.Tick)
	a.tick()
	require.True(t, a.fence.passes(), "the taker gave up, and the old deadline has not passed")
	require.EqualValues(t, 1, a.fence.grant.Token)
}

// Rule 8. Nobody has asked for it meanwhile: it is a loss all the same, and the next renewal takes it again.
func TestAGateThatTheStoreForgotIsTakenAgain(t *testing.T) {
	a, taker, c := forgetful(t)
	a.forget(t)
	a.fence.onClose = func(l Loss) { require.Equal(t, LossRenewFailed, l.Kind) }
	var renewals []bool
	a.cfg.Renewed = func(_ time.Duration, err error) { renewals = append(renewals, errors.Is(err, ErrGateLost)) }
	c.advance(10 * time.Second)
	a.tick()
	require.Equal(t, []LossKind{LossRenewFailed}, a.fence.kinds())
	a.fence.onClose = nil
	c.advance(a.cfg.Tick)
	a.tick()
	require.Equal(t, []bool{true, false}, renewals, "the loss is told apart for who counts")
	require.True(t, a.fence.passes())
	had, err := taker.store.try(&taker.gate, unix.LOCK_EX)
	require.NoError(t, err)
	require.False(t, had)
}

// Rule 4. To ask is not to make: a gate file that was removed stays away, so that takers and holder do not lock two files.
func TestAProofOfTheGateMakesNoGateFile(t *testing.T) {
	a, _, c := forgetful(t)
	gate := a.store.display(a.store.lockNames()[0])
	require.NoError(t, os.Remove(gate))
	c.advance(10 * time.Second)
	a.fence.onClose = func(Loss) { require.NoFileExists(t, gate, "before the fence is closed") }
	a.tick()
	require.Equal(t, []LossKind{LossRenewFailed}, a.fence.kinds())
	a.fence.onClose = nil
}

// A descriptor that the store does not know any more is replaced by a new one at the next try.
func TestALockFileIsOpenedAnewAfterAFailure(t *testing.T) {
	a, _, c := forgetful(t)
	a.interrupt(nil)
	stale, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0) // flock on it is EBADF
	require.NoError(t, err)
	require.NoError(t, unix.Dup3(stale, a.gate.gate.fd, unix.O_CLOEXEC))
	require.NoError(t, unix.Close(stale))
	for range 2 {
		c.advance(a.cfg.Tick)
		a.tick()
	}
	require.True(t, a.fence.passes())
}

// Rule 7. A read that the store made wait finds a record that is younger than the clock from before it. No clock is wrong.
func TestAReadThatTheStoreDelaysIsNoWrongClock(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	d.tier = tierRemote
	a := newRig(t, d, c)
	a.must(t, ann)
	w := watching(d, &slowRead{fakeClock: c, at: 1, takes: 10 * time.Second, after: a.tick})
	_, j, err := w.look()
	require.NoError(t, err)
	require.Equal(t, Held, j.State, j.Reason)
	require.Equal(t, Held, JudgeRead(c.Wall().Add(-time.Hour), c.Wall(), w.head, record.DefaultPolicy()).State)
	require.Equal(t, Skewed, JudgeRead(c.Wall().Add(-time.Hour), c.Wall().Add(-time.Minute), w.head, record.DefaultPolicy()).State)
}

func TestTheDistanceOfATimeFromARangeIsComputed(t *testing.T) {
	for _, row := range []struct{ low, high, x, want time.Duration }{{1, 3, 2, 0}, {1, 3, 1, 0}, {1, 3, 3, 0}, {1, 3, 0, 1}, {1, 3, 5, 2}, {-3, -1, 1, 2}} {
		require.Equal(t, row.want, offBetween(row.low, row.high, row.x), "%v", row)
	}
}

// Where the store keeps the lock, this kernel shows no owner. That does not mean that somebody has just let it go.
func TestTheHolderOfALockKeptByTheStoreIsNotCalledGone(t *testing.T) {
	a, _, _ := forgetful(t)
	// Its file has a name here that no lock of this kernel has.
	nobody := lockFD{name: a.gate.gate.name, fd: -1, file: fileID{dev: 1, ino: 1 << 62}}
	err := a.gate.blocked(&nobody, nil)
	require.Contains(t, err.Error(), "another host")
	require.NotContains(t, err.Error(), "just let it go")
	a.store.dir.tier = tierA
	require.Contains(t, a.gate.blocked(&nobody, nil).Error(), "just let it go")
}
