package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/mountcfg"
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
func onRecords(ctx context.Context, note func(string), p place, policy lease.Policy, req request) (response, error) {
	if req.Op == opLockStatus {
		return peekStatus(p, policy, req)
	}
	l, err := openLocal(p, policy)
	if err != nil {
		return response{}, err
	}
	resp, err := l.do(ctx, note, req)
	return resp, errors.Join(err, l.close())
}

func (l *localLock) do(ctx context.Context, note func(string), req request) (response, error) {
	if l.place.Local {
		note("no mount: the lease is local to this machine, its records live in " + l.place.LockDir)
	}
	if req.Op == opAcquire || req.Op == opSteal {
		return l.acquire(ctx, note, req)
	}
	return l.asHolder(ctx, note, req)
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
func (l *localLock) acquire(ctx context.Context, note func(string), req request) (response, error) {
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
	grant, err := l.waitFor(ctx, note, k, req, h)
	if err != nil {
		return response{}, errors.Join(err, k.Close())
	}
	// Close would release: the keeper ends with this process instead.
	note("no mount fences this worktree or renews the lease; it ends at " + clockText(grant.Record.ExpiresAt()))
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

func (l *localLock) waitFor(ctx context.Context, note func(string), k *lease.Keeper, req request, h lease.Holder) (lease.Grant, error) {
	wait := waiting{
		until:   time.Now().Add(time.Duration(req.WaitMS) * time.Millisecond),
		observe: k.Observe,
		live:    l.resolver.Liveness,
		say:     func(text string) error { note(text); return nil },
	}
	return wait.run(ctx, func() (lease.Grant, error) {
		if req.Op == opSteal {
			if err := stillThere(k, req.Token); err != nil {
				return lease.Grant{}, err
			}
			return stealFencing(ctx, l.dir.Store(l.place.ID), uint32(os.Getuid()), req.Force, note,
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
func (l *localLock) asHolder(ctx context.Context, note func(string), req request) (response, error) {
	head, err := l.dir.Store(l.place.ID).Head()
	if err != nil {
		return response{}, err
	}
	if head.Unreadable != nil {
		return response{}, head.Unreadable
	}
	said, f := authorize(l.holderPlea(req, head))
	if f != nil {
		f.File = head.File
		if head.Record != nil && !head.Record.Released {
			f.Holder = viewOfRecord(head.Record)
		}
		return response{}, f
	}
	if said != "" {
		note(said)
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

func policyOf(cfg mountcfg.Config) lease.Policy {
	return lease.Policy{
		LeaseDuration: cfg.LeaseDuration, RenewInterval: cfg.RenewInterval,
		MaxClockSkew: cfg.MaxClockSkew, StealGrace: cfg.StealGrace,
	}
}
