package etcd

import (
	"context"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// unsettled is a claim that must not stay as it may be: an answer was lost, or its epoch has ended while the session goes on.
type unsettled struct {
	t     *tenure
	how   settling
	clean time.Duration // boot clock of the first look that did not find it; 0: none
}

type settling int

const (
	releases settling = iota
	lapses
)

// onItsWay is longer than any etcd server works at a request whose client has gone.
const onItsWay = 20 * time.Second

func (s *Session) unsettle(t *tenure, how settling) {
	s.mu.Lock()
	s.open = append(s.open, &unsettled{t: t, how: how})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// settle looks at each of them. It ends at the first failure: the next round goes on.
func (s *Session) settle(ctx context.Context) error {
	s.mu.Lock()
	todo := slices.Clone(s.open)
	s.mu.Unlock()
	for _, u := range todo {
		done, err := u.settle(ctx)
		if err != nil {
			return err
		}
		if done {
			s.mu.Lock()
			s.open = slices.DeleteFunc(s.open, func(o *unsettled) bool { return o == u })
			s.mu.Unlock()
		}
	}
	return nil
}

func (u *unsettled) settle(ctx context.Context) (done bool, err error) {
	t, s := u.t, u.t.s
	st, err := t.a.read(ctx)
	if err != nil {
		return false, err
	}
	if st.rec == nil || st.rec.LockID != t.lock || st.rec.Released {
		if now := s.cfg.Clock.Boot(); u.clean == 0 {
			u.clean = now
		}
		won := st.head != t.saw.head // somebody's: what is on its way compares with a head that is no more
		return u.how == lapses || won || s.cfg.Clock.Boot()-u.clean > onItsWay, nil
	}
	ops := []clientv3.Op{clientv3.OpDelete(t.keys.alive)}
	if u.how == releases {
		rec := st.rec.Clone()
		rec.Released, rec.LeaseExpiresAt = true, s.cfg.Clock.Wall().UTC()
		text, err := rec.MarshalJSON()
		if err != nil {
			return true, err
		}
		ops = append(ops, clientv3.OpPut(t.keys.head, string(text)), clientv3.OpPut(t.keys.past(rec.FencingToken), string(text)))
	}
	got, err := s.do(toMend, s.client.Txn(s.bounded(ctx)).If(clientv3.Compare(clientv3.ModRevision(t.keys.head), "=", st.head)).Then(ops...))
	return err == nil && got.Succeeded, err
}
