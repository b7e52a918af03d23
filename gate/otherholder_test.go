package gate

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// takenBy has another host take the lease: the record says so.
func (k *keeper) takenBy(user string) lease.Token {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next++
	k.state = lease.Held
	k.record = &record.Record{FencingToken: k.next, HolderID: "far:" + user + ":9:1", Scope: string(ScopeTree)}
	return k.next
}

// Who is refused, explained to or asks for the status is told who holds by the record, not whom this mount saw last.
func TestTheHolderIsTheOneOfTheRecord(t *testing.T) {
	for name, lose := range map[string]func(*keeper, lease.Token){
		"released":      func(k *keeper, t lease.Token) { k.lose(lease.LossReleased, t, userHolder(7, "former")) },
		"renew failed":  func(k *keeper, t lease.Token) { k.lose(lease.LossRenewFailed, t, userHolder(7, "former")) },
		"not yet known": func(*keeper, lease.Token) {},
	} {
		t.Run(name, func(t *testing.T) {
			g, k, _ := newTestGuard(t, nil)
			lose(k, k.give(userHolder(7, "former")))
			token := k.takenBy("eve")

			x := g.Explain(os.Getpid())
			require.Contains(t, x.Sentence, "far:eve:9:1")
			require.NotContains(t, x.Sentence, "former")
			require.Equal(t, lease.ClassLockConflict, x.Class)
			require.NotNil(t, x.Holder)
			require.Equal(t, "far:eve:9:1", x.Holder.ID)
			require.Equal(t, token, x.Holder.Token)

			s := g.Status()
			require.Equal(t, "far:eve:9:1", s.HolderID)
			require.Equal(t, "held_elsewhere", s.State)
			require.Equal(t, token, s.Token)

			if name == "not yet known" { // a refusal is by what the fence knows, and has the keeper look
				require.Positive(t, k.looks.Load())
				return
			}
			no := mustRefuse(t, g, byUser(8), reasonHeldElsewhere)
			require.Contains(t, no.Sentence(), "far:eve:9:1")
			require.NotContains(t, no.Sentence(), "former")
			require.Equal(t, token, no.Token)
		})
	}
}

// A holder that hands its lease over is the holder until that is done, although the next claim is there.
func TestALeaseThatIsBeingHandedOverIsHeldHere(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	token := k.give(userHolder(7, "former"))
	thaw, err := g.Freeze(t.Context(), token)
	require.NoError(t, err)
	defer thaw()
	k.takenBy("eve")
	require.Equal(t, "held", g.Status().State)
	require.Equal(t, token, g.Status().Token)
}

// Who stays out is told whose lease was lost, whoever has held and given back since.
func TestARevokedWriterIsToldWhoseLeaseWasLost(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	sleeper, later := userHolder(7, "7"), userHolder(8, "8")
	sleeper.User, later.User = "sleeper", "later"
	k.lose(lease.LossExpired, k.give(sleeper), sleeper)
	k.lose(lease.LossReleased, k.give(later), later)
	no := mustRefuse(t, g, byUser(7), reasonRevokedExpired)
	require.Contains(t, no.Sentence(), "sleeper")
	require.EqualValues(t, 1, no.Token)
	k.give(later)
	require.Contains(t, mustRefuse(t, g, byUser(7), reasonRevokedExpired).Sentence(), "sleeper")
}

// Where no record can be read because the client of the store has ended, no record is at fault: the store is named, and the way out.
func TestAStoreClientThatHasEndedIsNamedAsTheReason(t *testing.T) {
	g, k, _ := newTestGuard(t, nil)
	k.state = lease.Unreadable
	k.unreadable = &lease.Error{Class: lease.ClassStoreFailed, File: "/store/locks", Message: "the client has ended", Next: "mount the store again", Err: unix.ENOTCONN}
	x := g.Explain(os.Getpid())
	require.Equal(t, lease.ClassStoreFailed, x.Class)
	require.Contains(t, x.Sentence, "/store/locks")
	require.Equal(t, "mount the store again", x.Next)
	require.True(t, g.Status().CutOff)
	no := mustRefuse(t, g, byUser(8), reasonUnreadable)
	require.Equal(t, x.Next, no.Next())

	k.unreadable = &lease.Error{Class: lease.ClassRecordUnreadable, Message: "it is torn", Next: "look at it"}
	require.Contains(t, g.Explain(os.Getpid()).Next, "jvsfs doctor")
	require.False(t, g.Status().CutOff)
}
