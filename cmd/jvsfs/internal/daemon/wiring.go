package daemon

import (
	"cmp"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/succession"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// wire makes the parts, of what is open.
func (d *Daemon) wire() {
	at, locks := d.given.paths.Mountpoint(), d.has.locks
	d.agents = &fenceAgents{resolver: d.resolver, fence: d.given.cfg.Fence, locks: locks, start: d.registry.Start, turn: make(chan struct{}, 1), clients: new(lease.CutClients)}
	d.state = &recoveryState{cfg: d.given.cfg, place: d.given.place, mountpoint: at, mark: d.has.tree.Mark, since: d.given.since, journal: d.journal, fs: d.has.fs, locks: locks}
	source, records := d.state.dirs()
	d.returning = storewatch.New(source, records, d.has.far, d.log)
	d.flush = &flusher{root: d.given.place.Root, fs: d.has.fs, turn: make(chan struct{}, 1)}
	authority := ""
	if d.has.authority != nil {
		authority = d.has.authority.Name()
	}
	d.survey = leases.NewSurvey(d.registry.All, d.has.far, authority, d.given.paths.LookForRoot)
	d.wireSuccession()
	d.unmounting = &unmounting{mountpoint: at, source: d.given.place.Root, device: d.state.device, journal: d.journal, service: d.given.out.Service, log: d.log,
		flush: d.flush.all, forget: d.state.Forget, letGo: d.has.tree.Close, flushTrail: d.trail.Flush, fs: d.has.fs, leases: d.registry, ended: make(chan struct{})}
	d.runs = &runs{mountpoint: at, log: d.log, leases: d.registry, ended: d.unmounting.ended, unmount: d.unmounting.byRequest}
	d.wireAnswers()
}

// wireAnswers makes the parts that only answer requests.
func (d *Daemon) wireAnswers() {
	names, rec := d.given.paths, d.has.audit
	d.answers.finder = &worktreeFinder{of: d.has.fs.WorktreeOf, paths: names, get: d.registry.Get}
	d.answers.modes = &modeSwitch{mode: d.mode, mountpoint: names.Mountpoint(), worktree: d.given.place.ID, guards: d.registry.Guards, predecessors: d.predecessors,
		note: d.events.Note, audit: rec.append, log: d.log}
	d.answers.leases = &leaseOps{resolver: d.resolver, paths: names, locks: d.has.locks, survey: d.survey, predecessors: d.predecessors, retirement: d.retirement,
		take: d.registry.Take, admitted: d.journal.Admit, flush: d.flush, log: d.log}
	d.answers.explaining = &explaining{resolver: d.resolver, paths: names, mode: d.mode.Mode, errno: d.given.cfg.Errno, onFree: d.given.cfg.OnFree, survey: d.survey, rules: d.has.ruleLocks.Explain, tree: d.has.fs}
	d.answers.windows = &windows{resolver: d.resolver, paths: names, rules: d.given.rules, isPart: d.given.layout.IsPart, predecessors: d.predecessors,
		flush: d.flush.within, ended: d.registry.Ended, note: d.events.Note, audit: rec.append, log: d.log}
	d.answers.recent = &recentRefusals{trail: d.trail, resolver: d.resolver, paths: names, survey: d.survey, all: d.registry.All, find: d.answers.finder.at}
	d.answers.doctor = &recordsDoctor{place: d.given.place, mountpoint: names.Mountpoint(), source: d.has.fs.SourceFD(), locks: d.has.locks, store: d.has.store,
		policy: lockop.PolicyOf(d.given.cfg), tree: d.has.tree, repaired: rec.repairs, rules: d.has.ruleLocks.Findings}
}

// wireSuccession makes what comes after another daemon, and leaves to the next.
func (d *Daemon) wireSuccession() {
	d.predecessors = &succession.Predecessors{Journal: d.journal, Resolver: d.resolver, Exits: d.has.exits, Overlap: d.registry.Overlap}
	d.arrival = &succession.Arrival{Mountpoint: d.given.paths.Mountpoint(), Place: d.given.place, Journal: d.journal, Predecessors: d.predecessors, Log: d.log,
		FS: d.has.fs, Leases: d.registry, Rules: d.has.ruleLocks.Book(), State: d.state}
	rules := succession.RuleHandover{Door: d.has.fs, Tree: d.has.tree, Log: d.log}
	if d.has.ruleLocks.Book() != nil {
		rules.Book, rules.Tenures = d.has.ruleLocks.Book(), d.has.ruleLocks.Tenures()
	}
	d.retirement = &succession.Retirement{Detached: d.state.detached, Journal: d.journal, Predecessors: d.predecessors, Rules: succession.NewRuleHandover(rules),
		Resumed: d.state.resume, EndEvents: d.events.End, Log: d.log, Leases: d.registry}
}

// TakeOver makes this daemon the successor of those of r. It restores a dead mount, or replaces a daemon that serves.
func (d *Daemon) TakeOver(r *recovery.Recovery) { d.arrival.Follow(r) }

// openRuleLocks opens what is known of the locks of other programs, before the file system asks for it.
func (d *Daemon) openRuleLocks() (err error) {
	replaced := d.given.out.Replaced
	d.has.ruleLocks, err = rulelocks.Open(rulelocks.Config{
		Rules: d.given.rules, Source: d.given.place.Root, Joins: len(replaced.All())+len(replaced.Leases()) > 0, Errno: d.given.cfg.Errno,
		Worktree: d.given.place.ID, IsPart: func(id lease.WorktreeID) bool { return d.given.layout.IsPart(id) }, Enforcement: d.mode.Enforcement, Resolver: d.resolver, Exits: d.has.exits,
		Paths: d.given.paths, OnRefusal: d.trail.NoteOutside, OnEvent: d.events.NoteLock, Audit: d.has.audit.append, Log: d.log,
	})
	return err
}

// openMeter says what the metrics are read from. Nothing listens yet.
func (d *Daemon) openMeter() (err error) {
	from := metrics.Sources{FileSystem: d.has.fs, Mode: d.mode, LogLines: d.given.out.Suppressed, Rules: d.has.ruleLocks.Book().Counts, Worktrees: d.survey.Readings}
	if d.has.authority != nil {
		from.Etcd = d.has.authority
	}
	d.meter, err = metrics.New(d.given.cfg.Metrics, from, d.counts, d.log)
	return err
}

// newWorktree makes the guard and the keeper of a worktree; the registry calls it
// once for each.
func (d *Daemon) newWorktree(id lease.WorktreeID) (*leases.Worktree, error) {
	rule := d.ruleFor(id)
	errno, err := gate.ParseErrno(d.given.cfg.Errno)
	if err != nil {
		return nil, err
	}
	exempt, err := gate.NewExempt(rule.Exempt, d.given.cfg.ExemptGit)
	if err != nil {
		return nil, err
	}
	guard := gate.NewGuard(gate.GuardConfig{
		Worktree: id, Root: d.given.place.Root, Mode: gate.Mode(rule.Mode), Enforcement: d.mode.Enforcement,
		OnFree: gate.OnFree(rule.OnFree), Scope: gate.Scope(rule.Scope), Errno: errno,
		WaitOnConflict: d.given.cfg.WaitOnConflict, MakeOnFree: true,
		Policy: lockop.PolicyOf(d.given.cfg), Clock: lease.SystemClock(), Resolver: d.resolver, Exits: d.has.exits,
		Wrote:  d.wrote,
		Exempt: exempt, OnExempt: d.trail.NoteExempt,
		OnRefusal: d.trail.Note,
	})
	cutOff, err := d.agents.cutOff()
	if err != nil {
		return nil, err
	}
	told, w := d.events.OfLease(id), leases.NewWorktree(id, guard)
	fence := w.Announcing(told.Fenced(d.journal.Fenced(guard, id)))
	return w.Keep(lease.NewKeeper(lease.KeeperConfig{
		Store: d.has.locks.Store(id), Authority: d.authorityOf(d.has.locks.Store(id)), Policy: lockop.PolicyOf(d.given.cfg), Clock: lease.SystemClock(),
		Fence: d.has.selfFencing.Fenced(fence, id, guard.UnderLease), Liveness: d.resolver.Liveness,
		Idle:  func(h lease.Holder) bool { return guard.Idle(h) && !d.predecessors.Live() },
		Audit: w.Counts.Audited(told.Auditing(d.has.audit.event)), AuditAll: w.Counts.AuditedAll(d.has.audit.events), Renewed: w.Counts.NoteRenewal, Looked: w.Counts.Looked,
		Resumes: w.MayResume,
		CutOff:  cutOff, RelyOnFence: d.given.cfg.RelyOnFence, StoreClient: lockop.StoreClient(d.has.locks.FD()),
	})), nil
}

// ruleFor is how a worktree is configured. A rule with taken_by: lease gives a part its lease, also where the mode is
// shared: that is for what no rule covers. The configuration may still say otherwise for one worktree.
func (d *Daemon) ruleFor(id lease.WorktreeID) mountcfg.WorktreeRule {
	rule := d.given.cfg.For(string(id))
	if d.given.layout.IsPart(id) {
		rule.Mode = cmp.Or(d.given.cfg.Worktrees[string(id)].Mode, string(gate.Exclusive))
	}
	return rule
}

// wrote names what is being written, to everybody. Where not everybody can come to the source, it names nothing.
func (d *Daemon) wrote(node int, name string) string {
	if !d.given.reached {
		return ""
	}
	return d.has.fs.Wrote(node, name)
}
