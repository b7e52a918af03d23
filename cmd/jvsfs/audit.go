package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// auditName is the audit log's name: in .jvs/audit of a repository, where JVS
// itself appends as well, and beside the records of a plain directory.
const auditName = "audit.jsonl"

// inRepository reports whether the records of p are the repository's own; then
// its audit log is too.
func (p place) inRepository() bool { return p.Repo != "" && p.LockDir == locksOf(p.Repo) }

// auditPath is where the audit log of p is.
func (p place) auditPath() string {
	if p.inRepository() {
		return filepath.Join(p.Repo, ".jvs", "audit", auditName)
	}
	return filepath.Join(p.LockDir, auditName)
}

// openAudit opens the audit log of a place, anchored in its lock directory. source is a
// descriptor of the repository's root as it is below the mount, or -1.
func openAudit(p place, source int, locks *lease.Dir) (*lease.AuditLog, error) {
	if !p.inRepository() {
		return lease.OpenAudit(locks.FD(), nil, auditName, p.auditPath(), locks)
	}
	if source < 0 || p.Shape != shapeRepository {
		fd, err := openDirectory(unix.AT_FDCWD, p.Repo)
		if err != nil {
			return nil, err
		}
		defer unix.Close(fd) //nolint:errcheck // nothing was written through it
		source = fd
	}
	return lease.OpenAudit(source, []string{".jvs", "audit"}, auditName, p.auditPath(), locks)
}

func openDirectory(dirfd int, name string) (int, error) {
	fd, err := unix.Openat(dirfd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// auditTypes are the names of lease events in the chain; those that JVS has are
// its own.
var auditTypes = map[string]string{
	"acquire": "lock_acquire", "steal": "lock_steal", "release": "lock_release",
	"expire": "lock_expire", "renew_failed": "lock_renew_failed", "superseded": "lock_superseded",
	"late_write": "late_write", "handover": "lock_handover",
}

// auditRecordOf words a lease event for the chain.
func auditRecordOf(e lease.Event) lease.AuditRecord {
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
	if e.Kind == "handover" {
		details["from_holder_id"], details["from_uid"] = e.From.ID(), e.From.UID
	}
	if e.Unclean {
		details["unclean"] = true
	}
	return lease.AuditRecord{Timestamp: e.At, EventType: auditTypes[e.Kind], Worktree: string(e.Worktree), Details: details}
}

// auditEvent is the keeper's way to the chain. The keeper lets a steal depend on
// its answer and nothing else, so what fails is also logged here.
func (d *daemon) auditEvent(e lease.Event) error { return d.auditEvents([]lease.Event{e}) }

// auditEvents is auditEvent of several, which cost one flush of the disk.
func (d *daemon) auditEvents(all []lease.Event) error {
	records := make([]lease.AuditRecord, 0, len(all))
	for _, e := range all {
		d.log.Info("lease "+e.Kind, zap.String("worktree", string(e.Worktree)), zap.Uint64("token", uint64(e.Token)),
			zap.String("holder", e.Holder.ID()), zap.String("reason", e.Reason), zap.Bool("unclean", e.Unclean))
		records = append(records, auditRecordOf(e))
	}
	err := d.audit.AppendAll(context.Background(), records)
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
