package lease

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeClock moves only when told; stepWall moves the wall clock alone.
type fakeClock struct {
	mu   sync.Mutex
	boot time.Duration
	wall time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{boot: time.Hour, wall: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}
}

func (c *fakeClock) Wall() time.Time     { c.mu.Lock(); defer c.mu.Unlock(); return c.wall }
func (c *fakeClock) Boot() time.Duration { c.mu.Lock(); defer c.mu.Unlock(); return c.boot }
func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	c.boot += d
	c.wall = c.wall.Add(d)
	c.mu.Unlock()
}
func (c *fakeClock) stepWall(d time.Duration) { c.mu.Lock(); c.wall = c.wall.Add(d); c.mu.Unlock() }

// fakeFence records what the keeper asked, and looks at the gate while it closes.
type fakeFence struct {
	clock    Clock
	mu       sync.Mutex
	open     bool
	grant    Grant
	losses   []Loss
	closeAt  []time.Duration
	onClose  func(Loss)
	onOpen   func(Grant)
	onFreeze func(context.Context) error
	frozen   Token // 0: not frozen
	freezes  int   // how often it was
}

func (f *fakeFence) Open(g Grant) {
	if f.onOpen != nil {
		f.onOpen(g)
	}
	f.mu.Lock()
	f.open, f.grant = true, g
	f.mu.Unlock()
}

func (f *fakeFence) Extend(t Token, d time.Duration) {
	f.mu.Lock()
	f.grant.Deadline = d
	f.mu.Unlock()
}

func (f *fakeFence) Close(l Loss) {
	if f.onClose != nil {
		f.onClose(l)
	}
	f.mu.Lock()
	f.open, f.frozen = false, 0
	f.losses = append(f.losses, l)
	f.closeAt = append(f.closeAt, f.clock.Boot())
	f.mu.Unlock()
}

func (f *fakeFence) Freeze(ctx context.Context, t Token) (thaw func(), err error) {
	if f.onFreeze != nil {
		if err := f.onFreeze(ctx); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.open || f.grant.Token != t || f.frozen != 0 {
		return nil, errors.New("not open, or frozen already")
	}
	f.frozen = t
	f.freezes++
	this := f.freezes
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.freezes == this {
			f.frozen = 0
		}
	}, nil
}

func (f *fakeFence) isFrozen() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.frozen != 0 }

func (f *fakeFence) isOpen() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.open }

// passes is whether a writer would pass: open, not frozen, and before the deadline.
func (f *fakeFence) passes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open && f.frozen == 0 && f.clock.Boot() < f.grant.Deadline
}

func (f *fakeFence) kinds() (ks []LossKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.losses {
		ks = append(ks, l.Kind)
	}
	return ks
}

type rig struct {
	*Keeper
	fence *fakeFence
	clock *fakeClock
	live  Liveness
	mu    sync.Mutex
	log   []Event
	deny  error
}

func (r *rig) events() (kinds []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.log {
		kinds = append(kinds, string(e.Kind))
	}
	return kinds
}

func testDir(t testing.TB) *Dir {
	d, err := OpenDir(filepath.Join(t.TempDir(), "locks"))
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func newRig(t testing.TB, d *Dir, c *fakeClock, change ...func(*KeeperConfig)) *rig {
	r := &rig{clock: c, fence: &fakeFence{clock: c}}
	cfg := KeeperConfig{Store: d.Store("main"), Clock: c, Fence: r.fence, GateWait: 40 * time.Millisecond,
		Liveness: func(Holder) Liveness { return r.live },
		Audit: func(e Event) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if e.Kind == "steal" && r.deny != nil {
				return r.deny
			}
			r.log = append(r.log, e)
			return nil
		}}
	for _, f := range change {
		f(&cfg)
	}
	r.Keeper = NewKeeper(cfg)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// stopInTime is a holder that is stopped while its keeper runs, up to the end of its lease.
func stopInTime(r *rig) {
	r.live = Stopped
	r.clock.advance(r.cur.deadline - r.cfg.Policy.PauseLead() - r.clock.Boot())
	r.tick()
}

// neverResumes is a keeper whose daemon lets nobody go on after a deadline (rule 16).
func neverResumes(k *KeeperConfig) { k.Resumes = func() bool { return false } }

func person(name string, pid int) Holder {
	return Holder{Host: "h", User: name, PID: pid, StartTime: 7, BootID: "b", PIDNamespace: "pid:[1]", Scope: "tree"}
}

var (
	ann = person("ann", 10)
	bob = person("bob", 20)
)

func (r *rig) must(t testing.TB, h Holder) Grant {
	t.Helper()
	g, err := r.Acquire(context.Background(), h)
	require.NoError(t, err)
	return g
}

func (r *rig) tick() { // what Run does at a wake-up
	if r.enter(context.Background(), 0) == nil {
		defer r.leave()
		r.step()
	}
}

// crash is a kill of the daemon: its descriptors are closed, and nothing is written.
func (r *rig) crash() {
	r.gate.close()
	r.cur, r.lapsed = nil, nil
	r.shown.set(nil)
}

func requireClass(t testing.TB, c Class, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, c, ClassOf(err), "%v", err)
}

func (d *Dir) put(t testing.TB, name, body string) {
	t.Helper()
	fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC, 0o600)
	require.NoError(t, err)
	_, err = unix.Write(fd, []byte(body))
	require.NoError(t, err)
	require.NoError(t, unix.Close(fd))
}

// interrupt is what a failed renewal does.
func (r *rig) interrupt(why error) { ending{k: r.Keeper, kind: LossRenewFailed, why: why}.interrupt() }

// own is the claim's file of the lease that is held.
func (r *rig) own() *claim { return r.cur.claim.(*claim) }

func (r *rig) files() *files { return r.cfg.Authority.(*files) }

// anyRecord is a record of token 9 that is in no directory yet.
func anyRecord() *record.Record {
	return record.New("main", record.DefaultPolicy(), ann, 8, nil, time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC))
}
