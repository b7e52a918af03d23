package leases

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

func TestAwaitLossIgnoresOtherTokensAndFailedRenewals(t *testing.T) {
	losses, w, grant := make(chan lease.Loss, 3), &Worktree{}, lease.Grant{Token: 2, Resumes: true}
	losses <- lease.Loss{Kind: lease.LossReleased, Token: 1}
	losses <- lease.Loss{Kind: lease.LossRenewFailed, Token: 2}
	losses <- lease.Loss{Kind: lease.LossSuperseded, Token: 2}
	require.Equal(t, "superseded", w.AwaitLoss(t.Context(), grant, losses))
	losses <- lease.Loss{Kind: lease.LossPaused, Token: 2}
	losses <- lease.Loss{Kind: lease.LossResumed, Token: 3, Since: 2}
	losses <- lease.Loss{Kind: lease.LossReleased, Token: 5, Since: 4}
	go func() { losses <- lease.Loss{Kind: lease.LossExpired, Token: 4, Since: 2} }()
	require.Equal(t, "expired", w.AwaitLoss(t.Context(), grant, losses), "the holder went on under later tokens")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, w.AwaitLoss(ctx, grant, losses))
}

// A keeper that waits for a store says nothing. Where no holder goes on after its deadline, the deadline says it.
func TestAwaitLossNeedsNoStoreToTellThatTheDeadlineHasPassed(t *testing.T) {
	dir, err := lease.OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	defer dir.Close()
	w := &Worktree{Keeper: lease.NewKeeper(lease.KeeperConfig{Store: dir.Store("main")})}
	now := lease.SystemClock().Boot()
	synctest.Test(t, func(t *testing.T) { // the ticks come at once; deadlines are by the boot clock, which goes on as ever
		require.Equal(t, "expired", w.AwaitLoss(t.Context(), lease.Grant{Token: 2, Deadline: now - 2*lossGrace}, nil))
		for _, grant := range []lease.Grant{
			{Token: 2, Deadline: now + time.Hour},
			{Token: 2, Deadline: now - 2*lossGrace, Resumes: true}, // the keeper alone knows whether its holder goes on
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*lossTick+lossGrace)
			require.Empty(t, w.AwaitLoss(ctx, grant, nil), "resumes: %v", grant.Resumes)
			cancel()
		}
	})
}
