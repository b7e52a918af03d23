package gate

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/jvsfs/jvsfs/lease"
	"github.com/jvsfs/jvsfs/lease/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is set by hand.
type clock struct{ boot atomic.Int64 }

func (c *clock) Boot() time.Duration   { return time.Duration(c.boot.Load()) }
func (c *clock) Wall() time.Time       { return time.Unix(0, c.boot.Load()).UTC() }
func (c *clock) move(by time.Duration) { c.boot.Add(int64(by)) }

// mustWait demands that the call that tells its end in done waits for somebody else. It is for bubbles: there all are as far as they get.
func mustWait[T any](t *testing.T, done <-chan T) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-done:
		t.Fatalf("it did not wait: %v", got)
	default:
	}
}

// keeper stands in for the lease's keeper. It grants what the test says.
type keeper struct {
	mu      sync.Mutex
	guard   *Guard
	state   lease.State
	next    lease.Token
	asked   []lease.Holder
	refuse  error
	late    []lease.LateWrite
	lasting time.Duration
	clock   *clock
	looks   atomic.Int64
	past    []lease.Past
	resumes bool // what its grants say
	since   lease.Token
	onLook  func()         // called once
	record  *record.Record // of the head

	unreadable error // of the head
}

func (k *keeper) Observe() (lease.Head, lease.Judgement) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return lease.Head{Token: k.next, Record: k.record, Unreadable: k.unreadable}, lease.Judgement{State: k.state}
}

func (k *keeper) Acquire(_ context.Context, h lease.Holder) (lease.Grant, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = append(k.asked, h)
	if k.refuse != nil {
		return lease.Grant{}, k.refuse
	}
	return k.grant(h), nil
}

func (k *keeper) Late(w lease.LateWrite) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.late = append(k.late, w)
	return nil
}

func (k *keeper) Past(_, _ lease.Token) ([]lease.Past, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.past, nil
}

func (k *keeper) Look() {
	k.looks.Add(1)
	k.mu.Lock()
	f := k.onLook
	k.onLook = nil
	k.mu.Unlock()
	if f != nil {
		f()
	}
}

func (k *keeper) grant(h lease.Holder) lease.Grant {
	k.next++
	k.state = lease.Held
	g := lease.Grant{Token: k.next, Since: k.next, Holder: h, Deadline: k.clock.Boot() + k.lasting, Resumes: k.resumes}
	if k.since != 0 {
		g.Since = k.since
	}
	k.guard.Open(g)
	return g
}

// give opens the guard for a holder as a keeper would.
func (k *keeper) give(h lease.Holder) lease.Token {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.grant(h).Token
}

// giveSince is give for a holder that has had the lease since an earlier token.
func (k *keeper) giveSince(since lease.Token, h lease.Holder) lease.Token {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.since = since
	defer func() { k.since = 0 }()
	return k.grant(h).Token
}

func (k *keeper) lose(kind lease.LossKind, t lease.Token, h lease.Holder) {
	k.mu.Lock()
	k.state = lease.Free
	k.mu.Unlock()
	k.guard.Close(lease.Loss{Kind: kind, Token: t, Holder: h})
}

func newTestGuard(t *testing.T, change func(*GuardConfig)) (*Guard, *keeper, *clock) {
	t.Helper()
	c := &clock{}
	c.move(time.Hour)
	r := NewResolver(c)
	t.Cleanup(r.Close)
	cfg := GuardConfig{Worktree: "main", Mode: Exclusive, OnFree: DenyOnFree, Clock: c,
		Resolver: r, Policy: record.DefaultPolicy()}
	if change != nil {
		change(&cfg)
	}
	g := NewGuard(cfg)
	k := &keeper{guard: g, lasting: 20 * time.Second, clock: c}
	g.Bind(k)
	return g, k, c
}

// mountHolder is a holder that everybody belongs to.
func mountHolder(user string) lease.Holder {
	return lease.Holder{Host: "h", User: user, Scope: string(ScopeMount)}
}

// userHolder is one that a user id belongs to.
func userHolder(uid uint32, key string) lease.Holder {
	return lease.Holder{Host: "h", User: key, UID: uid, Scope: string(ScopeUser), ScopeKey: key}
}
