package refusals

import (
	"context"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
)

// Trail records refusals: in the log, in the audit chain, and in the memory of recent refusals. Safe for concurrent use.
type Trail struct {
	log      *zap.Logger
	identify func(process.Caller) (process.Identity, error)
	counted  func(*gate.Refusal)
	audited  *auditQueue
	history  *history
}

// Places are where refusals are recorded besides the log. None of them may wait.
type Places struct {
	Audit   func(audit.Record) error // called by Run alone, and may wait
	Counted func(*gate.Refusal)
	Fresh   func(Fresh)
}

// New has recorded nothing yet.
func New(r *gate.Resolver, to Places, log *zap.Logger) *Trail {
	h := newHistory(newWitness(r).look)
	h.fresh = to.Fresh
	return &Trail{log: log, identify: r.Identify, counted: to.Counted, audited: newAuditQueue(to.Audit, log), history: h}
}

// Run writes into the audit chain until ctx ends.
func (d *Trail) Run(ctx context.Context) { d.audited.run(ctx) }

// Flush writes what is counted: after it, all can be found.
func (d *Trail) Flush() { d.audited.flushAll() }

// Recent answers a query, the oldest first. complete is false if there were more than the daemon remembers, or
// than the limit.
func (d *Trail) Recent(q Query, at func(lease.WorktreeID) string) (views []api.RefusalView, complete bool) {
	return d.history.recent(q, at)
}

// Note logs a refusal. The log's sampling bounds the number of lines, and lines that are left out are not
// formatted: a refused write must stay cheap.
func (d *Trail) Note(no *gate.Refusal) {
	d.history.note(no)
	d.audited.note(no)
	d.counted(no)
	what := "refused"
	if no.Observed {
		what = "would refuse"
	}
	entry := d.log.Check(zap.InfoLevel, what)
	if entry == nil {
		return
	}
	entry.Write(zap.String("worktree", string(no.Worktree)), zap.Stringer("op", no.Op),
		zap.String("class", string(no.Class())), zap.String("why", no.Sentence()))
}

// NoteOutside records a refusal that no lease gave. Those by rules are audited as those by leases are.
func (d *Trail) NoteOutside(no *gate.Refusal) {
	if no.Lock != nil {
		d.Note(no)
		return
	}
	d.history.note(no)
}

// NoteExempt records a write that was admitted because of its place.
func (d *Trail) NoteExempt(x gate.Exemption) {
	d.audited.noteExempt(x, func() int {
		id, err := d.identify(x.Caller)
		if err != nil {
			return 0
		}
		return id.PID
	})
}
