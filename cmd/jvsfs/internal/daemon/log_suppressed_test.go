package daemon

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// What is counted is written a period after the first, however long there was nothing before, and then again.
func TestWhatIsCountedIsWrittenAPeriodAfterTheFirst(t *testing.T) {
	for name, one := range map[string]func(written func()) (run func(context.Context), count func(), period time.Duration){
		"log lines": func(written func()) (func(context.Context), func(), time.Duration) {
			left := NewSuppressed()
			core, _ := observer.New(zapcore.WarnLevel)
			log := zap.New(core, zap.Hooks(func(zapcore.Entry) error { written(); return nil }))
			return func(ctx context.Context) { left.run(ctx, log) },
				func() { left.note(zapcore.Entry{Message: "again"}, zapcore.LogDropped) }, logPeriod
		},
		"locks": func(written func()) (func(context.Context), func(), time.Duration) {
			trail := newRuleTrail("w", func(audit.Record) error { written(); return nil }, zap.NewNop())
			return trail.run, func() {
				trail.note(tenure.Event{Kind: tenure.Taken, Lock: &tenure.Lock{Instance: lockfile.Instance{Rule: &lockfile.Rule{Spec: lockfile.Spec{Name: "r"}}}}})
			}, refusalInterval
		},
		"refusals that are known": func(written func()) (func(context.Context), func(), time.Duration) {
			r := newRefusals(func(audit.Record) error { written(); return nil }, zap.NewNop())
			kind := refusalKind{worktree: "w"}
			r.seen[kind] = &refusalCount{known: true}
			return r.run, func() { r.count(kind, func(*refusalCount) {}) }, refusalInterval
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Duration
				began := time.Now()
				run, count, period := one(func() { at = append(at, time.Since(began)) })
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
		})
	}
}
