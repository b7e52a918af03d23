package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

// tenure is one claim. What the session's goroutines look at is guarded by the session's mu.
type tenure struct {
	a    *authority
	s    *Session
	keys keys
	rec  *record.Record // written with mu
	lock string         // the record's lock id, which stays
	saw  state          // the head that it follows, or that it was resumed from

	revision, alive int64    // with mu: of the keys as this tenure has last written them; 0: it has not won
	under           *granted // with mu: nil until it is written by this session
	over            error    // with mu: why it is over
	doubt           bool     // with mu: the head may be another's, or an answer was lost
}

func (t *tenure) Record() *record.Record { return t.rec }

func (t *tenure) Head() lease.Head {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	st := state{rec: t.rec, head: t.revision, alive: t.alive, floor: t.saw.floor, floorAt: t.saw.floorAt}
	return lease.HeadOf(t.rec, nil, t.a.file(), st)
}

func (t *tenure) Is(h lease.Head) bool {
	return h.Record != nil && h.Record.LockID == t.lock && h.Record.HolderNonce == t.rec.HolderNonce
}

// Stamp is not asked: etcd's clock decides by itself.
func (t *tenure) Stamp() (time.Time, error) { return time.Time{}, nil }

func (t *tenure) Late() func() error {
	return func() error {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		return t.over // the fence looks at its deadline itself; until then nobody else can hold
	}
}

// From is from before the keepalive was sent that etcd's answer is about.
func (t *tenure) From(t0 time.Duration) time.Duration {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.under == nil {
		return min(t0, 0)
	}
	return min(t0, t.s.from(t.under))
}

func (t *tenure) Publish() error { return t.a.store.ShowView(t.rec, true) }

// Repair renews the view. It decides nothing, so its failure is none of the lease.
func (t *tenure) Repair() error {
	_ = t.a.store.ShowView(t.rec, false)
	return nil
}

// Check asks etcd only where there is a doubt: while the session's lease lasts, nobody else can have written the head.
func (t *tenure) Check() (*record.Record, error) {
	if found, err := t.Over(true); found || err != nil {
		return nil, err
	}
	return t.rec.Clone(), nil
}

// Over is no failure if etcd does not answer: the deadline comes by itself.
func (t *tenure) Over(bool) (bool, error) {
	t.s.mu.Lock()
	over, doubt := t.over, t.doubt
	t.s.mu.Unlock()
	if over == nil && doubt {
		over, _ = t.look(context.Background())
	}
	return over != nil, over
}

// look reads the head and says whether it is this claim's no more.
func (t *tenure) look(ctx context.Context) (over, err error) {
	st, err := t.a.read(ctx)
	if err != nil {
		return nil, err
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	switch {
	case t.over != nil:
	case st.rec == nil || st.rec.LockID != t.lock:
		what := "the lease is gone from etcd"
		if st.rec != nil {
			what = fmt.Sprintf("token %d was superseded by token %d", t.rec.FencingToken, st.rec.FencingToken)
		}
		t.endedBy(t.gone(what))
	case st.rec.Released && !t.rec.Released:
		t.endedBy(t.gone("the own claim was marked released by somebody else"))
	default:
		t.revision, t.alive, t.doubt = st.head, st.alive, false
		if st.alive == 0 && t.under != nil && t.under == t.s.now {
			t.under = &granted{ttl: t.under.ttl, from: t.under.from} // the next renewal writes it again
		}
	}
	return t.over, nil
}

// endedBy says why the claim is over. The caller has mu.
func (t *tenure) endedBy(why error) {
	if t.over == nil {
		t.over = why
	}
}

func (t *tenure) gone(what string) error {
	return &lease.Error{Class: lease.ClassLockNotHeld, Worktree: t.keys.id, File: t.a.file(), Message: what, Next: "stop writing; acquire the lease again"}
}

// same is whether a renewal has nothing to tell but its time. Then the keepalive says it.
func same(a, b *record.Record) bool {
	x, y := a.Clone(), b.Clone()
	for _, r := range []*record.Record{x, y} {
		r.LastRenewedAt, r.LeaseExpiresAt, r.RenewCount = time.Time{}, time.Time{}, 0
	}
	one, err1 := json.Marshal(x)
	two, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && string(one) == string(two)
}

// Write asks etcd only if something has changed, or if this session's lease is not the one that the claim is under.
func (t *tenure) Write(rec *record.Record) error {
	ctx := context.Background()
	t.s.mu.Lock()
	kept := t.under != nil && t.under == t.s.now
	t.s.mu.Unlock()
	if kept && same(t.rec, rec) {
		t.s.mu.Lock()
		t.rec = rec
		t.s.mu.Unlock()
		return nil
	}
	g, err := t.s.lease(ctx)
	if err != nil {
		return t.a.failure("etcd grants no lease", err)
	}
	return t.put(ctx, rec, g)
}

// put writes the head if it is still this claim's. g is nil for a release.
func (t *tenure) put(ctx context.Context, rec *record.Record, g *granted, also ...clientv3.Op) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return t.a.failure("the record cannot be encoded", err)
	}
	ops := append([]clientv3.Op{clientv3.OpPut(t.keys.head, string(text)), clientv3.OpPut(t.keys.past(rec.FencingToken), string(text)), t.aliveUnder(g)}, also...)
	t.s.mu.Lock()
	still := clientv3.Compare(clientv3.ModRevision(t.keys.head), "=", t.revision)
	t.s.mu.Unlock()
	got, err := t.s.do(toWrite, t.s.client.Txn(t.s.bounded(ctx)).If(still).Then(ops...))
	if err != nil {
		t.doubted()
		return t.a.failure("etcd does not say whether the record was written", err)
	}
	if !got.Succeeded {
		if over, err := t.look(ctx); over != nil || err != nil {
			return firstOf(over, err)
		}
		return t.a.failure("the record was written by an earlier request", nil) // and now its revision is known
	}
	t.won(rec, g, got.Header.Revision)
	return nil
}

func (t *tenure) aliveUnder(g *granted) clientv3.Op {
	if g == nil {
		return clientv3.OpDelete(t.keys.alive)
	}
	return clientv3.OpPut(t.keys.alive, t.rec.HolderNonce, clientv3.WithLease(g.id))
}

// won notes what was written.
func (t *tenure) won(rec *record.Record, g *granted, revision int64) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.rec, t.revision, t.alive, t.doubt = rec, revision, revision, false
	if t.under = g; g != nil {
		t.s.tenures[t] = struct{}{}
	}
}

func (t *tenure) doubted() {
	t.s.mu.Lock()
	t.doubt = true
	t.s.mu.Unlock()
}

func (t *tenure) Discard() { t.Close() }

func (t *tenure) Close() {
	t.s.mu.Lock()
	delete(t.s.tenures, t)
	t.s.mu.Unlock()
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
