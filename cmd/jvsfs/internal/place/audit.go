package place

import (
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// AuditName is the name of the audit log. In a repository it is in .jvs/audit, where JVS itself appends, too.
// For a plain directory it is beside the records.
const AuditName = "audit.jsonl"

// InRepository reports whether p uses the records of a repository. Then it uses the repository's audit log,
// too.
func (p Place) InRepository() bool { return p.Repo != "" && p.LockDir == locksOf(p.Repo) }

// AuditPath is where the audit log of p is.
func (p Place) AuditPath() string {
	if p.InRepository() {
		return filepath.Join(p.Repo, ".jvs", "audit", AuditName)
	}
	return filepath.Join(p.LockDir, AuditName)
}

// OpenAudit opens the audit log of a place, anchored in its lock directory. source is a
// descriptor of the repository's root as it is below the mount, or -1.
func OpenAudit(p Place, source int, locks *lease.Dir) (*audit.Log, error) {
	if !p.InRepository() {
		return audit.Open(locks.FD(), nil, AuditName, p.AuditPath(), locks.FD())
	}
	if source < 0 || p.Shape != api.ShapeRepository {
		fd, err := host.OpenDirectory(unix.AT_FDCWD, p.Repo)
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd) //nolint:errcheck // nothing was written to it
		source = fd
	}
	return audit.Open(source, []string{".jvs", "audit"}, AuditName, p.AuditPath(), locks.FD())
}

// auditTypes are the names of lease events in the chain. Where JVS has a name for an event, it is used.
var auditTypes = map[lease.EventKind]string{
	lease.EventAcquire: "lock_acquire", lease.EventSteal: "lock_steal", lease.EventRelease: "lock_release",
	lease.EventExpire: "lock_expire", lease.EventRenewFailed: "lock_renew_failed", lease.EventSuperseded: "lock_superseded",
	lease.EventLateWrite: string(lease.EventLateWrite), lease.EventHandover: "lock_handover",
	lease.EventResume: "lock_resume",
	lease.EventFence:  "host_fence", lease.EventFenced: "host_fenced", lease.EventFenceFailed: "host_fence_failed",
}

// AuditRecordOf words a lease event for the chain.
func AuditRecordOf(e lease.Event) audit.Record {
	details := map[string]any{
		"fencing_token": e.Token, "holder_id": e.Holder.ID(), "uid": e.Holder.UID, "scope": e.Holder.Scope,
		"auto": e.Holder.Auto, "reason": e.Reason,
	}
	if e.Previous != e.Token {
		details["previous_token"] = e.Previous
	}
	if e.Holder.Purpose != "" {
		details["purpose"] = e.Holder.Purpose
	}
	if e.Kind == lease.EventHandover {
		details["from_holder_id"], details["from_uid"] = e.From.ID(), e.From.UID
	}
	if e.Kind == lease.EventFence || e.Kind == lease.EventFenced || e.Kind == lease.EventFenceFailed {
		details["host"], details["store_client"], details["from_holder_id"] = e.From.Host, e.Client, e.From.ID()
	}
	if e.Unclean {
		details["unclean"] = true
	}
	return audit.Record{Timestamp: e.At, EventType: auditTypes[e.Kind], Worktree: string(e.Worktree), Details: details}
}
