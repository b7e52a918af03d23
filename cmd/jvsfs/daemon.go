package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// fileSystem is what the daemon needs of fusefs.Server.
type fileSystem interface {
	SourceFD() int
	ShareBorder(dirfd int) error // where mounts agree about exempt paths
	Where(rel string) gate.Where
	Seal(path string) error // a lock directory below the source is nobody's to write
	Mount() error
	Wait()
	Device() (major, minor uint32)
	Unmount() error
	Abort() error
	OpenAbort() (*os.File, error)
	Close() error
	WorktreeOf(rel string) (lease.WorktreeID, bool)
}

// daemon serves one mount.
type daemon struct {
	cfg   mountcfg.Config
	place place
	log   *zap.Logger
	since time.Time

	fs       fileSystem
	stats    func() any
	locks    *lease.Dir
	audit    *lease.AuditLog
	refused  *refusals
	resolver *gate.Resolver
	registry *registry

	umount   sync.Mutex // one at a time
	finished chan struct{}
	finish   func() // closes finished; may be called again
}

// newDaemon wires the parts; nothing is mounted yet. close undoes it.
func newDaemon(cfg mountcfg.Config, p place, log *zap.Logger) (*daemon, error) {
	d := &daemon{
		cfg: cfg, place: p, log: log, since: time.Now(),
		resolver: gate.NewResolver(lease.SystemClock()), finished: make(chan struct{}),
	}
	d.finish = sync.OnceFunc(func() { close(d.finished) })
	d.registry = newRegistry(log, d.newWorktree)
	d.refused = newRefusals(func(r lease.AuditRecord) error { return d.audit.Append(context.Background(), r) }, log)
	if err := d.open(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// open takes the source and the lock directory by descriptors, before anything
// is mounted over them.
func (d *daemon) open() error {
	fs, stats, err := openFileSystem(d.cfg, d.place, d.registry, d.log)
	if err != nil {
		return err
	}
	d.fs, d.stats = fs, stats
	if d.place.Shape == shapeRepository && d.place.inRepository() {
		d.locks, err = lease.OpenDirAt(fs.SourceFD(), ".jvs/locks", d.place.LockDir)
	} else {
		d.locks, err = d.place.openLockDir()
	}
	if err != nil {
		return err
	}
	if d.audit, err = openAudit(d.place, fs.SourceFD()); err != nil {
		return err
	}
	if err := shareBorder(fs, d.locks); err != nil {
		return err
	}
	return fs.Seal(d.place.LockDir)
}

func policyOf(cfg mountcfg.Config) lease.Policy {
	return lease.Policy{
		LeaseDuration: cfg.LeaseDuration, RenewInterval: cfg.RenewInterval,
		MaxClockSkew: cfg.MaxClockSkew, StealGrace: cfg.StealGrace,
	}
}

// newWorktree makes the guard and the keeper of a worktree; the registry calls it
// once for each.
func (d *daemon) newWorktree(id lease.WorktreeID) (*worktree, error) {
	rule := d.cfg.For(string(id))
	errno, err := gate.ParseErrno(d.cfg.Errno)
	if err != nil {
		return nil, err
	}
	exempt, err := gate.NewExempt(rule.Exempt, d.cfg.ExemptGit)
	if err != nil {
		return nil, err
	}
	guard := gate.NewGuard(gate.GuardConfig{
		Worktree: id, Root: d.place.Root, Mode: gate.Mode(rule.Mode), Enforce: gate.Enforce(d.cfg.Enforce),
		OnFree: gate.OnFree(rule.OnFree), Scope: gate.Scope(rule.Scope), Errno: errno,
		Policy: policyOf(d.cfg), Clock: lease.SystemClock(), Resolver: d.resolver,
		Exempt: exempt, OnExempt: d.noteExempt,
		OnRefusal: d.logRefusal,
	})
	w := &worktree{id: id, guard: guard, events: newBroadcast()}
	w.keeper = lease.NewKeeper(lease.KeeperConfig{
		Store: d.locks.Store(id), Policy: policyOf(d.cfg), Clock: lease.SystemClock(),
		Fence: announcingFence{guard, w.events}, Liveness: gate.Liveness, Idle: guard.Idle,
		Audit: d.auditEvent,
	})
	w.door = &door{keeper: w.keeper}
	guard.Bind(w.door)
	return w, nil
}

// logRefusal leaves the trace of a refusal. The log's sampling bounds how many,
// and what is left out is not formatted: a refused write must stay cheap.
func (d *daemon) logRefusal(no *gate.Refusal) {
	d.refused.note(no)
	entry := d.log.Check(zap.InfoLevel, "refused")
	if entry == nil {
		return
	}
	entry.Write(zap.String("worktree", string(no.Worktree)), zap.Stringer("op", no.Op),
		zap.String("class", string(no.Class())), zap.String("why", no.Sentence()))
}

// noteExempt leaves the trace of a write that was admitted for its place.
func (d *daemon) noteExempt(x gate.Exemption) {
	d.refused.noteExempt(x, func() int {
		id, err := d.resolver.Identify(x.Caller)
		if err != nil {
			return 0
		}
		return id.PID
	})
}

// run mounts, tells ready, and serves until the mount ends or ctx does (a signal
// to unmount). Everything it started has ended when it returns.
func (d *daemon) run(ctx context.Context, ready func(error) error) error {
	if err := d.serve(ctx, ready); err != nil {
		return errors.Join(err, d.close())
	}
	return d.close()
}

func (d *daemon) serve(ctx context.Context, ready func(error) error) error {
	if err := d.fs.Mount(); err != nil {
		return fmt.Errorf("mount %s: %w", d.mountpoint(), err)
	}
	var all sync.WaitGroup
	defer all.Wait()
	unmounted := make(chan struct{})
	all.Go(func() { d.fs.Wait(); close(unmounted) })

	major, minor := d.fs.Device()
	control, err := listenControl(device{major, minor}, d.log, d.handle)
	if err != nil {
		return errors.Join(fmt.Errorf("control socket: %w", err), d.fs.Unmount())
	}
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	all.Go(func() {
		if err := control.Run(serving); err != nil {
			d.log.Error("control socket ended", zap.Error(err))
		}
	})
	all.Go(func() { d.refused.run(serving) })
	if abort, err := d.fs.OpenAbort(); err != nil {
		d.log.Warn("no guardian", zap.Error(err))
	} else {
		all.Go(func() { runGuardian(serving, abort, d.log) })
	}
	d.log.Info("serving", zap.String("source", d.place.Root), zap.String("mountpoint", d.mountpoint()),
		zap.String("locks", d.place.LockDir), zap.Stringer("device", device{major, minor}))
	if err := ready(nil); err != nil {
		d.log.Warn("nobody waits for the mount", zap.Error(err))
	}
	select {
	case <-d.finished:
	case <-unmounted:
		d.log.Info("unmounted")
	case <-ctx.Done():
		return d.endBySignal()
	}
	// Leases first: a client of the control socket must not be able to keep them.
	return d.registry.close()
}

// endBySignal unmounts, or, when the mount is busy, closes the gates, releases
// and leaves a dead mount behind: everything there fails from now on, which is
// closed; a lazy unmount would bare the directory below.
func (d *daemon) endBySignal() error {
	d.umount.Lock()
	defer d.umount.Unlock()
	err := d.unmount()
	if err == nil {
		return nil
	}
	if !errors.Is(err, unix.EBUSY) {
		d.log.Warn("unmount", zap.Error(err))
	}
	err = d.registry.close()
	d.log.Warn("ended while the mount was busy: the mount is dead now and refuses everything",
		zap.String("mountpoint", d.mountpoint()), zap.Error(err))
	return errors.Join(err, d.fs.Abort())
}

// unmount detaches our mount, unless something else was mounted over it since.
func (d *daemon) unmount() error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	major, minor := d.fs.Device()
	if top := mounts.at(d.mountpoint()); top == nil || deviceOf(top) != (device{major, minor}) {
		return fmt.Errorf("another file system covers the mount: %w", unix.EBUSY)
	}
	return d.fs.Unmount()
}

func (d *daemon) mountpoint() string {
	if d.cfg.Mountpoint == "" {
		return d.place.Root
	}
	return d.cfg.Mountpoint
}

// answerUnmount unmounts if nobody uses the mount, then flushes and releases, and
// answers when all of that is done.
func (d *daemon) answerUnmount(s *session) (response, error) {
	if _, f := authorize(plea{Op: opUnmount, PeerUID: s.peer.UID, MountUID: uint32(os.Geteuid())}); f != nil {
		return response{}, f
	}
	d.umount.Lock()
	defer d.umount.Unlock()
	if err := d.unmountPatiently(); err != nil {
		return response{}, err
	}
	return response{}, errors.Join(d.registry.close(), d.flush())
}

// busyRetries and busyPause bound how long a mount may be busy with nobody to be
// seen in it: a file that was closed a moment ago, a process that is just ending.
const (
	busyRetries = 10
	busyPause   = 50 * time.Millisecond
)

// unmountPatiently names who keeps the mount, at once when there is somebody.
func (d *daemon) unmountPatiently() error {
	major, minor := d.fs.Device()
	for try := 0; ; try++ {
		err := d.unmount()
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("unmount %s: %w", d.mountpoint(), err)
		}
		who := whoKeepsBusy(device{major, minor}, os.Getpid())
		if len(who) > 0 || try == busyRetries {
			return busyFailure(d.mountpoint(), who)
		}
		time.Sleep(busyPause)
	}
}

// flush makes what was written durable: syncfs of the backing file system.
func (d *daemon) flush() error {
	fd, err := unix.Openat(d.fs.SourceFD(), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return errors.Join(unix.Syncfs(fd), unix.Close(fd))
}

// close releases what is held and gives everything back. It may be called on a
// daemon that was only partly opened.
func (d *daemon) close() error {
	err := d.registry.close()
	d.resolver.Close()
	if d.fs != nil {
		err = errors.Join(err, d.fs.Close())
	}
	if d.locks != nil {
		err = errors.Join(err, d.locks.Close())
	}
	if d.audit != nil {
		err = errors.Join(err, d.audit.Close())
	}
	return err
}

// mountStatus is one mount in `status --json`; the names are a promise.
type mountStatus struct {
	Mountpoint string          `json:"mountpoint"`
	Source     string          `json:"source,omitempty"`
	Device     string          `json:"device"`
	State      string          `json:"state"` // serving, dead, silent or forbidden
	Detail     string          `json:"detail,omitempty"`
	PID        int             `json:"pid,omitempty"`
	Since      *time.Time      `json:"since,omitempty"`
	Shape      shape           `json:"shape,omitempty"`
	Locks      string          `json:"locks,omitempty"`
	Audit      string          `json:"audit,omitempty"`
	Local      bool            `json:"local,omitempty"` // the fence holds on this machine only
	Enforce    string          `json:"enforce,omitempty"`
	Worktrees  []gate.Status   `json:"worktrees,omitempty"`
	Statistics json.RawMessage `json:"statistics,omitempty"`
}

func (d *daemon) status() mountStatus {
	major, minor := d.fs.Device()
	st := mountStatus{
		Mountpoint: d.mountpoint(), Source: d.place.Root, Device: device{major, minor}.String(), State: "serving",
		PID: os.Getpid(), Since: &d.since, Shape: d.place.Shape, Locks: d.place.LockDir, Audit: d.place.auditPath(), Local: d.place.Local,
		Enforce: d.cfg.Enforce,
	}
	for _, w := range d.registry.all() {
		st.Worktrees = append(st.Worktrees, w.guard.Status())
	}
	sort.Slice(st.Worktrees, func(i, j int) bool { return st.Worktrees[i].Worktree < st.Worktrees[j].Worktree })
	if raw, err := json.Marshal(d.stats()); err == nil {
		st.Statistics = raw
	}
	return st
}
