package daemon

import (
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/succession"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// answers are the parts that only answer requests (operations.go).
type answers struct {
	finder     *worktreeFinder
	leases     *leaseOps
	explaining *explaining
	windows    *windows
	recent     *recentRefusals
	modes      *modeSwitch
	doctor     *recordsDoctor
}

// wire makes the parts, of what is open.
func (d *Daemon) wire() {
	at, locks := d.given.paths.Mountpoint(), d.has.locks
	d.agents = &fenceAgents{resolver: d.resolver, fence: d.given.cfg.Fence, locks: locks, start: d.registry.start, turn: make(chan struct{}, 1), clients: new(lease.CutClients)}
	d.state = &recoveryState{cfg: d.given.cfg, place: d.given.place, mountpoint: at, mark: d.has.tree.Mark, since: d.given.since, journal: d.journal, fs: d.has.fs, locks: locks}
	source, records := d.state.dirs()
	d.returning = storewatch.New(source, records, d.has.far, d.log)
	d.flush = &flusher{root: d.given.place.Root, fs: d.has.fs, turn: make(chan struct{}, 1)}
	d.survey = &survey{all: d.registry.all, far: d.has.far, asks: make(storeAsks, mostStoreAsks), lookForRoot: d.given.paths.LookForRoot}
	if d.has.authority != nil {
		d.survey.authority = d.has.authority.Name()
	}
	d.wireSuccession()
	d.unmounting = &unmounting{mountpoint: at, source: d.given.place.Root, device: d.state.device, journal: d.journal, service: d.given.out.Service, log: d.log,
		flush: d.flush.all, forget: d.state.Forget, letGo: d.has.tree.Close, flushTrail: d.trail.Flush, fs: d.has.fs, leases: d.registry, ended: make(chan struct{})}
	d.runs = &runs{mountpoint: at, log: d.log, leases: d.registry, ended: d.unmounting.ended, unmount: d.unmounting.byRequest}
	d.wireAnswers()
}

// wireAnswers makes the parts that only answer requests.
func (d *Daemon) wireAnswers() {
	names, rec := d.given.paths, d.has.audit
	d.answers.finder = &worktreeFinder{of: d.has.fs.WorktreeOf, paths: names, get: d.registry.get}
	d.answers.modes = &modeSwitch{mode: d.mode, mountpoint: names.Mountpoint(), worktree: d.given.place.ID, guards: d.registry.guards, predecessors: d.predecessors,
		note: d.events.Note, audit: rec.append, log: d.log}
	d.answers.leases = &leaseOps{resolver: d.resolver, paths: names, locks: d.has.locks, survey: d.survey, predecessors: d.predecessors, retirement: d.retirement,
		take: d.registry.take, admitted: d.journal.Admit, flush: d.flush, log: d.log}
	d.answers.explaining = &explaining{resolver: d.resolver, paths: names, mode: d.mode.Mode, errno: d.given.cfg.Errno, onFree: d.given.cfg.OnFree, survey: d.survey, rules: d.has.ruleLocks.Explain, tree: d.has.fs}
	d.answers.windows = &windows{resolver: d.resolver, paths: names, rules: d.given.rules, isPart: d.given.layout.IsPart, predecessors: d.predecessors,
		flush: d.flush.within, ended: d.registry.Ended, note: d.events.Note, audit: rec.append, log: d.log}
	d.answers.recent = &recentRefusals{trail: d.trail, resolver: d.resolver, paths: names, survey: d.survey, find: d.answers.finder.at}
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
		Paths: d.given.paths, OnRefusal: d.registry.refused, OnEvent: d.events.NoteLock, Audit: d.has.audit.append, Log: d.log,
	})
	return err
}

// openMeter says what the metrics are read from. Nothing listens yet.
func (d *Daemon) openMeter() (err error) {
	from := metrics.Sources{FileSystem: d.has.fs, Mode: d.mode, LogLines: d.given.out.Suppressed, Rules: d.has.ruleLocks.Book().Counts, Worktrees: d.survey.readings}
	if d.has.authority != nil {
		from.Etcd = d.has.authority
	}
	d.meter, err = metrics.New(d.given.cfg.Metrics, from, d.counts, d.log)
	return err
}

// newWorktree makes the guard and the keeper of a worktree; the registry calls it
// once for each.
func (d *Daemon) newWorktree(id lease.WorktreeID) (*worktree, error) {
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
	told := d.events.OfLease(id)
	w := &worktree{id: id, guard: guard, events: newBroadcast(), counts: &metrics.LeaseCounts{}}
	fence := announcingFence{told.Fenced(d.journal.Fenced(guard, id)), w.events}
	w.keeper = lease.NewKeeper(lease.KeeperConfig{
		Store: d.has.locks.Store(id), Authority: d.authorityOf(d.has.locks.Store(id)), Policy: lockop.PolicyOf(d.given.cfg), Clock: lease.SystemClock(),
		Fence: d.has.selfFencing.Fenced(fence, id, guard.UnderLease), Liveness: d.resolver.Liveness,
		Idle:  func(h lease.Holder) bool { return guard.Idle(h) && !d.predecessors.Live() },
		Audit: w.counts.Audited(told.Auditing(d.has.audit.event)), AuditAll: w.counts.AuditedAll(d.has.audit.events), Renewed: w.counts.NoteRenewal, Looked: w.counts.Looked,
		Resumes: func() bool { return !w.latch.closed.Load() },
		CutOff:  cutOff, RelyOnFence: d.given.cfg.RelyOnFence, StoreClient: lockop.StoreClient(d.has.locks.FD()),
	})
	w.latch = &latch{keeper: w.keeper}
	guard.Bind(w.latch)
	return w, nil
}
