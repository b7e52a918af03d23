package daemon

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jvsfs/jvsfs/lease"
)

func TestAwaitLossIgnoresOtherTokensAndFailedRenewals(t *testing.T) {
	losses := make(chan lease.Loss, 3)
	losses <- lease.Loss{Kind: lease.LossReleased, Token: 1}
	losses <- lease.Loss{Kind: lease.LossRenewFailed, Token: 2}
	losses <- lease.Loss{Kind: lease.LossSuperseded, Token: 2}
	require.Equal(t, "superseded", awaitLoss(t.Context(), 2, losses))
	losses <- lease.Loss{Kind: lease.LossPaused, Token: 2}
	losses <- lease.Loss{Kind: lease.LossResumed, Token: 3, Since: 2}
	losses <- lease.Loss{Kind: lease.LossReleased, Token: 5, Since: 4}
	go func() { losses <- lease.Loss{Kind: lease.LossExpired, Token: 4, Since: 2} }()
	require.Equal(t, "expired", awaitLoss(t.Context(), 2, losses), "the holder went on under later tokens")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, awaitLoss(ctx, 2, losses))
}
