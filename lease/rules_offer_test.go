package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Each test here checks a clause of rule 14.

// offering is a lease of ann's that is being offered.
type offering struct {
	t     testing.TB
	r     *rig
	other *rig // on another host
	old   Grant
	clock *fakeClock
	end   context.CancelFunc
	done  chan error
	taken record.Record
}

const offerLasts = time.Minute

var away = Holder{Host: "away", User: "bob", PID: 20, StartTime: 7, BootID: "b2", PIDNamespace: "pid:[1]", Scope: "tree"}

// offer offers the lease to the host away and waits until the offer is in the record. It is called in a bubble: what the machine does
// meanwhile takes no time there.
func newOffering(t testing.TB, at tier) *offering {
	over := make(chan struct{})
	t.Cleanup(func() { <-over }) // after the keepers have been closed: no time passes any more when a bubble ends
	d, c := testDir(t), newFakeClock()
	d.tier = at
	quick := func(cfg *KeeperConfig) { cfg.Tick, cfg.GateWait = 10*time.Millisecond, 2*time.Second }
	o := &offering{t: t, r: newRig(t, d, c, quick), other: newRig(t, d, c, quick), clock: c, done: make(chan error, 1)}
	o.old = o.r.must(t, ann)
	var ctx context.Context
	ctx, o.end = context.WithCancel(context.Background())
	go func() {
		defer close(over)
		var err error
		o.taken, err = o.r.OfferTo(ctx, o.old.Token, "away", c.Wall().Add(offerLasts), nil)
		o.done <- err
	}()
	t.Cleanup(o.end)
	require.Eventually(t, func() bool { h, _ := o.other.Observe(); return h.Record != nil && h.Record.OfferedTo == "away" }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return at != tierA || o.gateIsFree() }, time.Minute, time.Millisecond)
	return o
}

func (o *offering) gateIsFree() bool {
	free := o.other.gate.exclusive(context.Background(), time.Millisecond) == nil
	if free {
		o.other.gate.unlock()
	}
	return free
}

func (o *offering) mustStand() {
	o.t.Helper()
	select {
	case err := <-o.done:
		o.t.Fatalf("the offer has ended: %v", err)
	case <-time.After(50 * time.Millisecond): // only a wrong keeper ends it, and within some ticks
	}
	require.False(o.t, o.r.fence.passes(), "nobody may write while the lease is offered")
}

func TestAnOfferIsTakenByItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []tier{tierA, tierRemote} {
			o := newOffering(t, at)
			require.False(t, o.r.fence.passes(), "the holder is frozen")
			for _, who := range []Holder{bob, func() Holder { h := away; h.Auto = true; return h }()} {
				_, err := o.other.Acquire(context.Background(), who)
				requireClass(t, ClassLockConflict, err)
			}
			g := o.other.must(t, away)
			require.Equal(t, o.old.Token+1, g.Token)
			require.NoError(t, <-o.done)
			require.Equal(t, g.Token, o.taken.FencingToken)
			require.Equal(t, []LossKind{LossHandedOver}, o.r.fence.kinds())
			require.False(t, o.r.fence.isOpen())
			require.Equal(t, []string{"acquire", "release"}, o.r.events())
			require.Equal(t, []string{"handover"}, o.other.events())
			require.Equal(t, ann.PID, o.other.log[0].From.PID)
			require.False(t, o.other.log[0].Unclean, "its holder had drained")
			require.Empty(t, g.Record.OfferedTo)
		}
	})
}

func TestAnOfferThatNobodyTakesChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierA)
		o.end()
		err := <-o.done
		requireClass(t, ClassLockConflict, err)
		o.r.unchanged(t, o.old.Token)
		h, _ := o.r.Observe()
		require.Empty(t, h.Record.OfferedTo)
		require.False(t, o.gateIsFree(), "LOCK_SH is had again before anybody writes")
		_, err = o.other.Acquire(context.Background(), away)
		requireClass(t, ClassLockConflict, err)
	})
}

// While somebody is taking the lease, or was stopped while it did, the epoch stays frozen: nobody knows how that ends.
func TestAnOfferIsNotWithdrawnUnderATaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierA)
		require.NoError(t, o.other.gate.exclusive(context.Background(), time.Second))
		o.end()
		o.mustStand()
		o.other.gate.unlock()
		requireClass(t, ClassLockConflict, <-o.done)
		o.r.unchanged(t, o.old.Token)
	})
}

// Where flock proves nothing, a taker may have seen the offer just before it was withdrawn. The holder waits until that taker must have
// linked or given up.
func TestAnOfferIsWaitedOutWhereTheGateProvesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierRemote)
		o.end()
		require.Eventually(t, func() bool { h, _ := o.other.Observe(); return h.Record.OfferedTo == "" }, time.Minute, time.Millisecond)
		o.mustStand()
		_, err := o.other.Acquire(context.Background(), away)
		requireClass(t, ClassLockConflict, err) // who looks now finds no offer
		o.clock.advance(2*record.DefaultPolicy().TakeWithin() - time.Nanosecond)
		o.mustStand()
		o.clock.advance(time.Nanosecond)
		requireClass(t, ClassLockConflict, <-o.done)
		o.r.unchanged(t, o.old.Token)
	})
}

// A taker that was slow from its look to its claim does not hold: the holder may not have waited for it.
func TestASlowTakerOfAnOfferDoesNotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []tier{tierA, tierRemote} {
			o := newOffering(t, at)
			o.other.cfg.Pause = func(point string) {
				if point == "claim.before_link" {
					o.clock.advance(record.DefaultPolicy().TakeWithin())
				}
			}
			_, err := o.other.Acquire(context.Background(), away)
			if at == tierA { // the gate proves that the holder has waited
				require.NoError(t, err)
			} else {
				requireClass(t, ClassLockExpired, err)
				require.False(t, o.other.fence.isOpen())
				h, j := o.other.Observe()
				require.False(t, h.Record.Released, "the holder may have gone on, and learns of it only by its next look")
				require.Equal(t, Held, j.State)
				_, err = o.other.Acquire(context.Background(), away)
				requireClass(t, ClassLockConflict, err)
			}
			require.NoError(t, <-o.done, "the token is gone either way")
			require.False(t, o.r.fence.isOpen())
		}
	})
}

// A taker that notices before its claim that it is too late claims nothing: everybody would have to wait until that claim has run out.
func TestATakerThatIsTooLateClaimsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierRemote)
		write := o.other.cfg.Audit
		o.other.cfg.Audit = func(e Event) error {
			o.clock.advance(record.DefaultPolicy().TakeWithin())
			return write(e)
		}
		_, err := o.other.Acquire(context.Background(), away)
		requireClass(t, ClassLockExpired, err)
		o.other.cfg.Audit = write
		o.mustStand()
		require.Equal(t, o.old.Token+1, o.other.must(t, away).Token)
		require.NoError(t, <-o.done)
	})
}

// If nobody could take the lease in time, it is not offered.
func TestNothingIsOfferedWithNoTimeToTakeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := testDir(t)
		d.tier = tierRemote
		r := newRig(t, d, newFakeClock(), func(cfg *KeeperConfig) {
			cfg.Policy = record.DefaultPolicy()
			cfg.Policy.MaxClockSkew, cfg.Policy.StealGrace = 0, 0
		})
		g := r.must(t, ann)
		_, err := r.OfferTo(context.Background(), g.Token, "away", r.clock.Wall().Add(offerLasts), nil)
		requireClass(t, ClassLockConflict, err)
		r.unchanged(t, g.Token)
	})
}

// If the offer is taken while the holder's machine sleeps, the loss is a handover, no expiry.
func TestAnOfferThatWasTakenMeanwhileHasNotExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierA)
		require.NoError(t, o.r.enter(context.Background(), 0)) // asleep
		o.other.must(t, away)
		o.clock.advance(record.DefaultPolicy().Window())
		o.r.leave()
		require.NoError(t, <-o.done)
		require.Equal(t, []LossKind{LossHandedOver}, o.r.fence.kinds())
		require.NotContains(t, o.r.events(), "expire")
	})
}

// A renewal may be slow after its look for a successor. That time does not count as the wait for takers: a taker that saw the offer may
// have come after the look.
func TestARepairedRenewalLooksAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierRemote)
		require.NoError(t, o.r.enter(context.Background(), 0))
		o.r.interrupt(errors.New("the disk was away"))
		o.r.leave()
		requireClass(t, ClassLockExpired, <-o.done)
		slow := false
		o.r.cfg.Pause = func(point string) {
			if point == "renew.after_look" && !slow {
				slow = true
				o.clock.advance(2 * record.DefaultPolicy().TakeWithin())
			}
		}
		_, err := o.r.Renew(context.Background())
		require.True(t, slow)
		requireClass(t, ClassLockConflict, err)
		require.False(t, o.r.fence.isOpen())
		_, err = o.r.Renew(context.Background())
		require.NoError(t, err, "the next one has looked after the wait")
	})
}

// The record keeps the time of an offer until no taker can come any more, even if the offer was withdrawn. A daemon that adopts the
// lease knows of the offer by the record only.
func TestAnOfferedLeaseIsNotAdoptedWhileItMayBeTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, state := range []string{"offered", "withdrawn", "waited"} {
			o := newOffering(t, tierRemote)
			if state != "offered" {
				o.end()
				require.Eventually(t, func() bool { h, _ := o.other.Observe(); return h.Record.OfferedTo == "" }, time.Minute, time.Millisecond)
			}
			if state == "waited" {
				require.NoError(t, o.r.enter(context.Background(), 0)) // the wait has begun when the record was written
				o.r.leave()
				o.clock.advance(2 * record.DefaultPolicy().TakeWithin())
				requireClass(t, ClassLockConflict, <-o.done)
				_, err := o.r.Renew(context.Background())
				require.NoError(t, err)
			}
			g, held := o.r.Held()
			require.True(t, held)
			b := Save(g, o.clock)
			require.NoError(t, o.r.enter(context.Background(), 0))
			o.r.crash()
			o.r.leave()
			next := newRig(t, o.r.cfg.Store.dir, o.clock)
			_, err := next.Adopt(context.Background(), b)
			if state == "waited" {
				require.NoError(t, err)
				continue
			}
			requireClass(t, ClassLockConflict, err)
			require.False(t, next.fence.isOpen())
			require.Equal(t, []LossKind{LossExpired}, next.fence.kinds(), "nobody has taken it")
			o.end()
			<-o.done
		}
	})
}

// A renewal fails while the lease is offered, and a later one succeeds. The fence does not open while the offer may still be taken.
func TestARepairedRenewalDoesNotOverlookAnOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []tier{tierA, tierRemote} {
			o := newOffering(t, at)
			require.NoError(t, o.r.enter(context.Background(), 0))
			o.r.interrupt(errors.New("the disk was away"))
			o.r.leave()
			requireClass(t, ClassLockExpired, <-o.done)
			_, err := o.r.Renew(context.Background())
			h, _ := o.r.Observe()
			if at == tierA { // LOCK_SH keeps takers out, and the record is written without the offer
				require.NoError(t, err)
				require.Empty(t, h.Record.OfferedTo)
				require.False(t, o.gateIsFree())
				o.mustBeForgotten()
				continue
			}
			require.Error(t, err)
			require.Empty(t, h.Record.OfferedTo)
			require.False(t, o.r.fence.isOpen(), "whoever saw the offer may still take it")
			o.clock.advance(2 * record.DefaultPolicy().TakeWithin())
			_, err = o.r.Renew(context.Background())
			require.NoError(t, err)
			require.True(t, o.r.fence.isOpen())
			o.mustBeForgotten()
		}
	})
}

// mustBeForgotten: the offer is over, so a later taker steals the lease.
func (o *offering) mustBeForgotten() {
	o.t.Helper()
	_, follows, err := o.r.Follow(context.Background(), Stay)
	require.NoError(o.t, err)
	require.True(o.t, follows)
	o.r.Resume()
	require.Equal(o.t, LossSuperseded, o.r.cur.overtaken())
}

// A lease that expires while it is offered is closed at once, by the first who sees it: nobody has LOCK_SH then.
func TestALeaseThatExpiresDuringAnOfferIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierA)
		o.clock.advance(record.DefaultPolicy().Window() - record.DefaultPolicy().CloseLead()/2)
		require.Less(t, o.clock.Boot(), o.old.Deadline)
		requireClass(t, ClassLockExpired, <-o.done)
		require.False(t, o.r.fence.isOpen())
		require.Equal(t, []LossKind{LossExpired}, o.r.fence.kinds())
		require.True(t, o.gateIsFree())
	})
}

// If one offer ends late, it does not thaw the epoch under the next offer.
func TestAnOfferEndsItsOwnHoldOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, testDir(t), newFakeClock(), func(cfg *KeeperConfig) { cfg.Tick = 10 * time.Millisecond })
		old := r.must(t, ann)
		offer := func(ctx context.Context, settle func(context.Context) error) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := r.OfferTo(ctx, old.Token, "away", r.clock.Wall().Add(offerLasts), settle)
				done <- err
			}()
			return done
		}
		settling, late := make(chan struct{}), make(chan error)
		first := offer(context.Background(), func(context.Context) error { close(settling); return <-late })
		<-settling
		require.NoError(t, r.enter(context.Background(), 0))
		r.interrupt(errors.New("the disk was away"))
		r.leave()
		_, err := r.Renew(context.Background())
		require.NoError(t, err)
		require.True(t, r.fence.passes())

		ctx, end := context.WithCancel(context.Background())
		defer end()
		second := offer(ctx, nil)
		require.Eventually(t, func() bool { h, _ := r.Observe(); return h.Record.OfferedTo == "away" }, time.Minute, time.Millisecond)
		late <- errors.New("not in time")
		require.Error(t, <-first)
		require.False(t, r.fence.passes(), "the second offer stands")
		end()
		requireClass(t, ClassLockConflict, <-second)
		require.True(t, r.fence.passes())
	})
}

// If an offer ends between a taker's two looks, the record changes. That is no clock skew.
func TestAnOfferThatIsOverBetweenTwoLooksIsNoSkew(t *testing.T) {
	for name, over := range map[string]func(o *offering){
		"withdrawn": func(o *offering) {
			o.other.gate.unlock() // as where flocks do not meet
			o.end()
			require.Eventually(t, func() bool { h, _ := o.r.Observe(); return h.Record.OfferedTo == "" }, time.Minute, time.Millisecond)
		},
		"out of date": func(o *offering) {
			for range offerLasts/(9*time.Second) + 1 {
				o.clock.advance(9 * time.Second)
				o.r.tick()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOffering(t, tierRemote)
				o.other.cfg.Pause = func(point string) {
					if point == "claim.before_look" {
						over(o)
					}
				}
				_, err := o.other.Acquire(context.Background(), away)
				requireClass(t, ClassLockConflict, err)
			})
		})
	}
}

func TestAnOfferEndsWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierA)
		require.NoError(t, o.r.Release(context.Background(), LossReleased))
		requireClass(t, ClassLockExpired, <-o.done)
		o.other.must(t, bob)
	})
}

// No event, no handover.
func TestAnOfferThatCannotBeAuditedIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOffering(t, tierA)
		refuse := o.other.cfg.Audit
		o.other.cfg.Audit = func(Event) error { return errors.New("disk full") }
		_, err := o.other.Acquire(context.Background(), away)
		requireClass(t, ClassAuditFailed, err)
		o.other.cfg.Audit = refuse
		o.mustStand()
		o.other.must(t, away)
		require.NoError(t, <-o.done)
	})
}
