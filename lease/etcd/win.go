package etcd

import (
	"context"
	"encoding/json"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/jvsfs/jvsfs/lease"
)

// Win puts the head, the alive key, the past and the audit in one transaction, if head, alive and floor are as the taker saw them.
func (t *tenure) Win(e lease.Event) (bool, error) {
	ctx := context.Background()
	g, err := t.s.lease(ctx)
	if err != nil {
		return false, t.a.failure("etcd grants no lease", err)
	}
	text, err := json.Marshal(t.rec)
	if err != nil {
		return false, t.a.failure("the record cannot be encoded", err)
	}
	ops := []clientv3.Op{clientv3.OpPut(t.keys.head, string(text)), t.aliveUnder(g), clientv3.OpPut(t.keys.past(t.rec.FencingToken), string(text)), t.audit(e)}
	if old := t.rec.FencingToken; old > lease.PastKept {
		upTo := old - lease.PastKept + 1 // an etcd must not grow without end; the audit chain beside the tree has everything
		ops = append(ops, clientv3.OpDelete(t.keys.past(0), clientv3.WithRange(t.keys.past(upTo))),
			clientv3.OpDelete(t.keys.audit(0, ""), clientv3.WithRange(t.keys.audit(upTo, ""))))
	}
	got, err := t.s.do(toClaim, t.s.client.Txn(t.s.bounded(ctx)).If(
		clientv3.Compare(clientv3.ModRevision(t.keys.head), "=", t.saw.head),
		clientv3.Compare(clientv3.ModRevision(t.keys.alive), "=", t.saw.alive),
		clientv3.Compare(clientv3.ModRevision(t.keys.floor), "=", t.saw.floorAt)).Then(ops...))
	if err == nil && got.Succeeded {
		t.won(t.rec, g, got.Header.Revision)
		return true, nil
	}
	return t.readBack(ctx, g, err)
}

// readBack decides by the head whether the claim has won: an answer can be lost, and a request can come twice.
func (t *tenure) readBack(ctx context.Context, g *granted, cause error) (bool, error) {
	st, err := t.a.read(ctx)
	switch {
	case err == nil && st.rec != nil && st.rec.LockID == t.lock:
		t.won(t.rec, g, st.head)
		t.s.mu.Lock()
		t.alive = st.alive
		t.s.mu.Unlock()
		return true, nil
	case cause == nil:
		return false, err
	case err == nil && st.head != t.saw.head:
		return false, nil // it can never win any more
	}
	t.s.unsettle(t, releases)
	return false, t.a.failure("etcd does not say whether the lease was granted, so it is given back", cause)
}

// told is an audit record in etcd.
type told struct {
	Event    lease.EventKind `json:"event"`
	Token    lease.Token     `json:"token"`
	Previous lease.Token     `json:"previous"`
	Holder   string          `json:"holder"`
	Reason   string          `json:"reason"`
	Unclean  bool            `json:"unclean,omitempty"`
	Fenced   bool            `json:"fenced,omitempty"`
	At       time.Time       `json:"at"`
}

// audit is part of the transaction in which it happens.
func (t *tenure) audit(e lease.Event) clientv3.Op {
	text, err := json.Marshal(told{e.Kind, e.Token, e.Previous, e.Holder.ID(), e.Reason, e.Unclean, e.Fenced, t.s.cfg.Clock.Wall().UTC()})
	if err != nil {
		text = []byte(`{}`) // there is nothing in it that cannot be encoded
	}
	return clientv3.OpPut(t.keys.audit(e.Token, e.Kind), string(text))
}

// Release marks the head released and takes the alive key away, in one transaction.
func (t *tenure) Release(how lease.Releasing) error {
	how.Pause("release.before_write")
	if over, _ := t.Over(true); over {
		t.Close()
		return nil
	}
	rec := t.rec.Clone()
	rec.Released, rec.LeaseExpiresAt = true, how.At.UTC()
	err := t.put(context.Background(), rec, nil, t.audit(how.Event))
	if err != nil {
		if lease.ClassOf(err) == lease.ClassLockNotHeld {
			return nil
		}
		t.s.unsettle(t, releases)
		return err
	}
	how.Pause("release.before_withdraw")
	_ = t.a.store.ShowView(rec, false)
	return nil
}

// Lapse lets others take the lease: the session goes on, so the alive key would stay. Its keeper does not wait for it.
func (t *tenure) Lapse() { t.s.unsettle(t, lapses) }
