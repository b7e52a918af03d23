package daemon

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/finding"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// auditChain is the audit chain of the mount. Only a steal depends on whether its event was written, so a failure is also logged here.
type auditChain struct {
	chain *audit.Log // nil until it is open
	log   *zap.Logger
}

// event writes an event of a keeper to the chain.
func (a *auditChain) event(e lease.Event) error { return a.events([]lease.Event{e}) }

// events is event for several events, with one flush of the disk.
func (a *auditChain) events(all []lease.Event) error {
	records := make([]audit.Record, 0, len(all))
	for _, e := range all {
		a.log.Info("lease "+string(e.Kind), zap.String("worktree", string(e.Worktree)), zap.Uint64("token", uint64(e.Token)),
			zap.String("holder", e.Holder.ID()), zap.String("reason", e.Reason), zap.Bool("unclean", e.Unclean))
		records = append(records, place.AuditRecordOf(e))
	}
	err := a.chain.AppendAll(context.Background(), records)
	if err != nil {
		a.log.Error("audit", zap.Error(err))
	}
	return err
}

// repairs writes the repairs of doctor to the chain.
func (a *auditChain) repairs(found []finding.Finding) {
	for _, f := range found {
		if f.Check != lockdir.CheckRepair || f.Severity != finding.SevOK {
			continue
		}
		err := a.append(audit.Record{Timestamp: time.Now(), EventType: "lock_repair", Details: map[string]any{"reason": f.Message}})
		if err != nil {
			a.log.Error("audit", zap.Error(err))
		}
	}
}

// append writes a record to the chain, once that is open. It waits for the disk.
func (a *auditChain) append(r audit.Record) error { return a.chain.Append(context.Background(), r) }
