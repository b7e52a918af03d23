package lease

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Each test here checks a clause of rule 13.

func (r *rig) handover(old Token, to Holder, settle func(context.Context) error) (Grant, error) {
	return r.Handover(context.Background(), old, to, settle)
}

// unchanged checks that ann holds token t as if nobody had asked for a handover.
func (r *rig) unchanged(t *testing.T, token Token) {
	t.Helper()
	g, held := r.Held()
	require.True(t, held)
	require.Equal(t, token, g.Token)
	require.Equal(t, ann.PID, g.Holder.PID)
	require.True(t, r.fence.passes(), "the holder's writers go on")
	require.Empty(t, r.fence.kinds(), "no epoch was closed")
	_, err := r.Renew(context.Background())
	require.NoError(t, err, "the lease is renewed as before")
	h, _ := r.Observe()
	require.Equal(t, token, h.Token)
	require.False(t, h.Record.Released)
}

func TestAHandoverGivesTheNextToken(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	r := newRig(t, d, c)
	old := r.must(t, ann)
	settled := false
	g, err := r.handover(old.Token, bob, func(context.Context) error {
		require.Equal(t, old.Token, r.fence.frozen, "made durable while nothing is in flight")
		settled = true
		return nil
	})
	require.NoError(t, err)
	require.True(t, settled)
	require.Equal(t, old.Token+1, g.Token)
	require.Equal(t, old.Record.AcquireSeq+1, g.Record.AcquireSeq)
	require.Equal(t, bob.PID, g.Holder.PID)
	require.Equal(t, []LossKind{LossHandedOver}, r.fence.kinds())
	require.True(t, r.fence.passes())
	require.Equal(t, []string{"acquire", "handover"}, r.events())
	require.Equal(t, ann.PID, r.log[1].From.PID)
	require.Equal(t, old.Token, r.log[1].Previous)
	h, j := r.Observe()
	require.Equal(t, g.Token, h.Token)
	require.Equal(t, g.Token, h.ViewToken)
	require.Equal(t, Held, j.State)
	_, err = r.Renew(context.Background())
	require.NoError(t, err)
	requireClass(t, ClassFencingMismatch, errorOf(r.handover(old.Token, person("eve", 30), nil)))
}

func errorOf(_ Grant, err error) error { return err }

// If the epoch does not drain in time, or is not durable in time, nothing changes.
func TestAHandoverThatIsNotInTimeChangesNothing(t *testing.T) {
	late := errors.New("not in time")
	for name, prepare := range map[string]func(*rig) func(context.Context) error{
		"drain": func(r *rig) func(context.Context) error {
			r.fence.onFreeze = func(context.Context) error { return late }
			return nil
		},
		"flush": func(*rig) func(context.Context) error { return func(context.Context) error { return late } },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, testDir(t), newFakeClock())
			old := r.must(t, ann)
			_, err := r.handover(old.Token, bob, prepare(r))
			requireClass(t, ClassLockConflict, err)
			require.ErrorIs(t, err, late)
			r.unchanged(t, old.Token)
			require.Equal(t, []string{"acquire"}, r.events())
		})
	}
}

// The lease is renewed while the epoch is frozen and the disk is slow.
func TestRenewalsGoOnDuringAHandover(t *testing.T) {
	c := newFakeClock()
	r := newRig(t, testDir(t), c)
	old := r.must(t, ann)
	_, err := r.handover(old.Token, bob, func(context.Context) error {
		for range 6 { // a minute: twice as long as the lease
			c.advance(10 * time.Second)
			r.tick()
		}
		return nil
	})
	require.NoError(t, err)
}

// No event, no handover.
func TestAHandoverThatCannotBeAuditedDoesNotHappen(t *testing.T) {
	var refuse error
	r := newRig(t, testDir(t), newFakeClock(), func(cfg *KeeperConfig) {
		cfg.Audit = func(e Event) error {
			if e.Kind == "handover" {
				return refuse
			}
			return nil
		}
	})
	old := r.must(t, ann)
	refuse = errors.New("disk full")
	requireClass(t, ClassAuditFailed, errorOf(r.handover(old.Token, bob, nil)))
	r.unchanged(t, old.Token)
}

// If the new record cannot be written or linked, the old lease goes on.
func TestAHandoverThatTheDiskRefusesChangesNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs chattr")
	}
	d := testDir(t)
	r := newRig(t, d, newFakeClock())
	old := r.must(t, ann)
	setImmutable(t, d, true)
	_, err := r.handover(old.Token, bob, nil)
	setImmutable(t, d, false)
	requireClass(t, ClassStoreFailed, err)
	r.unchanged(t, old.Token)
}

// setImmutable lets nobody add names to the directory (FS_IMMUTABLE_FL).
func setImmutable(t *testing.T, d *Dir, on bool) {
	t.Helper()
	flags, err := unix.IoctlGetInt(d.fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		t.Skip("no inode flags here")
	}
	const immutable = 0x10
	flags &^= immutable
	if on {
		flags |= immutable
	}
	if err := unix.IoctlSetPointerInt(d.fd, unix.FS_IOC_SETFLAGS, flags); err != nil {
		t.Skip("inode flags cannot be set here")
	}
}

// If another takes the next token first, it wins. Nothing may pass under that token before the old epoch is closed.
func TestAHandoverThatLosesTheNextTokenOpensNothing(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	other := newRig(t, d, c)
	r := newRig(t, d, c, func(cfg *KeeperConfig) {
		cfg.Pause = func(point string) {
			if point == "handover.before_link" { // where flock proves nothing another host can be here
				rec := other.store.newRecord(other.cfg.Policy, person("eve", 30), Head{Token: 1}, readClocks(c))
				cl, err := d.Store("main").bear(rec)
				require.NoError(t, err)
				won, err := cl.link()
				require.NoError(t, err)
				require.True(t, won)
				cl.discard()
			}
		}
	})
	old := r.must(t, ann)
	requireClass(t, ClassLockConflict, errorOf(r.handover(old.Token, bob, nil)))
	r.tick()
	_, held := r.Held()
	require.False(t, held, "the next look finds the successor")
	require.Equal(t, []LossKind{LossSuperseded}, r.fence.kinds())
}

// A failed renewal closes the epoch, and a later one opens it again, not frozen. Mutations may enter then, so no next token may be
// claimed.
func TestAHandoverWhoseFreezeWasBrokenClaimsNothing(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	r := newRig(t, d, c)
	old := r.must(t, ann)
	_, err := r.handover(old.Token, bob, func(context.Context) error {
		require.NoError(t, r.enter(context.Background(), 0))
		r.interrupt(errors.New("the disk was away"))
		r.leave()
		_, err := r.Renew(context.Background())
		return err
	})
	requireClass(t, ClassLockExpired, err)
	require.Equal(t, []LossKind{LossRenewFailed}, r.fence.kinds())
	g, held := r.Held()
	require.True(t, held)
	require.Equal(t, old.Token, g.Token)
	h, _ := r.Observe()
	require.Equal(t, old.Token, h.Token, "no claim was made")
}

func TestAHandoverOfALeaseThatIsNotHeldIsRefused(t *testing.T) {
	c := newFakeClock()
	r := newRig(t, testDir(t), c)
	requireClass(t, ClassLockNotHeld, errorOf(r.handover(1, bob, nil)))
	old := r.must(t, ann)
	requireClass(t, ClassFencingMismatch, errorOf(r.handover(old.Token+1, bob, nil)))
	requireClass(t, ClassLockConflict, errorOf(r.handover(old.Token, ann, nil)))
	r.unchanged(t, old.Token)
	c.advance(time.Minute)
	requireClass(t, ClassLockExpired, errorOf(r.handover(old.Token, bob, nil)))
}

// The old epoch is closed before the new one opens. Nobody else gets the gate between them.
func TestAHandoverKeepsTheGate(t *testing.T) {
	d, c := testDir(t), newFakeClock()
	r, other := newRig(t, d, c), newRig(t, d, c)
	old := r.must(t, ann)
	var points []string
	r.fence.onClose = func(l Loss) {
		if l.Kind == LossHandedOver {
			points = append(points, "close")
			requireClass(t, ClassLockConflict, other.gate.exclusive(context.Background(), time.Millisecond))
		}
	}
	r.fence.onOpen = func(g Grant) {
		points = append(points, "open")
		require.False(t, r.fence.isOpen(), "both epochs at once")
	}
	_, err := r.handover(old.Token, bob, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"close", "open"}, points)
	requireClass(t, ClassLockConflict, other.gate.exclusive(context.Background(), time.Millisecond))
	require.NoError(t, r.Release(context.Background(), LossReleased))
	require.NoError(t, other.gate.exclusive(context.Background(), time.Second))
	other.gate.unlock()
}
