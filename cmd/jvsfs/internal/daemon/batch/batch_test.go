package batch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The first is written when it comes, the rest at the end of the period and at the end of all; in between nothing wakes.
func TestTheRestIsWrittenAtTheEndOfThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period = time.Minute
		began, wake := time.Now(), make(chan struct{}, 1)
		var first, rest []time.Duration
		ctx, cancel := context.WithCancel(t.Context())
		go Run(ctx, wake, period, func() { first = append(first, time.Since(began)) }, func() { rest = append(rest, time.Since(began)) })
		time.Sleep(time.Hour)
		wake <- struct{}{}
		time.Sleep(period / 2)
		wake <- struct{}{}
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Hour, time.Hour + period/2}, first)
		require.Equal(t, []time.Duration{time.Hour + period, 2*time.Hour + period/2}, rest)
	})
}
