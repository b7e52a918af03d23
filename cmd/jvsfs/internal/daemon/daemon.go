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
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/leases"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/metrics"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/paths"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/refusals"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/servicemanager"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/storewatch"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/daemon/succession"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/lockop"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/rules"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// New wires the parts. Nothing is mounted yet. close undoes it.
func New(cfg mountcfg.Config, p place.Place, out Outside) (*Daemon, error) {
	log := out.Log
	if out.Service == nil {
		out.Service = &servicemanager.Service{}
	}
	out.Service.LogTo(log)
	d := &Daemon{given: given{cfg: cfg, place: p, out: out, since: time.Now()}, log: log, resolver: gate.NewResolver(lease.SystemClock()),
		drained: func() {}, finished: make(chan struct{})}
	var err error
	if d.given.rules, err = rules.Compile(cfg); err != nil {
		return nil, api.UsageError(err)
	}
	d.given.place.Rules = d.given.rules // which fit, as mount has checked
	d.given.paths = paths.New(cmp.Or(cfg.Mountpoint, p.Root), p)
	d.has.audit = &auditChain{log: log}
	d.registry = leases.New(log, d.newWorktree)
	d.events = events.New(d.given.paths, succession.ProcessText(host.ThisProcess()), d.registry.Ended)
	d.counts = metrics.NewCounts()
	d.trail = refusals.New(d.resolver, refusals.Places{Audit: d.has.audit.append, Counted: d.counts.Refused, Fresh: d.events.NoteRefusal}, log)
	d.mode = newEnforceMode(gate.Enforce(cfg.Enforce))
	d.finish = sync.OnceFunc(func() { close(d.finished) })
	d.journal = journal.New(log)
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
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
	if err := d.has.fs.Prepare(); err != nil {
		return fmt.Errorf("mount %s: %w", d.given.paths.Mountpoint(), err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { d.has.fs.Wait(); close(d.unmounting.ended) })

	major, minor := d.has.fs.Device()
	answers := &control.Dispatcher{Log: d.log, Counts: d.counts, LetIn: d.retirement.LetIn, Unmounted: d.finish}
	server, err := control.Listen(api.Device{Major: major, Minor: minor}, d.operations(), d.counts, d.log, answers.Handle)
	if err != nil {
		d.has.fs.Discard()
		return fmt.Errorf("control socket: %w", err)
	}
	if err := d.state.leave(d.runs.forRuns); err != nil {
		d.log.Warn("this mount cannot be recovered should its daemon be killed", zap.Error(err))
	}
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	d.attend(serving, server, &all)
	abort, err := d.has.fs.OpenAbort()
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
	d.log.Info("serving", zap.String("source", d.given.place.Root), zap.String("mountpoint", d.given.paths.Mountpoint()),
		zap.String("locks", d.given.place.LockDir), zap.Stringer("device", api.Device{Major: major, Minor: minor}))
	d.given.out.Service.Tell("READY=1", servicemanager.Status("serving %s at %s", d.given.place.Root, d.given.paths.Mountpoint()))
	all.Go(func() { d.runs.watch(serving) })
	if d.has.far {
		left := &leftovers{locks: d.has.locks, lockDir: d.given.place.LockDir, policy: lockop.PolicyOf(d.given.cfg), authority: d.authorityOf, audit: d.has.audit, log: d.log}
		all.Go(func() { left.takeBack(serving, d.resolver, d.agents) })
	}
	if d.given.cfg.Mountpoint != "" && !host.ByUser() { // a mount that lies over its source goes with the store's, and a user's cannot be recovered
		all.Go(func() { d.returning.Run(serving) })
	}
	if err := ready(nil); err != nil {
		d.log.Warn("nobody waits for the mount", zap.Error(err))
	}
	defer d.events.End()
	defer d.has.ruleLocks.Book().EndWindows()
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
		if err := d.has.exits.Run(serving); err != nil {
			d.log.Error("the ends of holders are seen late", zap.Error(err))
		}
	})
	all.Go(func() { d.has.ruleLocks.Run(serving) })
	all.Go(func() { d.retirement.Rules.Run(serving) })
	all.Go(func() { d.trail.Run(serving) })
	all.Go(func() { d.given.out.Suppressed.Run(serving, d.log) })
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
			d.given.out.Service.Tell(servicemanager.Status("%v", err))
			return err
		}
	case <-ctx.Done():
		d.drained = d.given.out.Service.Draining("unmounting " + d.given.paths.Mountpoint())
		return errors.Join(d.unmounting.endBySignal(), d.unmounting.cutCopies(abort))
	}
	d.drained = d.given.out.Service.Draining("unmounted; releasing")
	// Leases first: a client of the control socket must not be able to keep them.
	return errors.Join(d.registry.Close(), d.state.Forget(), d.unmounting.cutCopies(abort))
}

// OnSameStore is storewatch.SameStore for what is open.
func (d *Daemon) OnSameStore(r *recovery.Recovery) error {
	return storewatch.SameOpenStore(r, d.given.place, d.has.fs.SourceFD(), d.has.locks.FD())
}

// Discard frees a daemon that was made and has not run.
func (d *Daemon) Discard() error { return d.close() }

// Device is the number of the mount, once it was made.
func (d *Daemon) Device() api.Device { return d.state.device() }

// close releases the leases and frees everything. It may be called for a daemon that was opened only in part.
func (d *Daemon) close() error {
	err := d.registry.Close()
	if d.flush != nil {
		d.flush.left.Wait()
	}
	return errors.Join(err, d.has.close(d.resolver), d.runs.close(), d.has.selfFencing.Close())
}
