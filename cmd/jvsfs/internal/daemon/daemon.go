package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/control"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/events"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/guardian"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/journal"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/logging"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/rulelocks"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/succession"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockdir"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// Daemon serves one mount. It has the life cycle, from the first descriptor to the end. Its parts (parts.go) do
// the rest, each with fields of its own.
type Daemon struct {
	*mount
	survey       *survey
	finder       *worktreeFinder
	leases       *leaseOps
	explaining   *explaining
	windows      *windows
	flush        *flusher
	predecessors *succession.Predecessors
	arrival      *succession.Arrival
	retirement   *succession.Retirement
	trail        *refusals.Trail
	recent       *recentRefusals
	counts       *metrics.Counts
	suppressed   *logging.Suppressed // log lines that were left out; nil counts nothing
	meter        *metrics.Meter
	modes        *modeSwitch
	unmounting   *unmounting
	runs         *runs
	doctor       *recordsDoctor
	returning    *storewatch.Watch

	drained  func() // after draining was told
	finished chan struct{}
	finish   func() // closes finished; may be called again
}

// Outside is where a daemon reports: its log and its service manager.
type Outside struct {
	Log        *zap.Logger
	Suppressed *logging.Suppressed     // log lines that were left out; nil counts nothing
	Service    *servicemanager.Service // nil: no service manager is told

	Replaced *lockfile.Rules // of the daemon that is to be replaced; nil: none is

	Authorities func(context.Context) (Authorities, error) // of the configured etcd; called if one is configured

	Off <-chan struct{} // when it is closed nobody wants the mount any more, and New waits for nothing; nil: never
}

// New wires the parts. Nothing is mounted yet. close undoes it.
func New(cfg mountcfg.Config, p place.Place, out Outside) (*Daemon, error) {
	log := out.Log
	if out.Service == nil {
		out.Service = &servicemanager.Service{}
	}
	out.Service.LogTo(log)
	m := &mount{
		cfg: cfg, place: p, log: log, since: time.Now(), service: out.Service, off: out.Off, authorities: out.Authorities, replacedRules: out.Replaced, joins: len(out.Replaced.All())+len(out.Replaced.Leases()) > 0,
		resolver: gate.NewResolver(lease.SystemClock()),
		audit:    &auditChain{log: log},
	}
	var err error
	if m.rules, err = rules.Compile(cfg); err != nil { // d.rules is what the file system enforces beside the leases
		return nil, api.UsageError(err)
	}
	m.paths = paths.New(cmp.Or(cfg.Mountpoint, p.Root), p)
	m.place.Rules = m.rules // which fit, as mount has checked
	d := &Daemon{mount: m, drained: func() {}, finished: make(chan struct{})}
	d.registry = newRegistry(log, d.newWorktree)
	d.events = events.New(m.paths, succession.ProcessText(host.ThisProcess()), d.registry.Ended)
	d.counts, d.suppressed = metrics.NewCounts(), out.Suppressed
	d.trail = refusals.New(m.resolver, refusals.Places{
		Audit: d.audit.append, Counted: d.counts.Refused, Fresh: m.events.NoteRefusal,
	}, log)
	d.mode = newEnforceMode(gate.Enforce(cfg.Enforce))
	d.finish = sync.OnceFunc(func() { close(d.finished) })
	d.journal = journal.New(log)
	d.registry.refused = d.trail.NoteOutside
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// open opens the source and the lock directory, before anything is mounted over them.
func (d *Daemon) open() error {
	var err error
	d.reached = paths.ReachedByAll(d.place.Root)
	if d.exits, err = process.NewExitWatch(); err != nil {
		return err
	}
	d.resolver.Hear(d.exits)
	if err = d.openRuleLocks(); err != nil {
		return err
	}
	if d.layout, err = layoutOf(d.place); err != nil {
		return err
	}
	fs, stats, err := openFileSystem(d.cfg, d.place, d.layout, d.registry, d.mode.Enforcement, d.exits, d.ruleLocks.Book(), d.log, d.off)
	if err != nil {
		return err
	}
	d.fs, d.stats = fs, stats
	d.paths.Over(fs)
	if d.cfg.FenceSelf {
		if d.selfFencing, err = storewatch.OpenSelfFencing(fs.SourceFD(), d.place.Root, d.log); err != nil {
			return err
		}
	}
	if err = d.openLocks(); err != nil {
		return err
	}
	d.agents = &fenceAgents{resolver: d.resolver, fence: d.cfg.Fence, locks: d.locks, start: d.registry.start, turn: make(chan struct{}, 1), clients: new(lease.CutClients)}
	if err = d.openAuthority(); err != nil {
		return err
	}
	if d.tree, err = place.LockTree(d.place, fs.SourceFD(), d.locks.FD()); err != nil {
		d.place.ForgetEmpty()
		return err
	}
	if err = d.tree.LockRules(d.place, d.replacedRules); err != nil {
		return err
	}
	if err = d.place.Own(context.Background(), d.locks, lockop.PolicyOf(d.cfg)); api.AsFailure(err) != nil && api.AsFailure(err).Class != "" {
		return err
	} else if err != nil {
		d.log.Warn("the records do not say for which directory they are", zap.Error(err))
	}
	if !d.tree.Known {
		d.log.Warn("another mount of the same directory, or of one above, may go unnoticed", zap.String("why", d.tree.Why))
	}
	d.state = &recoveryState{cfg: d.cfg, place: d.place, mountpoint: d.paths.Mountpoint(), mark: d.tree.Mark, since: d.since, journal: d.journal, fs: fs, locks: d.locks}
	d.warnExposed()
	if d.audit.chain, err = place.OpenAudit(d.place, fs.SourceFD(), d.locks); err != nil {
		return err
	}
	d.doctor = &recordsDoctor{place: d.place, mountpoint: d.paths.Mountpoint(), source: fs.SourceFD(), locks: d.locks, store: d.store, policy: lockop.PolicyOf(d.cfg),
		tree: d.tree, repaired: d.audit.repairs, rules: d.ruleLocks.Findings}
	source, records := d.state.dirs()
	d.returning = storewatch.New(source, records, d.far, d.log)
	if err := shareBorder(fs, d.locks); err != nil {
		return err
	}
	d.wire()
	if err := d.openMeter(fs); err != nil {
		return err
	}
	return fs.Seal(d.place.LockDir)
}

// wire makes the parts that answer requests, of what is open.
func (d *Daemon) wire() {
	d.flush = &flusher{root: d.place.Root, fs: d.fs, turn: make(chan struct{}, 1)}
	d.survey = &survey{all: d.registry.all, far: d.far, asks: make(storeAsks, mostStoreAsks), lookForRoot: d.paths.LookForRoot}
	if d.authority != nil {
		d.survey.authority = d.authority.Name()
	}
	d.finder = &worktreeFinder{of: d.fs.WorktreeOf, paths: d.paths, get: d.registry.get}
	d.wireSuccession()
	d.unmounting = &unmounting{mountpoint: d.paths.Mountpoint(), source: d.place.Root, device: d.state.device, journal: d.journal, service: d.service, log: d.log,
		flush: d.flush.all, forget: d.state.Forget, letGo: d.tree.Close, flushTrail: d.trail.Flush, fs: d.fs, leases: d.registry, ended: make(chan struct{})}
	d.modes = &modeSwitch{mode: d.mode, mountpoint: d.paths.Mountpoint(), worktree: d.place.ID, guards: d.registry.guards, predecessors: d.predecessors,
		note: d.events.Note, audit: d.audit.append, log: d.log}
	d.runs = &runs{mountpoint: d.paths.Mountpoint(), log: d.log, leases: d.registry, ended: d.unmounting.ended, unmount: d.unmounting.byRequest}
	d.leases = &leaseOps{resolver: d.resolver, paths: d.paths, locks: d.locks, survey: d.survey, predecessors: d.predecessors, retirement: d.retirement,
		take: d.registry.take, admitted: d.journal.Admit, flush: d.flush, log: d.log}
	d.explaining = &explaining{resolver: d.resolver, paths: d.paths, mode: d.mode.Mode, errno: d.cfg.Errno, onFree: d.cfg.OnFree, survey: d.survey, rules: d.ruleLocks.Explain, tree: d.fs}
	d.windows = &windows{resolver: d.resolver, paths: d.paths, rules: d.rules, isPart: d.layout.IsPart, predecessors: d.predecessors,
		flush: d.flush.within, ended: d.registry.Ended, note: d.events.Note, audit: d.audit.append, log: d.log}
	d.recent = &recentRefusals{trail: d.trail, resolver: d.resolver, paths: d.paths, survey: d.survey, find: d.finder.at}
}

// wireSuccession makes what comes after another daemon, and leaves to the next.
func (d *Daemon) wireSuccession() {
	d.predecessors = &succession.Predecessors{Journal: d.journal, Resolver: d.resolver, Exits: d.exits, Overlap: d.registry.Overlap}
	d.arrival = &succession.Arrival{Mountpoint: d.paths.Mountpoint(), Place: d.place, Journal: d.journal, Predecessors: d.predecessors, Log: d.log,
		FS: d.fs, Leases: d.registry, Rules: d.ruleLocks.Book(), State: d.state}
	rules := succession.RuleHandover{Door: d.fs, Tree: d.tree, Log: d.log}
	if d.ruleLocks.Book() != nil {
		rules.Book, rules.Tenures = d.ruleLocks.Book(), d.ruleLocks.Tenures()
	}
	d.retirement = &succession.Retirement{Detached: d.state.detached, Journal: d.journal, Predecessors: d.predecessors, Rules: succession.NewRuleHandover(rules),
		Resumed: d.state.resume, EndEvents: d.events.End, Log: d.log, Leases: d.registry}
}

// TakeOver makes this daemon the successor of those of r. It restores a dead mount, or replaces a daemon that serves.
func (d *Daemon) TakeOver(r *recovery.Recovery) { d.arrival.Follow(r) }

// openRuleLocks opens what is known of the locks of other programs, before the file system asks for it.
func (d *Daemon) openRuleLocks() (err error) {
	d.ruleLocks, err = rulelocks.Open(rulelocks.Config{
		Rules: d.rules, Source: d.place.Root, Joins: d.joins, Errno: d.cfg.Errno,
		Worktree: d.place.ID, IsPart: func(id lease.WorktreeID) bool { return d.layout.IsPart(id) }, Enforcement: d.mode.Enforcement, Resolver: d.resolver, Exits: d.exits,
		Paths: d.paths, OnRefusal: d.registry.refused, OnEvent: d.events.NoteLock, Audit: d.audit.append, Log: d.log,
	})
	return err
}

// openMeter says what the metrics are read from. Nothing listens yet.
func (d *Daemon) openMeter(fs fileSystem) (err error) {
	from := metrics.Sources{FileSystem: fs, Mode: d.mode, LogLines: d.suppressed, Rules: d.ruleLocks.Book().Counts, Worktrees: d.survey.readings}
	if d.authority != nil {
		from.Etcd = d.authority
	}
	d.meter, err = metrics.New(d.cfg.Metrics, from, d.counts, d.log)
	return err
}

// openLocks opens the lock directory, if it is fit for this mount.
func (d *Daemon) openLocks() (err error) {
	if d.place.Shape == api.ShapeRepository && d.place.InRepository() {
		d.locks, err = lease.OpenDirAt(d.fs.SourceFD(), ".jvs/locks", d.place.LockDir)
	} else {
		d.locks, err = d.place.OpenLockDir()
	}
	if err == nil {
		err = lockdir.Fit(d.locks)
	}
	if err != nil {
		return err
	}
	return d.mayRely()
}

// newWorktree makes the guard and the keeper of a worktree; the registry calls it
// once for each.
func (d *Daemon) newWorktree(id lease.WorktreeID) (*worktree, error) {
	rule := d.ruleFor(id)
	errno, err := gate.ParseErrno(d.cfg.Errno)
	if err != nil {
		return nil, err
	}
	exempt, err := gate.NewExempt(rule.Exempt, d.cfg.ExemptGit)
	if err != nil {
		return nil, err
	}
	guard := gate.NewGuard(gate.GuardConfig{
		Worktree: id, Root: d.place.Root, Mode: gate.Mode(rule.Mode), Enforcement: d.mode.Enforcement,
		OnFree: gate.OnFree(rule.OnFree), Scope: gate.Scope(rule.Scope), Errno: errno,
		WaitOnConflict: d.cfg.WaitOnConflict, MakeOnFree: true,
		Policy: lockop.PolicyOf(d.cfg), Clock: lease.SystemClock(), Resolver: d.resolver, Exits: d.exits,
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
		Store: d.locks.Store(id), Authority: d.authorityOf(d.locks.Store(id)), Policy: lockop.PolicyOf(d.cfg), Clock: lease.SystemClock(),
		Fence: d.selfFencing.Fenced(fence, id, guard.UnderLease), Liveness: d.resolver.Liveness,
		Idle:  func(h lease.Holder) bool { return guard.Idle(h) && !d.predecessors.Live() },
		Audit: w.counts.Audited(told.Auditing(d.audit.event)), AuditAll: w.counts.AuditedAll(d.audit.events), Renewed: w.counts.NoteRenewal, Looked: w.counts.Looked,
		Resumes: func() bool { return !w.latch.closed.Load() },
		CutOff:  cutOff, RelyOnFence: d.cfg.RelyOnFence, StoreClient: lockop.StoreClient(d.locks.FD()),
	})
	w.latch = &latch{keeper: w.keeper}
	guard.Bind(w.latch)
	return w, nil
}

// Run mounts, calls ready, and serves until the mount ends or ctx ends (a signal to unmount). When it returns,
// everything that it started has ended.
func (d *Daemon) Run(ctx context.Context, ready func(error) error) error {
	defer func() { d.drained() }()
	if err := d.serve(ctx, ready); err != nil {
		return errors.Join(err, d.close())
	}
	return d.close()
}

func (d *Daemon) serve(ctx context.Context, ready func(error) error) error {
	if err := d.fs.Prepare(); err != nil {
		return fmt.Errorf("mount %s: %w", d.paths.Mountpoint(), err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { d.fs.Wait(); close(d.unmounting.ended) })

	major, minor := d.fs.Device()
	answers := &control.Dispatcher{Log: d.log, Counts: d.counts, LetIn: d.retirement.LetIn, Unmounted: d.finish}
	server, err := control.Listen(api.Device{Major: major, Minor: minor}, d.operations(), d.counts, d.log, answers.Handle)
	if err != nil {
		d.fs.Discard()
		return fmt.Errorf("control socket: %w", err)
	}
	if err := d.state.leave(d.runs.forRuns); err != nil {
		d.log.Warn("this mount cannot be recovered should its daemon be killed", zap.Error(err))
	}
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	d.attend(serving, server, &all)
	abort, err := d.fs.OpenAbort()
	if err != nil {
		d.log.Warn("no guardian", zap.Error(err))
	} else {
		up := make(chan struct{})
		all.Go(func() { guardian.Run(serving, abort, d.log, up) })
		<-up
	}
	if err = d.arrival.Appear(ctx, d.state.device()); err != nil {
		return errors.Join(err, d.arrival.Withdraw())
	}
	d.unmounting.find()
	all.Go(func() { d.predecessors.Await(serving, d.retirement.UnderWay) })
	d.log.Info("serving", zap.String("source", d.place.Root), zap.String("mountpoint", d.paths.Mountpoint()),
		zap.String("locks", d.place.LockDir), zap.Stringer("device", api.Device{Major: major, Minor: minor}))
	d.service.Tell("READY=1", servicemanager.Status("serving %s at %s", d.place.Root, d.paths.Mountpoint()))
	all.Go(func() { d.runs.watch(serving) })
	if d.far {
		left := &leftovers{locks: d.locks, lockDir: d.place.LockDir, policy: lockop.PolicyOf(d.cfg), authority: d.authorityOf, audit: d.audit, log: d.log}
		all.Go(func() { left.takeBack(serving, d.resolver, d.agents) })
	}
	if d.cfg.Mountpoint != "" && !host.ByUser() { // a mount that lies over its source goes with the store's, and a user's cannot be recovered
		all.Go(func() { d.returning.Run(serving) })
	}
	if err := ready(nil); err != nil {
		d.log.Warn("nobody waits for the mount", zap.Error(err))
	}
	defer d.events.End()
	defer d.ruleLocks.Book().EndWindows()
	return d.untilTheEnd(ctx, abort)
}

// attend starts the goroutines beside the file system. They run until serving ends; all waits for them.
func (d *Daemon) attend(serving context.Context, server *control.Server, all *sync.WaitGroup) {
	all.Go(func() {
		if err := server.Run(serving); err != nil {
			d.log.Error("control socket ended", zap.Error(err))
		}
	})
	all.Go(func() {
		if err := d.exits.Run(serving); err != nil {
			d.log.Error("the ends of holders are seen late", zap.Error(err))
		}
	})
	all.Go(func() { d.ruleLocks.Run(serving) })
	all.Go(func() { d.retirement.Rules.Run(serving) })
	all.Go(func() { d.trail.Run(serving) })
	all.Go(func() { d.suppressed.Run(serving, d.log) })
	d.meter.Open()
	all.Go(func() { d.meter.Run(serving) })
}

// untilTheEnd waits for the end of the mount (by request, by umount(2), or by the end of ctx) and gives the
// leases back. abort may be nil.
func (d *Daemon) untilTheEnd(ctx context.Context, abort *os.File) error {
	select {
	case <-d.finished:
	case <-d.unmounting.ended:
		if d.unmounting.cutOff() {
			return errors.Join(errCutOff, d.registry.Close())
		}
		d.journal.End() // its name may be another mount's by now
		d.log.Info("unmounted")
	case <-d.returning.Again():
		if err := d.unmounting.endForStore(); err != nil {
			d.service.Tell(servicemanager.Status("%v", err))
			return err
		}
	case <-ctx.Done():
		d.drained = d.service.Draining("unmounting " + d.paths.Mountpoint())
		return errors.Join(d.unmounting.endBySignal(), d.unmounting.cutCopies(abort))
	}
	d.drained = d.service.Draining("unmounted; releasing")
	// Leases first: a client of the control socket must not be able to keep them.
	return errors.Join(d.registry.Close(), d.state.Forget(), d.unmounting.cutCopies(abort))
}

// OnSameStore is storewatch.SameStore for what is open.
func (d *Daemon) OnSameStore(r *recovery.Recovery) error {
	return storewatch.SameOpenStore(r, d.place, d.fs.SourceFD(), d.locks.FD())
}

// Discard frees a daemon that was made and has not run.
func (d *Daemon) Discard() error { return d.close() }

// Device is the number of the mount, once it was made.
func (d *Daemon) Device() api.Device { return d.device() }

// close releases the leases and frees everything. It may be called for a daemon that was opened only in part.
func (d *Daemon) close() error {
	err := d.registry.Close()
	if d.flush != nil {
		d.flush.left.Wait()
	}
	if d.authority != nil {
		err = errors.Join(err, d.authority.Close())
	}
	d.resolver.Close()
	if d.exits != nil {
		err = errors.Join(err, d.exits.Close())
	}
	if d.fs != nil {
		err = errors.Join(err, d.fs.Close())
	}
	d.tree.Close()
	if d.audit.chain != nil {
		err = errors.Join(err, d.audit.chain.Close())
	}
	if d.locks != nil {
		err = errors.Join(err, d.locks.Close())
	}
	if d.ruleLocks != nil {
		err = errors.Join(err, d.ruleLocks.Tenures().Close())
	}
	return errors.Join(err, d.runs.close(), d.selfFencing.Close())
}
