package lockop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/lease"
)

var errTaken = &lease.Error{Class: "E_LOCK_CONFLICT", Message: "taken"}

func waitUntil(d time.Duration, said *int, wake <-chan lease.Loss) Waiting {
	return Waiting{
		Until: time.Now().Add(d), Wake: wake,
		Observe: func() (lease.Head, lease.Judgement) { return lease.Head{Record: testkit.Record()}, lease.Judgement{} },
		Say:     func(string) error { *said++; return nil },
	}
}

func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said, tries := 0, 0
		after := func(n int, err error) func() (lease.Grant, error) {
			tries = 0
			return func() (lease.Grant, error) {
				if tries++; tries > n {
					return lease.Grant{Token: 9}, nil
				}
				return lease.Grant{}, err
			}
		}
		grant, err := waitUntil(time.Minute, &said, nil).Run(t.Context(), after(5, errTaken))
		require.NoError(t, err)
		require.Equal(t, lease.Token(9), grant.Token)
		require.Equal(t, 1, said, "it says once for whom it waits")

		_, err = waitUntil(0, &said, nil).Run(t.Context(), after(5, errTaken))
		require.ErrorIs(t, err, errTaken)
		require.Equal(t, 1, tries, "without --wait there is one try")

		began := time.Now()
		_, err = waitUntil(3*time.Second, &said, nil).Run(t.Context(), after(1000, errTaken))
		require.ErrorIs(t, err, errTaken)
		require.Equal(t, 3*time.Second, time.Since(began))

		broken := errors.New("disk")
		_, err = waitUntil(time.Minute, &said, nil).Run(t.Context(), after(1, broken))
		require.ErrorIs(t, err, broken, "what time does not cure is not waited for")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = waitUntil(time.Minute, &said, nil).Run(ctx, after(1, errTaken))
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestWaitingIsWokenByARelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		losses := make(chan lease.Loss, 1)
		losses <- lease.Loss{Kind: lease.LossReleased}
		said, tries, began := 0, 0, time.Now()
		_, err := waitUntil(time.Minute, &said, losses).Run(t.Context(), func() (lease.Grant, error) {
			if tries++; tries == 1 {
				return lease.Grant{}, errTaken
			}
			return lease.Grant{}, nil
		})
		require.NoError(t, err)
		require.Zero(t, time.Since(began), "no interval was waited out")
	})
}

// A wait that time alone does not end says why, once for each reason.
func TestWaitingSaysWhatItIsStuckOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		w := waitUntil(time.Minute, new(int), nil)
		w.Say = func(text string) error { said = append(said, text); return nil }
		reasons := []string{"", "the agent failed", "the agent failed", "", "it failed otherwise", "it failed otherwise"}
		_, err := w.Run(t.Context(), func() (lease.Grant, error) {
			if len(reasons) == 0 {
				return lease.Grant{Token: 9}, nil
			}
			why := reasons[0]
			reasons = reasons[1:]
			return lease.Grant{}, &lease.Error{Class: "E_LOCK_CONFLICT", Message: "taken", Stuck: why}
		})
		require.NoError(t, err)
		require.Equal(t, []string{"still waiting: the agent failed", "still waiting: it failed otherwise"}, said[1:])
	})
}
