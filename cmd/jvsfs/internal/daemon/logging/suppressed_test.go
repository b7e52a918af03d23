package logging

import (
	"context"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
)

func TestHowManyLinesWereLeftOutIsWrittenAPeriodAfterTheFirst(t *testing.T) {
	testkit.WrittenAPeriodAfterTheFirst(t, period, func(written func()) (func(context.Context), func()) {
		left := NewSuppressed()
		core, _ := observer.New(zapcore.WarnLevel)
		log := zap.New(core, zap.Hooks(func(zapcore.Entry) error { written(); return nil }))
		return func(ctx context.Context) { left.Run(ctx, log) }, func() { left.note(zapcore.Entry{Message: "again"}, zapcore.LogDropped) }
	})
}
