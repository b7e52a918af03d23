package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"golang.org/x/sys/unix"
)

// localLock works on the records of one worktree that no mount serves.
type localLock struct {
	place    place
	policy   lease.Policy
	dir      *lease.Dir
	audit    *lease.AuditLog
	resolver *gate.Resolver
	tree     *treeLock // on the directory, from claim on; nil before
}

// openLocal opens the lock directory, making it if need be.
func openLocal(p place, policy lease.Policy) (*localLock, error) {
	dir, err := p.openLockDir()
	if err != nil {
		return nil, err
	}
	audit, err := openAudit(p, -1, dir)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &localLock{place: p, policy: policy, dir: dir, audit: audit, resolver: gate.NewResolver(lease.SystemClock())}, nil
}

// claim makes sure that no mount serves the directory with other records, for as long as l
// is open: what is taken here says nothing there.
func (l *localLock) claim(ctx context.Context) error {
	root := l.place.Root
	if !exists(root) {
		root = l.place.Repo // of a worktree that is still to be made
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	p := l.place
	p.Root = root
	if l.tree, err = lockTree(p, fd, l.dir.FD()); err != nil {
		l.place.forgetEmpty()
		return err
	}
	return l.place.own(ctx, l.dir, l.policy)
}

func (l *localLock) close() error {
	l.resolver.Close()
	l.tree.close()
	return errors.Join(l.audit.Close(), l.dir.Close())
}

func (l *localLock) auditEvent(e lease.Event) error {
	return l.audit.Append(context.Background(), auditRecordOf(e))
}

func (l *localLock) keeper(fence lease.Fence) *lease.Keeper {
	return lease.NewKeeper(lease.KeeperConfig{
		Store: l.dir.Store(l.place.ID), Policy: l.policy, Clock: lease.SystemClock(), Fence: fence,
		Liveness: l.resolver.Liveness, Audit: l.auditEvent,
	})
}

// peek looks at the records without making anything; fs.ErrNotExist when there
// is no lock directory.
func peek(p place, policy lease.Policy) (lease.Head, lease.Judgement, error) {
	if p.LockDir == "" {
		return lease.Head{}, lease.Judgement{}, os.ErrNotExist
	}
	if _, err := os.Lstat(p.LockDir); err != nil {
		return lease.Head{}, lease.Judgement{}, err
	}
	dir, err := lease.OpenDir(p.LockDir)
	if err != nil {
		return lease.Head{}, lease.Judgement{}, err
	}
	now := lease.SystemClock().Wall() // before the record is read, as Judge wants it
	head, err := dir.Store(p.ID).Head()
	if err = errors.Join(err, dir.Close()); err != nil {
		return head, lease.Judgement{}, err
	}
	return head, lease.Judge(now, head, policy), nil
}

// onRecords does one lock operation on the records.
func onRecords(ctx context.Context, io stdio, p place, policy lease.Policy, req request) (response, error) {
	if req.Op == opLockStatus {
		return peekStatus(p, policy, req)
	}
	l, err := openLocal(p, policy)
	if err != nil {
		return response{}, err
	}
	resp, err := l.do(ctx, io, req)
	return resp, errors.Join(err, l.close())
}

func (l *localLock) do(ctx context.Context, io stdio, req request) (response, error) {
	if l.place.Local {
		noteTo(io)("no mount: the lease is local to this machine, its records live in " + l.place.LockDir)
	}
	if req.Op == opAcquire || req.Op == opSteal {
		return l.acquire(ctx, io, req)
	}
	return l.asHolder(ctx, io, req)
}

func peekStatus(p place, policy lease.Policy, req request) (response, error) {
	head, j, err := peek(p, policy)
	if errors.Is(err, os.ErrNotExist) {
		head, j = lease.Head{}, lease.Judgement{State: lease.Free, Reason: "nobody has held it yet"}
	} else if err != nil {
		return response{}, err
	}
	st, err := lockStatusOf(p.ID, head, j, uint32(os.Getuid()))
	if err != nil {
		return response{}, err
	}
	if req.Explicit && head.Record != nil {
		r := gate.NewResolver(lease.SystemClock())
		defer r.Close()
		id, err := identify(r, req.PID)
		member := err == nil && j.State != lease.Free && r.Member(head.Record.Holder(), id)
		st.Member = &member
	}
	return resultOf(st)
}

// acquire takes the lease with a keeper that does not run: nothing renews it, and
// it outlives this command.
func (l *localLock) acquire(ctx context.Context, io stdio, req request) (response, error) {
	h, err := l.holder(req)
	if err != nil {
		return response{}, err
	}
	if err := l.claim(ctx); err != nil {
		return response{}, err
	}
	if resp, ok := l.again(ctx, req, h); ok {
		return resp, nil
	}
	k := l.keeper(nil)
	grant, err := l.waitFor(ctx, io, k, req, h)
	if err != nil {
		return response{}, errors.Join(err, k.Close())
	}
	// Close would release: the keeper ends with this process instead.
	noteTo(io)("no mount fences this worktree or renews the lease; it ends at " + clockText(grant.Record.ExpiresAt()))
	raw, err := recordJSON(&grant.Record, uint32(os.Getuid()))
	return response{Record: raw, Token: grant.Token}, err
}

// again is acquire by the process that holds already, from an earlier command: its
// lease is renewed. ok is false when that is not so, or does not work.
func (l *localLock) again(ctx context.Context, req request, h lease.Holder) (response, bool) {
	head, err := l.dir.Store(l.place.ID).Head()
	if err != nil || req.Op != opAcquire || head.Unreadable != nil || head.Record == nil || head.Record.Released {
		return response{}, false
	}
	if has := head.Record.Holder(); has.BootID != h.BootID || has.PID != h.PID || has.StartTime != h.StartTime || has.Scope != h.Scope {
		return response{}, false
	}
	rec, err := l.rewrite(ctx, opRenew, head)
	if err != nil {
		return response{}, false // expired: a new token is what acquiring gives
	}
	raw, err := recordJSON(rec, uint32(os.Getuid()))
	return response{Record: raw, Token: head.Token}, err == nil
}

func (l *localLock) holder(req request) (lease.Holder, error) {
	scope, err := gate.ParseScope(req.Scope)
	if err != nil {
		return lease.Holder{}, usagef("%v", err)
	}
	owner, err := ownerOf(req.PID)
	if err != nil {
		return lease.Holder{}, noProcess(req.PID, err)
	}
	if _, f := authorize(plea{Op: req.Op, PeerUID: uint32(os.Getuid()), TargetUID: owner}); f != nil {
		return lease.Holder{}, f
	}
	h, err := l.resolver.HolderFor(req.PID, scope, req.Purpose)
	if err != nil {
		return h, noProcess(req.PID, err)
	}
	return h, nil
}

func (l *localLock) waitFor(ctx context.Context, io stdio, k *lease.Keeper, req request, h lease.Holder) (lease.Grant, error) {
	wait := waiting{
		until:   time.Now().Add(time.Duration(req.WaitMS) * time.Millisecond),
		observe: k.Observe,
		live:    l.resolver.Liveness,
		say:     func(text string) error { noteTo(io)(text); return nil },
	}
	return wait.run(ctx, func() (lease.Grant, error) {
		if req.Op == opSteal {
			if err := stillThere(k, req.Token); err != nil {
				return lease.Grant{}, err
			}
			return stealFencing(ctx, l.dir.Store(l.place.ID), uint32(os.Getuid()), req.Force, noteTo(io),
				func() (lease.Grant, error) { return k.Steal(ctx, h) })
		}
		grant, err := k.Acquire(ctx, h)
		if _, j := k.Observe(); err != nil && req.Steal && j.State == lease.Stealable {
			return k.Steal(ctx, h)
		}
		return grant, err
	})
}

// asHolder renews or releases a lease that an earlier command took. Who the
// caller is decides as the daemon would decide; the claim's own nonce, read from
// the record, then proves it to the store.
func (l *localLock) asHolder(ctx context.Context, io stdio, req request) (response, error) {
	head, err := l.dir.Store(l.place.ID).Head()
	if err != nil {
		return response{}, err
	}
	if head.Unreadable != nil {
		return response{}, head.Unreadable
	}
	note, f := authorize(l.holderPlea(req, head))
	if f != nil {
		f.File = head.File
		if head.Record != nil && !head.Record.Released {
			f.Holder = viewOfRecord(head.Record)
		}
		return response{}, f
	}
	if note != "" {
		noteTo(io)(note)
	}
	rec, err := l.rewrite(ctx, req.Op, head)
	if err != nil {
		return response{}, err
	}
	raw, err := recordJSON(rec, uint32(os.Getuid()))
	return response{Record: raw, Token: head.Token}, err
}

func (l *localLock) holderPlea(req request, head lease.Head) plea {
	p := plea{Op: req.Op, PeerUID: uint32(os.Getuid()), Explicit: req.Explicit, Held: head.Record != nil && !head.Record.Released}
	if !p.Held {
		return p
	}
	h := head.Record.Holder()
	p.HolderUID = h.UID
	if id, err := identify(l.resolver, os.Getpid()); err == nil {
		p.PeerMember = l.resolver.Member(h, id)
	}
	if !p.Explicit {
		return p
	}
	if id, err := identify(l.resolver, req.PID); err == nil {
		p.TargetMember = l.resolver.Member(h, id)
	} else {
		p.TargetMember = req.PID == h.PID && gate.Liveness(h) == lease.Gone
	}
	return p
}

// localHolding is exec without a mount: this process renews the lease itself.
type localHolding struct {
	e      *execCommand
	t      target
	policy lease.Policy
	c      *child
	reason chan string

	lock   *localLock
	keeper *lease.Keeper
	cancel context.CancelFunc
	ended  chan error
}

func (e *execCommand) local(t target, policy lease.Policy, c *child) holding {
	return &localHolding{e: e, t: t, policy: policy, c: c, reason: make(chan string, 1)}
}

func (h *localHolding) lost() <-chan string { return h.reason }

func (h *localHolding) acquire(ctx context.Context) error {
	lock, err := openLocal(h.t.place, h.policy)
	if err != nil {
		return err
	}
	h.lock = lock
	if err := lock.claim(ctx); err != nil {
		return err
	}
	noteTo(h.e.io)(fmt.Sprintf("no mount fences %s: the lease keeps those out who ask for it", h.t.place.Root))
	req := request{
		Op: opAcquire, PID: h.c.pid, Explicit: true, Scope: h.e.scope, Purpose: h.e.purpose,
		WaitMS: h.e.wait.Milliseconds(), Steal: h.e.steal,
	}
	holder, err := lock.holder(req)
	if err != nil {
		return err
	}
	h.keeper = lock.keeper(reportingFence{h.reason})
	if _, err := lock.waitFor(ctx, h.e.io, h.keeper, req, holder); err != nil {
		return err
	}
	var run context.Context
	run, h.cancel = context.WithCancel(context.Background())
	h.ended = make(chan error, 1)
	go func() { h.ended <- h.keeper.Run(run) }()
	return nil
}

func (h *localHolding) release() error {
	var errs []error
	if h.cancel != nil {
		h.cancel()
		errs = append(errs, <-h.ended)
	}
	if h.keeper != nil {
		errs = append(errs, h.keeper.Close())
	}
	if h.lock != nil {
		errs = append(errs, h.lock.close())
	}
	return errors.Join(errs...)
}

// reportingFence fences nothing, and tells of the loss.
type reportingFence struct{ reason chan<- string }

func (reportingFence) Open(lease.Grant)                  {}
func (reportingFence) Extend(lease.Token, time.Duration) {}

// Hold has nothing to hold up.
func (reportingFence) Hold(context.Context, lease.Token) (func(), error) { return func() {}, nil }

// Close tells the first loss that ends the lease.
func (f reportingFence) Close(l lease.Loss) {
	if l.Kind == lease.LossRenewFailed {
		return
	}
	select {
	case f.reason <- lossName(l.Kind):
	default:
	}
}
