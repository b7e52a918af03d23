package main

import (
	"context"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"go.uber.org/zap"
)

// auditEvent is the keeper's way to the chain. The keeper lets a steal depend on
// its answer and nothing else, so what fails is also logged here.
func (d *daemon) auditEvent(e lease.Event) error {
	d.log.Info("lease "+e.Kind, zap.String("worktree", string(e.Worktree)), zap.Uint64("token", uint64(e.Token)),
		zap.String("holder", e.Holder.ID()), zap.String("reason", e.Reason), zap.Bool("unclean", e.Unclean))
	err := d.audit.Append(context.Background(), auditRecordOf(e))
	if err != nil {
		d.log.Error("audit", zap.Error(err))
	}
	return err
}

// auditRepairs leaves what doctor has mended in the chain.
func (d *daemon) auditRepairs(found []finding) {
	for _, f := range found {
		if f.Check != checkRepair || f.Severity != sevOK {
			continue
		}
		err := d.audit.Append(context.Background(), lease.AuditRecord{
			Timestamp: time.Now(), EventType: "lock_repair", Details: map[string]any{"reason": f.Message},
		})
		if err != nil {
			d.log.Error("audit", zap.Error(err))
		}
	}
}
