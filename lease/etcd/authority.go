package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// authority is one worktree's.
type authority struct {
	s     *Session
	store *lease.Store
	keys  keys

	looking sync.Mutex    // one reads for all who observe
	failed  error         // of the last read
	failAt  time.Duration // boot clock
}

// remembers is how long a head is used again though the watch says nothing, and how long a failure is.
const remembers = time.Second

// Authority decides for the worktree of a store, whose directory is governed ([lease.Dir.Govern]).
func (s *Session) Authority(store *lease.Store) lease.Authority {
	return &authority{s: s, store: store, keys: s.keysOf(store.Worktree())}
}

// state is what one request has read of a worktree.
type state struct {
	rec      *record.Record // nil: never claimed
	raw      []byte
	head     int64 // the revisions at which the keys were last changed; 0: absent
	alive    int64
	floorAt  int64
	floor    lease.Token
	revision int64 // of the answer
}

// read is one linearizable look.
func (a *authority) read(ctx context.Context) (state, error) {
	k := a.keys
	got, err := a.s.do(toLook, a.s.client.Txn(a.s.bounded(ctx)).Then(clientv3.OpGet(k.head), clientv3.OpGet(k.alive, clientv3.WithKeysOnly()), clientv3.OpGet(k.floor)))
	if err != nil {
		return state{}, a.failure("etcd does not say who holds it", err)
	}
	st := state{revision: got.Header.Revision}
	if kvs := got.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		st.raw, st.head = kvs[0].Value, kvs[0].ModRevision
		if st.rec, err = record.Parse(st.raw, k.id); err != nil {
			return state{}, a.unreadable(k.head, err)
		}
	}
	if kvs := got.Responses[1].GetResponseRange().Kvs; len(kvs) > 0 {
		st.alive = kvs[0].ModRevision
	}
	if kvs := got.Responses[2].GetResponseRange().Kvs; len(kvs) > 0 {
		n, err := strconv.ParseUint(string(kvs[0].Value), 10, 53)
		if err != nil {
			return state{}, a.unreadable(k.floor, err)
		}
		st.floor, st.floorAt = lease.Token(n), kvs[0].ModRevision
	}
	return st, nil
}

func (a *authority) failure(what string, err error) error {
	e := &lease.Error{Class: lease.ClassStoreFailed, Worktree: a.keys.id, File: a.file(), Message: what, Err: err, Next: "look at etcd and the network; nothing was granted"}
	if errors.Is(err, errRestored) {
		e.Next = "make sure that no writer is left, and try again: what etcd has forgotten is said then"
	}
	return e
}

func (a *authority) unreadable(key string, err error) error {
	return &lease.Error{Class: lease.ClassRecordUnreadable, Worktree: a.keys.id, File: "etcd:" + key, Err: err,
		Message: "the key cannot be read, so nobody can know who holds the worktree", Next: "make sure that no writer is left, then correct the key with etcdctl"}
}

func (a *authority) file() string { return "etcd:" + a.keys.head }

// Look reads the view before the head: the view never shows a token that etcd does not know yet.
func (a *authority) Look() (lease.Head, lease.Judgement, error) {
	at := a.s.cfg.Clock.Boot()
	shown, lockID, err := a.store.HighWater()
	if err != nil {
		return lease.Head{}, lease.Judgement{}, err
	}
	st, err := a.read(context.Background())
	if lease.ClassOf(err) == lease.ClassRecordUnreadable {
		return a.unknown(err)
	}
	if err != nil {
		return lease.Head{}, lease.Judgement{}, err
	}
	if err := a.forgotten(st, shown, lockID); err != nil {
		return a.unknown(err)
	}
	h, j := a.judge(st)
	a.s.remember(a.keys.id, st.revision, &remembered{h, j, at})
	return h, j, nil
}

func (a *authority) unknown(err error) (lease.Head, lease.Judgement, error) {
	return lease.Head{Unreadable: err, File: a.file()}, lease.Judgement{State: lease.Unreadable, Reason: err.Error()}, nil
}

// forgotten is an error if the view shows a token that etcd does not know: it was given by an etcd that is no more.
func (a *authority) forgotten(st state, shown lease.Token, lockID string) error {
	var known lease.Token
	same := true
	if st.rec != nil {
		known, same = st.rec.FencingToken, lockID == "" || lockID == st.rec.LockID
	}
	if st.floor >= shown || shown < known || shown == known && same {
		return nil
	}
	return &lease.Error{Class: lease.ClassRecordUnreadable, Worktree: a.keys.id, File: a.store.Display(),
		Message: fmt.Sprintf("etcd knows token %d as the latest of worktree %s, but the view shows another token %d: etcd was restored from an older snapshot, or is not the one that was used before, or another tool wrote the view; nothing is granted, for a token must never be given twice",
			known, a.keys.id, shown),
		Next: fmt.Sprintf("make sure that no writer is left (umount on every host), then: etcdctl put %s %d", a.keys.floor, shown)}
}

// judge needs no clock: etcd says whether the holder's time is over. The times that it puts into the record are for people.
func (a *authority) judge(st state) (lease.Head, lease.Judgement) {
	p, wall := a.s.cfg.Policy, a.s.cfg.Clock.Wall().Round(0)
	switch {
	case st.rec == nil && st.floor == 0:
		return lease.Head{Seen: st, File: a.file()}, lease.Judgement{State: lease.Free, Reason: "nobody has held it yet"}
	case st.rec == nil || st.floor > st.rec.FencingToken:
		return lease.Head{Token: st.floor, Seen: st, File: a.file()}, lease.Judgement{State: lease.Free, Reason: "an admin has set the floor"}
	}
	rec := st.rec.Clone()
	j := lease.Judgement{State: lease.Free, Reason: "it was released"}
	switch {
	case rec.Released:
	case st.alive != 0:
		rec.LastRenewedAt, rec.LeaseExpiresAt = wall.UTC(), wall.Add(rec.Policy().LeaseDuration).UTC()
		j = lease.Judgement{State: lease.Held, Until: rec.LeaseExpiresAt, Reason: "its lease lasts"}
	default:
		rec.LeaseExpiresAt = wall.Add(-p.MaxClockSkew - p.StealGrace - time.Second).UTC()
		rec.LastRenewedAt = rec.LeaseExpiresAt.Add(-rec.Policy().LeaseDuration)
		j = lease.Judgement{State: lease.Stealable, Reason: "its lease ran out in etcd"}
	}
	return lease.HeadOf(rec, st.raw, a.file(), st), j
}

func (a *authority) Observe() (lease.Head, lease.Judgement) {
	a.looking.Lock()
	defer a.looking.Unlock()
	now := a.s.cfg.Clock.Boot()
	if r := a.s.recall(a.keys.id); r != nil && now-r.at < remembers {
		return r.head, r.of
	}
	err := a.failed
	if err == nil || now-a.failAt >= remembers {
		var h lease.Head
		var j lease.Judgement
		if h, j, err = a.Look(); err == nil {
			a.failed = nil
			return h, j
		}
		a.failed, a.failAt = err, a.s.cfg.Clock.Boot()
	}
	h, j, _ := a.unknown(err)
	return h, j
}

// Still costs a look.
func (a *authority) Still() (lease.Head, bool) { return lease.Head{}, false }

func (a *authority) Claim(rec *record.Record, over lease.Head) (lease.Tenure, error) {
	st, ok := over.Seen.(state)
	if !ok {
		return nil, a.failure("the head was not read from etcd", nil)
	}
	return &tenure{a: a, s: a.s, keys: a.keys, rec: rec, lock: rec.LockID, saw: st}, nil
}

// Resume writes nothing. The first renewal puts the claim under this session's lease, if nobody has taken it by then.
func (a *authority) Resume(h lease.Head) (lease.Tenure, error) {
	st, ok := h.Seen.(state)
	switch {
	case h.Unreadable != nil:
		return nil, h.Unreadable
	case !ok || h.Record == nil || h.Record.Released:
		return nil, &lease.Error{Class: lease.ClassLockNotHeld, Worktree: a.keys.id, File: a.file(), Message: "the lease was released", Next: "acquire the lease again"}
	}
	return &tenure{a: a, s: a.s, keys: a.keys, rec: st.rec.Clone(), lock: st.rec.LockID, saw: st, revision: st.head, alive: st.alive}, nil
}

func (a *authority) Record(t lease.Token) (*record.Record, error) {
	ctx := context.Background()
	got, err := a.s.do(toTell, a.s.client.Txn(a.s.bounded(ctx)).Then(clientv3.OpGet(a.keys.past(t))))
	if err != nil {
		return nil, a.failure("etcd does not say how it ended", err)
	}
	kvs := got.Responses[0].GetResponseRange().Kvs
	if len(kvs) == 0 {
		return nil, os.ErrNotExist
	}
	return record.Parse(kvs[0].Value, a.keys.id)
}

func (a *authority) Past(from, head lease.Token) ([]lease.Past, error) {
	if head >= lease.PastKept {
		from = max(from, head-lease.PastKept+1)
	}
	ctx := context.Background()
	got, err := a.s.do(toTell, a.s.client.Txn(a.s.bounded(ctx)).Then(clientv3.OpGet(a.keys.past(from), clientv3.WithRange(a.keys.past(head+1)))))
	if err != nil {
		return nil, a.failure("etcd does not say what is past", err)
	}
	var all []*record.Record
	for _, kv := range got.Responses[0].GetResponseRange().Kvs {
		if rec, err := record.Parse(kv.Value, a.keys.id); err == nil {
			all = append(all, rec)
		}
	}
	return lease.PastOf(all, head), nil
}
