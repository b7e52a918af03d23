package lease

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jvsfs/jvsfs/lease/audit"
	"github.com/jvsfs/jvsfs/lease/record"
)

// KeeperConfig is what a keeper needs. Store is required.
type KeeperConfig struct {
	Store     *Store
	Authority Authority             // who decides whose turn it is. nil: the claims of Store
	Policy    record.Policy         // zero: DefaultPolicy
	Clock     Clock                 // nil: SystemClock
	Fence     Fence                 // nil: none
	Liveness  func(Holder) Liveness // nil: always Alive
	Idle      func(Holder) bool     // for Auto leases: true releases the lease. nil: never
	Audit     func(Event) error     // nil: none. If it fails for a steal, a handover or a resume, that does not happen; other errors change nothing
	AuditAll  func([]Event) error   // Audit for several events, none of them a steal. nil: one after the other
	Tick      time.Duration         // how often Run looks at the holder and for a successor; default min(RenewInterval/4, 200ms), at least 10ms
	GateWait  time.Duration         // bound of each wait for the gate; default 2s
	Pause     func(point string)    // test hook, called at named points of claim, renewal and release; nil: none
	CutOff    *CutOff               // how another host is cut off the store before its lease is taken over (rule 17). nil: it never is
	Resumes   func() bool           // whether a holder may go on after its deadline now (rule 16). It must not block. nil: always

	// RelyOnFence leaves out the look for a successor after each mutation (rule 10) under a lease whose takers must cut this host off first.
	// The fence still asks for the deadline then.
	RelyOnFence bool

	// StoreClient is what the store calls the client through which this host writes, for records. It may read the store. nil or "":
	// not known.
	StoreClient func() string

	// Renewed is called after each attempt to renew, for counting. It must not call the keeper. nil: none.
	Renewed func(took time.Duration, err error)

	// Looked is called after each look for a successor that mutations have asked for (rule 10), for counting. It must not block. nil: none.
	Looked func(took time.Duration)
}

// Keeper holds at most one lease of one worktree. It owns what is held, the loop that keeps it, and the calls. Each act is a type of
// its own: [taking], [renewal], [ending], [giving], [adoption]. So is each field that owns more than a value: [sweeper], [showing],
// [audit.Queue], [contradiction], [follower]. All methods are safe for concurrent use.
type Keeper struct {
	cfg   KeeperConfig
	store *Store        // that of cfg
	op    chan struct{} // capacity 1, a lock: who has put a value in may change the lease (enter, leave)
	wake  alarm

	// Only with op.
	gate      *gateLock
	cur       *holding  // the lease that is held, or that a failed renewal has interrupted
	lapsed    *holding  // a lease that expired; the record is still ours, so the same holder may go on at once (rule 16)
	ended     bool      // Close was called
	following *follower // not nil: another keeper leads this lease
	swept     sweeper

	shown showing
	tell  *audit.Queue[Event]
	cuts  *cutter

	pending pendingReports
	unsure  atomic.Bool // something may reach the store yet (keeps)

	contrary contradiction
}

// showing owns the grant that Held returns: a copy, so that Held waits for nobody.
type showing struct {
	mu    sync.Mutex
	grant *Grant
	past  [8]tokenOf // the latest ones, by token, for a write that is late
}

// tokenOf is who had a token.
type tokenOf struct {
	token  Token
	holder Holder
}

func (s *showing) set(g *Grant) {
	s.mu.Lock()
	s.grant = g
	if g != nil {
		s.past[g.Token%Token(len(s.past))] = tokenOf{g.Token, g.Holder}
	}
	s.mu.Unlock()
}

// holderOf is who has or had a token here; nobody if that is long ago.
func (s *showing) holderOf(t Token) Holder {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.past[t%Token(len(s.past))]; one.token == t {
		return one.holder
	}
	return Holder{}
}

func (s *showing) get() (Grant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.grant == nil {
		return Grant{}, false
	}
	return *s.grant, true
}

// alarm makes Run look at its timers and its holder now. Its capacity is 1, for Run looks at everything each time.
type alarm chan struct{}

func (a alarm) poke() {
	select {
	case a <- struct{}{}:
	default:
	}
}

// holding is a claim and its epoch.
type holding struct {
	claim    Tenure
	holder   Holder
	deadline time.Duration // boot clock
	renewAt  time.Duration // boot clock
	base     instant       // when the record was last written (rule 7)
	open     bool          // the fence is open and LOCK_SH is held
	err      error         // why it is not

	offer     *offer        // the lease is offered to another host; LOCK_SH is not held
	handing   bool          // somebody may still take the lease by our offer
	offerOut  bool          // the record may show an offer
	withdrawn time.Duration // boot time since which the record shows none

	interrupts int // how often a failed renewal has closed the epoch

	looks sharedLook // for a successor, after mutations (rule 10)

	first  Token // of this holder without anybody in between (rule 16); 0: its own
	joined bool  // another keeper has or had it, too (Join, Follow), so our LOCK_SH says nothing about that one's fence
	spared bool  // the holder went on although it was stopped
	paused bool  // only of lapsed: the holder goes on by itself when it is resumed
}

// since is the first token under which this holder has had the lease without anybody in between.
func (h *holding) since() Token {
	if h.first != 0 {
		return h.first
	}
	return h.token()
}

func (h *holding) token() Token { return h.claim.Record().FencingToken }

func (k *Keeper) grant(h *holding) Grant {
	return Grant{Token: h.token(), Since: h.since(), Resumes: k.resumes(), Holder: h.holder, Record: *h.claim.Record().Clone(), Deadline: h.deadline, Late: k.late(h)}
}

// NewKeeper fills defaults in. It does no I/O and starts no goroutine. The first Acquire reports a bad policy.
func NewKeeper(cfg KeeperConfig) *Keeper {
	if cfg.Policy == (record.Policy{}) {
		cfg.Policy = record.DefaultPolicy()
	}
	if cfg.Clock == nil {
		cfg.Clock = SystemClock()
	}
	if cfg.Fence == nil {
		cfg.Fence = noFence{}
	}
	if cfg.Liveness == nil {
		cfg.Liveness = func(Holder) Liveness { return Alive }
	}
	if cfg.Idle == nil {
		cfg.Idle = func(Holder) bool { return false }
	}
	if cfg.Audit == nil {
		cfg.Audit = func(Event) error { return nil }
	}
	if cfg.AuditAll == nil {
		cfg.AuditAll = func(all []Event) error {
			var errs []error
			for _, e := range all {
				errs = append(errs, cfg.Audit(e))
			}
			return errors.Join(errs...)
		}
	}
	if cfg.Renewed == nil {
		cfg.Renewed = func(time.Duration, error) {}
	}
	if cfg.Looked == nil {
		cfg.Looked = func(time.Duration) {}
	}
	if cfg.Resumes == nil {
		cfg.Resumes = func() bool { return true }
	}
	if cfg.Pause == nil {
		cfg.Pause = pausePoint
	}
	if cfg.Tick <= 0 {
		cfg.Tick = min(cfg.Policy.RenewInterval/4, 200*time.Millisecond)
	}
	cfg.Tick = max(cfg.Tick, 10*time.Millisecond)
	if cfg.GateWait <= 0 {
		cfg.GateWait = 2 * time.Second
	}
	if cfg.Authority == nil {
		cfg.Authority = newFiles(cfg)
	}
	k := &Keeper{
		cfg:   cfg,
		store: cfg.Store,
		op:    make(chan struct{}, 1),
		wake:  make(alarm, 1),
		gate:  newGateLock(cfg.Store),
		swept: newSweeper(),
	}
	k.tell = newQueue(k)
	k.cuts = &cutter{cfg: &k.cfg, tell: k.tell}
	return k
}

// newQueue is the queue of the events that Run tells. Each event says whose worktree it is about, and when it was.
func newQueue(k *Keeper) *audit.Queue[Event] {
	return audit.NewQueue(audit.QueueConfig[Event]{
		Audit:    func(e Event) error { return k.cfg.Audit(e) },
		AuditAll: func(all []Event) error { return k.cfg.AuditAll(all) },
		Stamp: func(e Event) Event {
			e.Worktree, e.At = k.store.id, k.cfg.Clock.Wall()
			return e
		},
		Boot: func() time.Duration { return k.cfg.Clock.Boot() },
		Wake: k.wake.poke,
		Busy: func() bool { return len(k.wake) > 0 },
	})
}

// enter takes op. A positive wait bounds it: a writer must not wait for a Close that itself waits until the kernel has dropped pages
// of this very writer.
func (k *Keeper) enter(ctx context.Context, wait time.Duration) error {
	var timeout <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case k.op <- struct{}{}: // even if the process was paused and the wait is over already
	default:
		select {
		case k.op <- struct{}{}:
		case <-timeout:
			return k.store.busy(nil)
		case <-ctx.Done():
			return k.store.busy(context.Cause(ctx))
		}
	}
	if k.ended {
		k.leave()
		return k.store.refuse(ClassStoreFailed, "the keeper is closed", "mount again", nil, nil)
	}
	return nil
}

func (k *Keeper) leave() { <-k.op }

// Held is the lease whose epoch is open here. It never waits for I/O or the fence. The deadline may have passed; the fence judges
// that.
func (k *Keeper) Held() (Grant, bool) { return k.shown.get() }

// Observe reads the head and judges it. It is cheap: it reads again only if the stamps of the files have changed.
func (k *Keeper) Observe() (Head, Judgement) {
	h, j := k.cfg.Authority.Observe()
	return h, k.cuts.told(h, j)
}

// Close releases the lease if one is held, and closes the descriptors. Call it after Run has returned.
func (k *Keeper) Close() error {
	if err := k.enter(context.Background(), 0); err != nil {
		return nil
	}
	defer k.leave()
	var err error
	if k.cur != nil {
		err = k.lose(LossReleased, nil)
	}
	k.endPause(LossReleased, nil)
	k.forgetLapsed()
	k.gate.close()
	k.ended = true
	k.tell.All()
	return errors.Join(err, k.tellLast())
}

// forgetLapsed is called when the record of the lapsed lease is no longer the head, or is not ours to go on from.
func (k *Keeper) forgetLapsed() {
	if k.lapsed != nil {
		k.endPause(LossSuperseded, nil)
		k.lapsed.claim.Close()
		k.lapsed = nil
	}
}

// Look makes Run look at its holder and its timers now. It does not wait.
func (k *Keeper) Look() { k.wake.poke() }
