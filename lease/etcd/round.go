package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// atOnce is how many heads one transaction compares. etcd allows 128 operations.
const atOnce = 100

// rounds keeps the etcd lease and looks at the heads until the session ends. One request for each hundred worktrees, six times a TTL.
func (s *Session) rounds() {
	every := max(s.cfg.Policy.LeaseDuration/6, 100*time.Millisecond)
	for wait := every; ; {
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-s.wake:
			t.Stop()
			_ = s.settle(s.ctx) // or the next round
			continue
		case <-s.ctx.Done():
			t.Stop()
			return
		}
		if wait = every; s.round() != nil {
			wait = max(every/4, 100*time.Millisecond) // the deadline comes nearer
		}
	}
}

func (s *Session) round() error {
	s.mu.Lock()
	now := s.now
	var held []*tenure
	for t := range s.tenures {
		if t.under == now && t.over == nil {
			held = append(held, t)
		}
	}
	s.mu.Unlock()
	var err error
	if now != nil {
		err = s.keep(s.ctx, now, held)
	}
	if err == nil {
		err = s.settle(s.ctx)
	}
	s.mu.Lock()
	s.trouble = err
	s.mu.Unlock()
	return err
}

// keep is one keepalive, and the proof that the heads are still ours. Only both together move the deadline.
func (s *Session) keep(ctx context.Context, g *granted, held []*tenure) error {
	sent := s.cfg.Clock.Boot()
	err := s.timed(toKeep, func() error {
		_, err := s.client.KeepAliveOnce(s.bounded(ctx), g.id)
		return err
	})
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		s.mu.Lock()
		if s.now == g {
			s.now = nil // its tenures write themselves under the next one, if nobody has taken them and their time is not over
		}
		s.mu.Unlock()
		return err
	}
	if err != nil {
		return err
	}
	for len(held) > 0 {
		n := min(atOnce, len(held))
		if err := s.prove(ctx, held[:n]); err != nil {
			return err
		}
		held = held[n:]
	}
	s.mu.Lock()
	g.from = max(g.from, sent)
	s.mu.Unlock()
	return nil
}

// prove compares the heads with what was written. If one differs, each is looked at.
func (s *Session) prove(ctx context.Context, held []*tenure) error {
	s.mu.Lock()
	var same []clientv3.Cmp
	for _, t := range held {
		same = append(same, clientv3.Compare(clientv3.ModRevision(t.keys.head), "=", t.revision))
	}
	s.mu.Unlock()
	got, err := s.do(toProve, s.client.Txn(s.bounded(ctx)).If(same...))
	if err != nil || got.Succeeded {
		return err
	}
	for _, t := range held {
		if _, err := t.look(ctx); err != nil {
			return err
		}
	}
	return nil
}
