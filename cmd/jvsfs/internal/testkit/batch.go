package testkit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// WrittenAPeriodAfterTheFirst demands that what is counted is written a period after the first, however long there was nothing before, and
// then again. make makes what counts; it calls written for each line.
func WrittenAPeriodAfterTheFirst(t *testing.T, period time.Duration, make func(written func()) (run func(context.Context), count func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		run, count := make(func() { at = append(at, time.Since(began)) })
		ctx, cancel := context.WithCancel(t.Context())
		go run(ctx)
		time.Sleep(time.Hour)
		for range 3 {
			count()
		}
		time.Sleep(period / 2)
		count()
		time.Sleep(time.Hour)
		count()
		cancel()
		synctest.Wait()
		require.Equal(t, []time.Duration{time.Hour + period, 2*time.Hour + period/2}, at)
	})
}
