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

// auditEvent writes an event of the keeper to the chain. Only a steal depends on its result, so a failure is
// also logged here.
func (d *mount) auditEvent(e lease.Event) error { return d.auditEvents([]lease.Event{e}) }

// auditEvents is auditEvent for several events, with one flush of the disk.
func (d *mount) auditEvents(all []lease.Event) error {
	records := make([]audit.Record, 0, len(all))
	for _, e := range all {
		d.log.Info("lease "+string(e.Kind), zap.String("worktree", string(e.Worktree)), zap.Uint64("token", uint64(e.Token)),
			zap.String("holder", e.Holder.ID()), zap.String("reason", e.Reason), zap.Bool("unclean", e.Unclean))
		records = append(records, place.AuditRecordOf(e))
	}
	err := d.audit.AppendAll(context.Background(), records)
	if err != nil {
		d.log.Error("audit", zap.Error(err))
	}
	return err
}

// auditRepairs writes the repairs of doctor to the chain.
func (d *mount) auditRepairs(found []finding.Finding) {
	for _, f := range found {
		if f.Check != lockdir.CheckRepair || f.Severity != finding.SevOK {
			continue
		}
		err := d.audit.Append(context.Background(), audit.Record{
			Timestamp: time.Now(), EventType: "lock_repair", Details: map[string]any{"reason": f.Message},
		})
		if err != nil {
			d.log.Error("audit", zap.Error(err))
		}
	}
}

// appendAudit writes a record to the chain, once that is open. It waits for the disk.
func (d *mount) appendAudit(r audit.Record) error { return d.audit.Append(context.Background(), r) }
