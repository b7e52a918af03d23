package lockop

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/audit"
	"github.com/jvsfs/jvsfs/lease/record"
	"github.com/jvsfs/jvsfs/mountcfg"
)

// Local works on the records of one worktree that no mount serves.
type Local struct {
	place    place.Place
	terms    Terms
	dir      *lease.Dir
	audit    *audit.Log
	resolver *gate.Resolver
	tree     *place.TreeLock // on the directory, from claim on; nil before
}

// OpenLocal opens the lock directory, and makes it if necessary.
func OpenLocal(p place.Place, terms Terms) (*Local, error) {
	dir, err := p.OpenRecords()
	return localIn(p, terms, dir, err)
}

// openFor is OpenLocal for a request. Who gives back or renews takes nothing.
func openFor(req api.Body, p place.Place, terms Terms) (*Local, error) {
	switch req.(type) {
	case api.Release, api.Renew:
		dir, err := p.OpenRecordsToGive()
		return localIn(p, terms, dir, err)
	}
	return OpenLocal(p, terms)
}

func localIn(p place.Place, terms Terms, dir *lease.Dir, err error) (*Local, error) {
	if err != nil {
		return nil, err
	}
	audit, err := place.OpenAudit(p, -1, dir)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return &Local{place: p, terms: terms, dir: dir, audit: audit, resolver: gate.NewResolver(lease.SystemClock())}, nil
}

// Claim makes sure that no mount serves the directory with other records while l is open. A lease that is taken
// here would mean nothing to such a mount.
func (l *Local) Claim(ctx context.Context) error {
	root := l.place.Root
	if !place.Exists(root) {
		root = l.place.Repo // the worktree is not made yet
	}
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	p := l.place
	p.Root = root
	if l.tree, err = place.LockTree(p, fd, l.dir.FD()); err != nil {
		l.place.ForgetEmpty()
		return err
	}
	return l.place.Own(ctx, l.dir, l.terms.Policy)
}

// Close frees everything. It keeps the lease.
func (l *Local) Close() error {
	l.resolver.Close()
	l.tree.Close()
	return errors.Join(l.audit.Close(), l.dir.Close())
}

func (l *Local) auditEvent(e lease.Event) error {
	return l.audit.Append(context.Background(), place.AuditRecordOf(e))
}

// Keeper makes a keeper of the lease for a holder. It does not run.
func (l *Local) Keeper(fence lease.Fence, h lease.Holder) *lease.Keeper {
	return lease.NewKeeper(lease.KeeperConfig{
		Store: l.dir.Store(l.place.ID), Policy: l.terms.Policy, Clock: lease.SystemClock(), Fence: fence,
		Liveness: l.resolver.Liveness, Audit: l.auditEvent,
		CutOff: l.terms.cutOff(h, l.dir), StoreClient: StoreClient(l.dir.FD()),
	})
}

// Peek reads the records and makes nothing. It returns fs.ErrNotExist if there is no lock directory.
func Peek(p place.Place, policy record.Policy) (lease.Head, lease.Judgement, error) {
	if p.LockDir == "" {
		return lease.Head{}, lease.Judgement{}, os.ErrNotExist
	}
	if _, err := os.Lstat(p.LockDir); err != nil {
		return lease.Head{}, lease.Judgement{}, err
	}
	dir, err := place.LookUngoverned(p.LockDir)
	if err != nil {
		return lease.Head{}, lease.Judgement{}, err
	}
	now := lease.SystemClock().Wall() // before the record is read, as JudgeRead wants it
	head, err := dir.Store(p.ID).Head()
	read := lease.SystemClock().Wall()
	if err = errors.Join(err, dir.Close()); err != nil {
		return head, lease.Judgement{}, err
	}
	return head, lease.JudgeRead(now, read, head, policy), nil
}

// Take is a request to take the lease: to acquire it, or to steal it.
type Take struct {
	api.Taking
	IfExpired bool        // acquire: an expired lease may be stolen
	Kept      bool        // acquire: who asks keeps it for its child, and adopts what that leaves
	Robs      bool        // steal
	Force     bool        // steal: end the daemon that keeps the gate
	Agreed    lease.Token // steal: only this lease, 0 = the current one
}

// TakeAcquiring takes the lease if it is free.
func TakeAcquiring(r api.Acquire) Take {
	return Take{Taking: r.Taking, IfExpired: r.Steal, Kept: r.Watch}
}

// TakeStealing takes an expired lease over.
func TakeStealing(r api.Steal) Take {
	return Take{Taking: r.Taking, Robs: true, Force: r.Force, Agreed: r.Token}
}

// OnRecords does one lock operation on the records.
func OnRecords(ctx context.Context, note func(string), p place.Place, terms Terms, req api.Body) (api.Response, error) {
	if r, ok := req.(api.LookAtLock); ok {
		return PeekStatus(p, terms.Policy, r)
	}
	l, err := openFor(req, p, terms)
	if err != nil {
		return api.Response{}, err
	}
	resp, err := l.do(ctx, note, req)
	return resp, errors.Join(err, l.Close())
}

func (l *Local) do(ctx context.Context, note func(string), req api.Body) (api.Response, error) {
	if l.place.Local {
		note("no mount: the lease is local to this machine, its records live in " + l.place.LockDir)
	}
	switch r := req.(type) {
	case api.Acquire:
		return l.acquire(ctx, note, TakeAcquiring(r))
	case api.Steal:
		return l.acquire(ctx, note, TakeStealing(r))
	case api.Renew:
		return l.asHolder(ctx, note, r.Op(), r.Process, l.renew)
	case api.Release:
		return l.asHolder(ctx, note, r.Op(), r.Process, l.giveBack)
	}
	return api.Response{}, api.Usagef("%s is not done without a mount", req.Op())
}

// PeekStatus answers lock status from the records alone, and makes nothing.
func PeekStatus(p place.Place, policy record.Policy, req api.LookAtLock) (api.Response, error) {
	head, j, err := Peek(p, policy)
	if errors.Is(err, os.ErrNotExist) {
		head, j = lease.Head{}, lease.Judgement{State: lease.Free, Reason: "nobody has held it yet"}
	} else if err != nil {
		return api.Response{}, err
	}
	st, err := api.LockStatusOf(p.ID, head, j, uint32(os.Getuid()))
	if err != nil {
		return api.Response{}, err
	}
	if req.Explicit && head.Record != nil {
		r := gate.NewResolver(lease.SystemClock())
		defer r.Close()
		id, err := Identify(r, req.PID)
		member := err == nil && j.State != lease.Free && r.Member(head.Record.Holder(), id)
		st.Member = &member
	}
	return api.ResultOf(st)
}

// acquire takes the lease with a keeper that does not run. So nothing renews the lease, and it outlives this
// command.
func (l *Local) acquire(ctx context.Context, note func(string), req Take) (api.Response, error) {
	h, err := l.Holder(req)
	if err != nil {
		return api.Response{}, err
	}
	if err := l.Claim(ctx); err != nil {
		return api.Response{}, err
	}
	if resp, ok := l.again(ctx, req, h); ok {
		return resp, nil
	}
	k := l.Keeper(nil, h)
	grant, err := l.WaitFor(ctx, note, k, req, h)
	if err != nil {
		return api.Response{}, errors.Join(err, k.Close())
	}
	// No Close: it would release. The keeper ends with this process.
	note("no mount fences this worktree or renews the lease; it ends at " + human.Clock(grant.Record.ExpiresAt()))
	raw, err := api.RecordJSON(&grant.Record, uint32(os.Getuid()))
	return api.Response{Record: raw, Token: grant.Token}, err
}

// again is acquire by the process that holds already, through an earlier command. Its lease is renewed. ok is
// false if the process does not hold, or the renewal fails.
func (l *Local) again(ctx context.Context, req Take, h lease.Holder) (api.Response, bool) {
	head, err := l.dir.Store(l.place.ID).Head()
	if err != nil || req.Robs || head.Unreadable != nil || head.Record == nil || head.Record.Released {
		return api.Response{}, false
	}
	if has := head.Record.Holder(); has.BootID != h.BootID || has.PID != h.PID || has.StartTime != h.StartTime || has.Scope != h.Scope {
		return api.Response{}, false
	}
	rec, err := l.renew(ctx, head)
	if err != nil {
		return api.Response{}, false // expired: acquiring gives a new token
	}
	raw, err := api.RecordJSON(rec, uint32(os.Getuid()))
	return api.Response{Record: raw, Token: head.Token}, err == nil
}

// Holder is the process that the request names, as a holder.
func (l *Local) Holder(req Take) (lease.Holder, error) {
	scope, err := gate.ParseScope(req.Scope)
	if err != nil {
		return lease.Holder{}, api.Usagef("%v", err)
	}
	if f := RefuseInit(req.PID, scope); f != nil {
		return lease.Holder{}, f
	}
	owner, err := process.OwnerOf(req.PID)
	if err != nil {
		return lease.Holder{}, api.NoProcess(req.PID, err)
	}
	may := unix.Faccessat(unix.AT_FDCWD, l.place.Root, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
	if _, f := Authorize(Plea{Who: Taker, PeerUID: uint32(os.Getuid()), TargetUID: owner, MayWrite: may}); f != nil {
		return lease.Holder{}, f
	}
	h, err := l.resolver.HolderFor(req.PID, scope, req.Purpose)
	if err != nil {
		return h, api.NoProcess(req.PID, err)
	}
	if own, err := Identify(l.resolver, os.Getpid()); err == nil && req.Kept {
		h = gate.WithSubreaper(h, own)
	}
	return h, nil
}

// WaitFor takes the lease for h, and waits for it as long as the request says.
func (l *Local) WaitFor(ctx context.Context, note func(string), k *lease.Keeper, req Take, h lease.Holder) (lease.Grant, error) {
	wait := Waiting{
		Until:   time.Now().Add(time.Duration(req.WaitMS) * time.Millisecond),
		Observe: k.Observe,
		Live:    l.resolver.Liveness,
		Say:     func(text string) error { note(text); return nil },
	}
	return wait.Run(ctx, func() (lease.Grant, error) {
		if req.Robs {
			if err := StillThere(k, req.Agreed); err != nil {
				return lease.Grant{}, err
			}
			return StealFencing(ctx, l.dir.Store(l.place.ID), uint32(os.Getuid()), req.Force, note,
				func() (lease.Grant, error) { return k.Steal(ctx, h) })
		}
		grant, err := k.Acquire(ctx, h)
		if _, j := k.Observe(); err != nil && req.IfExpired && j.State == lease.Stealable {
			return k.Steal(ctx, h)
		}
		return grant, err
	})
}

// asHolder renews or releases a lease that an earlier command took. It authorizes the caller as the daemon
// would. Then it uses the nonce from the record to prove to the store that the claim is its own.
func (l *Local) asHolder(ctx context.Context, note func(string), op string, who api.Process, do func(context.Context, lease.Head) (*record.Record, error)) (api.Response, error) {
	head, err := l.dir.Store(l.place.ID).Head()
	if err != nil {
		return api.Response{}, err
	}
	if head.Unreadable != nil {
		return api.Response{}, head.Unreadable
	}
	said, f := Authorize(l.holderPlea(op, who, head))
	if f != nil {
		f.File = head.File
		if head.Record != nil && !head.Record.Released {
			f.Holder = api.ViewOfRecord(head.Record)
		}
		return api.Response{}, f
	}
	if said != "" {
		note(said)
	}
	rec, err := do(ctx, head)
	if err != nil {
		return api.Response{}, err
	}
	raw, err := api.RecordJSON(rec, uint32(os.Getuid()))
	return api.Response{Record: raw, Token: head.Token}, err
}

func (l *Local) holderPlea(op string, who api.Process, head lease.Head) Plea {
	p := Plea{Who: HolderOfIt, Op: op, PeerUID: uint32(os.Getuid()), Explicit: who.Explicit, Held: head.Record != nil && !head.Record.Released}
	if !p.Held {
		return p
	}
	h := head.Record.Holder()
	p.HolderUID = h.UID
	if id, err := Identify(l.resolver, os.Getpid()); err == nil {
		p.PeerMember = l.resolver.Member(h, id)
	}
	if !p.Explicit {
		return p
	}
	if id, err := Identify(l.resolver, who.PID); err == nil {
		p.TargetMember = l.resolver.Member(h, id)
	} else {
		p.TargetMember = who.PID == h.PID && gate.Liveness(h) == lease.Gone
	}
	return p
}

// PolicyOf is the lease policy of a configuration.
func PolicyOf(cfg mountcfg.Config) record.Policy {
	return record.Policy{
		LeaseDuration: cfg.LeaseDuration, RenewInterval: cfg.RenewInterval,
		MaxClockSkew: cfg.MaxClockSkew, StealGrace: cfg.StealGrace,
	}
}
