package gate

import (
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// soon is in the time of a bubble.
const soon = 30 * time.Millisecond

// lapsed is a guard that has been frozen for longer than mutations wait.
func lapsed(t *testing.T) *frozenGuard {
	t.Helper()
	g, k, _ := newTestGuard(t, nil)
	h := frozenFor(t, g, k, soon)
	require.Eventually(t, h.open.Load().hasLapsed, eventually, tick)
	return h
}

// However many wait, by handle or by name, all get their answer soon. Nothing is in flight
// meanwhile.
func TestEveryMutationUnderAFreezeIsAnsweredSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		began := time.Now()
		h := frozenFor(t, g, k, soon)
		var waiting []<-chan *Refusal
		for range 100 {
			waiting = append(waiting, enterInBackground(t, g, write(EpochOf(h.tok))), enterInBackground(t, g, byUser(7)))
		}
		for _, done := range waiting {
			select {
			case no := <-done:
				require.NotNil(t, no)
				require.Equal(t, reasonHandover, no.Reason, no.Error())
			case <-time.After(eventually):
				t.Fatal("a mutation waits for ever")
			}
		}
		require.LessOrEqual(t, time.Since(began), soon+tick)
		require.Zero(t, g.open.Load().inflight.Load())
		require.Zero(t, g.cfg.Enforcement.Waiting())
	})
}

// The wait counts from the beginning of the freeze, also for whoever comes later. Strangers get the
// same answer as ever.
func TestAMutationThatComesLateInAFreezeDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := lapsed(t)
		began := time.Now()
		mustRefuse(t, h.Guard, write(EpochOf(h.tok)), reasonHandover)
		no := mustRefuse(t, h.Guard, byUser(7), reasonHandover)
		require.Equal(t, lease.ClassLockConflict, no.Class())
		require.Equal(t, h.cfg.Errno, no.Errno)
		require.Contains(t, no.Sentence(), "is being handed over")
		mustRefuse(t, h.Guard, byUser(8), ReasonHeldByOther)
		require.Zero(t, time.Since(began), "no time passes in a bubble unless somebody waits")

		h.thaw()
		mustEnter(t, h.Guard, write(EpochOf(h.tok))).End()
		mustEnter(t, h.Guard, byUser(7)).End()
		h.freeze(t, freezePatience)
		waiting := enterInBackground(t, h.Guard, write(EpochOf(h.tok)))
		mustWait(t, waiting) // another freeze, another patience
		h.thaw()
		require.Nil(t, <-waiting)
	})
}

func TestAHandleIsRefusedWhenALapsedFreezeEndsInALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := lapsed(t)
		h.k.lose(lease.LossHandedOver, h.tok, userHolder(7, "7"))
		mustRefuse(t, h.Guard, write(EpochOf(h.tok)), reasonStaleHandle)
	})
}

// A waiting mutation occupies a reader of the mount, and some readers must be left.
func TestTheNumberOfMutationsThatWaitUnderAFreezeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := newTestGuard(t, nil)
		h := frozenFor(t, g, k, time.Hour)
		var waiting []<-chan *Refusal
		for range MaxWaiting {
			waiting = append(waiting, enterInBackground(t, g, write(EpochOf(h.tok))))
		}
		require.Eventually(t, func() bool { return g.cfg.Enforcement.Waiting() == MaxWaiting }, eventually, tick)
		began := time.Now()
		one := enterInBackground(t, g, byUser(7))
		select {
		case no := <-one:
			require.NotNil(t, no)
			require.Equal(t, reasonHandover, no.Reason)
			require.Zero(t, time.Since(began), "it does not wait")
		case <-time.After(eventually):
			t.Error("one too many waits")
		}
		h.thaw()
		for _, done := range waiting {
			require.Nil(t, <-done)
		}
	})
}

// A mutation in an exempt place waits only until it is known that the place has to be asked.
func TestAMutationInAnExemptPlaceHardlyWaitsForAFreeze(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, k, _ := exemptGuard(t, nil)
		h := frozenFor(t, g, k, soon)
		for _, epoch := range []Epoch{NoEpoch, EpochOf(h.tok)} {
			p := mustEnter(t, g, Request{Op: OpWrite, Epoch: epoch, Caller: process.Caller{UID: 7}, At: inCache()})
			require.True(t, p.ByPlace())
			p.End()
		}
	})
}

// explain says what a write would get.
func TestExplainUnderAFreezeSaysWhatAWriteWouldGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := frozenLease(t)
		h.k.lose(lease.LossReleased, h.tok, userHolder(7, "7"))
		h.tok = h.k.give(userHolder(uint32(os.Getuid()), strconv.Itoa(os.Getuid())))
		explain := func() Explanation { return h.Explain(os.Getpid()) }
		require.NotContains(t, explain().Sentence, "handing")
		h.freeze(t, time.Hour)
		x := explain()
		require.True(t, x.Allowed)
		require.Contains(t, x.Sentence, "handing it over: the write waits")
		h.thaw()
		h.freeze(t, 0)
		require.Eventually(t, h.open.Load().hasLapsed, eventually, tick)
		x = explain()
		require.False(t, x.Allowed)
		require.Equal(t, lease.ClassLockConflict, x.Class)
		require.Contains(t, x.Sentence, "could not wait for the outcome")
		require.Contains(t, x.Next, "lock handover")
	})
}
