package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/jvsfs/jvsfs/lease"
)

// Session is a daemon's way to etcd. It owns the etcd lease that all its worktrees share, the round that keeps it, and the watch. Safe for
// concurrent use.
type Session struct {
	cfg    Config
	client *clientv3.Client
	end    context.CancelFunc
	ctx    context.Context // of the goroutines
	all    sync.WaitGroup
	wake   chan struct{} // something is to be settled

	counts   *counts
	granting sync.Mutex // one caller at a time asks for an etcd lease

	mu       sync.Mutex // never held across I/O
	now      *granted   // nil: none, or it has ended
	tenures  map[*tenure]struct{}
	open     []*unsettled
	seen     seen
	watching bool                             // the watch says what changes
	heads    map[lease.WorktreeID]*remembered // what the watch has not contradicted
	changed  map[lease.WorktreeID]int64       // the revision of the last change that the watch has told
	trouble  error                            // of the last round, nil if that was well
}

// granted is one etcd lease.
type granted struct {
	id   clientv3.LeaseID
	ttl  time.Duration
	from time.Duration // boot clock, before the last keepalive was sent of a round that went well
}

// seen is what the answers have told of the cluster.
type seen struct {
	cluster  uint64
	revision int64
}

// errRestored says that etcd has gone back in time.
var errRestored = errors.New("etcd was restored from an older snapshot, or is another cluster now")

// Open connects, and asks whether the prefix may be read. The goroutines that it starts end with Close.
func Open(ctx context.Context, cfg Config) (*Session, error) {
	if cfg.Clock == nil {
		cfg.Clock = lease.SystemClock()
	}
	client, err := cfg.client()
	if err != nil {
		return nil, refused("etcd cannot be used as it is configured", err)
	}
	s := &Session{cfg: cfg, client: client, tenures: map[*tenure]struct{}{}, heads: map[lease.WorktreeID]*remembered{},
		changed: map[lease.WorktreeID]int64{}, counts: newCounts(), wake: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(context.Background())
	if _, err := s.do(toLook, s.client.Txn(s.bounded(ctx)).Then(clientv3.OpGet(s.cfg.Prefix+"/probe"))); err != nil {
		s.end()
		return nil, errors.Join(refused(fmt.Sprintf("etcd at %v does not answer", cfg.Endpoints), cfg.because(ctx, err)), client.Close())
	}
	s.all.Go(s.rounds)
	s.all.Go(s.watch)
	return s, nil
}

// Close ends the goroutines and the etcd lease. The keepers must have ended.
func (s *Session) Close() error {
	s.end()
	s.all.Wait()
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	if now != nil {
		ctx, done := context.WithTimeout(context.Background(), s.patience())
		_, _ = s.client.Revoke(ctx, now.id) // or it runs out
		done()
	}
	return s.client.Close()
}

// Name names the authority for people.
func (s *Session) Name() string {
	return fmt.Sprintf("etcd %v, prefix %s", s.cfg.Endpoints, s.cfg.Prefix)
}

// patience bounds each request.
func (s *Session) patience() time.Duration {
	return min(max(s.cfg.Policy.LeaseDuration/6, time.Second), 3*time.Second)
}

// bounded is ctx with a bound; a member without a leader answers at once. The context ends by itself.
func (s *Session) bounded(ctx context.Context) context.Context {
	ctx, done := context.WithTimeout(clientv3.WithRequireLeader(ctx), s.patience())
	context.AfterFunc(ctx, done)
	return ctx
}

// do commits a transaction for a purpose, and looks whether etcd has gone back in time. The answers are linearizable: none is older than what was
// known before the request was sent.
func (s *Session) do(what string, txn clientv3.Txn) (got *clientv3.TxnResponse, err error) {
	s.mu.Lock()
	before := s.seen
	s.mu.Unlock()
	err = s.timed(what, func() error {
		got, err = txn.Commit()
		return err
	})
	if err != nil {
		return nil, err
	}
	return got, s.note(before, got.Header)
}

func (s *Session) note(before seen, h *pb.ResponseHeader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before.cluster != 0 && (h.ClusterId != before.cluster || h.Revision < before.revision) {
		if s.seen.cluster == before.cluster && s.seen.revision >= before.revision { // the first who notices
			s.restored(seen{h.ClusterId, h.Revision})
		}
		return errRestored
	}
	if s.seen.cluster == 0 || s.seen.cluster == h.ClusterId && s.seen.revision < h.Revision {
		s.seen = seen{h.ClusterId, h.Revision}
	}
	return nil
}

// restored ends all that was granted by an etcd that is no more. What it has forgotten, nobody can tell. The caller has mu.
func (s *Session) restored(now seen) {
	s.seen, s.now, s.trouble = now, nil, errRestored
	s.counts.restored()
	for t := range s.tenures {
		t.endedBy(t.gone("the lease ended: " + errRestored.Error()))
	}
	clear(s.heads)
	clear(s.changed)
}

// lease is an etcd lease that has much of its time left.
func (s *Session) lease(ctx context.Context) (*granted, error) {
	s.granting.Lock()
	defer s.granting.Unlock()
	s.mu.Lock()
	now := s.now
	fresh := now != nil && s.cfg.Clock.Boot()-now.from < now.ttl/4
	s.mu.Unlock()
	if fresh {
		return now, nil
	}
	if now != nil {
		if err := s.keep(ctx, now, nil); err == nil || !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return now, err
		}
	}
	sent := s.cfg.Clock.Boot() // before it is asked for
	var got *clientv3.LeaseGrantResponse
	err := s.timed(toGrant, func() (err error) {
		got, err = s.client.Grant(s.bounded(ctx), int64((s.cfg.Policy.LeaseDuration+time.Second-1)/time.Second))
		return err
	})
	if err != nil {
		return nil, err
	}
	now = &granted{id: got.ID, ttl: time.Duration(got.TTL) * time.Second, from: sent}
	s.mu.Lock()
	s.now = now
	s.mu.Unlock()
	return now, nil
}

// window is the time from a keepalive to the deadline: two thirds of the TTL at most.
func (s *Session) from(g *granted) time.Duration {
	window := s.cfg.Policy.LeaseDuration - s.cfg.Policy.RenewInterval
	return g.from - max(0, window-g.ttl*2/3)
}

func refused(what string, err error) error {
	return &lease.Error{Class: lease.ClassStoreFailed, Message: what, Err: err, Next: "look at etcd, the network, and the keys etcd_* of the configuration"}
}
