package rulelocks

import (
	"context"
	"testing"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/testkit"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/lease/audit"
)

func TestTakenLocksAreWrittenAPeriodAfterTheFirst(t *testing.T) {
	testkit.WrittenAPeriodAfterTheFirst(t, interval, func(written func()) (func(context.Context), func()) {
		trail := newTrail("w", func(audit.Record) error { written(); return nil }, zap.NewNop())
		return trail.run, func() {
			trail.note(tenure.Event{Kind: tenure.Taken, Lock: &tenure.Lock{Instance: lockfile.Instance{Rule: &lockfile.Rule{Spec: lockfile.Spec{Name: "r"}}}}})
		}
	})
}
