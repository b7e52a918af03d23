package lease

import (
	"context"
	"errors"
	"sync"
	"time"
)

// KeeperConfig is what a keeper needs. Store is required.
type KeeperConfig struct {
	Store    *Store
	Policy   Policy                // zero: DefaultPolicy
	Clock    Clock                 // nil: SystemClock
	Fence    Fence                 // nil: none
	Liveness func(Holder) Liveness // nil: always Alive
	Idle     func(Holder) bool     // for Auto leases: true gives the lease back. nil: never
	Audit    func(Event) error     // nil: none. A steal whose audit fails does not happen; other events' errors are its own business
	AuditAll func([]Event) error   // Audit of several at once, none of which is a steal; nil: one after the other
	Tick     time.Duration         // how often holder and successor are looked at; default min(RenewInterval/4, 200ms), at least 10ms
	GateWait time.Duration         // bound on waiting for the gate; default 2s
	Pause    func(point string)    // test hook, called at named points of claim, renewal and release; nil: none

	// Renewed is told of each renewal that was tried, for counting; it must not call the keeper. nil: nobody.
	Renewed func(took time.Duration, err error)
}

// Keeper holds at most one lease of one worktree. All methods are safe for concurrent use.
type Keeper struct {
	cfg  KeeperConfig
	op   chan struct{} // capacity 1: whoever has put a value in may change the lease
	wake chan struct{} // capacity 1: tells Run to look at its timers again

	// Only with op.
	gate      *gateLock
	cur       *holding  // what is held or interrupted
	lapsed    *holding  // what expired: its record is still ours, so the same holder may go on at once
	ended     bool      // Close was called
	following *follower // not nil: another keeper leads this lease
	swept     sweeper

	mu    sync.Mutex // never held across I/O or a call of the fence
	shown *Grant     // what Held says
	noted notes

	telling sync.Mutex // one at a time tells the audit

	watch watcher
}

// holding is a claim and the epoch it stands for.
type holding struct {
	claim    *claim
	holder   Holder
	deadline time.Duration // boot clock
	renewAt  time.Duration // boot clock
	base     instant       // when the record was last written (rule 7)
	open     bool          // the fence is open and LOCK_SH is held
	err      error         // why it is not

	offer     *offer        // the lease is frozen for another host; LOCK_SH is not held
	handing   bool          // somebody may come to hold by an offer of ours
	offerOut  bool          // an offer may be in the record
	withdrawn time.Duration // boot time from which on it is known not to be

	interrupts int // how often a failed renewal has closed the epoch
}

func (h *holding) token() Token { return h.claim.rec.FencingToken }

func (h *holding) grant() Grant {
	return Grant{Token: h.token(), Holder: h.holder, Record: *h.claim.rec.clone(), Deadline: h.deadline, Late: h.claim.lateCheck()}
}

// NewKeeper fills defaults in. It does no I/O and starts no goroutine; a bad policy is reported by the first Acquire.
func NewKeeper(cfg KeeperConfig) *Keeper {
	if cfg.Policy == (Policy{}) {
		cfg.Policy = DefaultPolicy()
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
	return &Keeper{
		cfg:   cfg,
		op:    make(chan struct{}, 1),
		wake:  make(chan struct{}, 1),
		gate:  newGateLock(cfg.Store),
		watch: watcher{cfg: cfg},
		swept: newSweeper(),
	}
}

// enter takes op. wait bounds it when positive: a writer must not stand in line behind a Close that waits for the kernel to
// let go of pages which this very writer may hold.
func (k *Keeper) enter(ctx context.Context, wait time.Duration) error {
	var timeout <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case k.op <- struct{}{}: // also when the process was paused so long that the wait is over already
	default:
		select {
		case k.op <- struct{}{}:
		case <-timeout:
			return k.busy(nil)
		case <-ctx.Done():
			return k.busy(context.Cause(ctx))
		}
	}
	if k.ended {
		k.leave()
		return k.fail(ClassStoreFailed, "the keeper is closed", "mount again", nil, nil)
	}
	return nil
}

func (k *Keeper) busy(cause error) error {
	return k.fail(ClassLockConflict, "the lease is just being changed here", "try again", nil, cause)
}

func (k *Keeper) leave() { <-k.op }

func (k *Keeper) fail(c Class, message, next string, holder *Record, err error) *Error {
	return &Error{Class: c, Worktree: k.cfg.Store.id, File: k.cfg.Store.display(k.cfg.Store.viewName()),
		Holder: holder, Message: message, Next: next, Err: err}
}

// show sets what Held says.
func (k *Keeper) show(g *Grant) {
	k.mu.Lock()
	k.shown = g
	k.mu.Unlock()
}

// Held is the lease whose epoch is open here. It never waits for I/O or the fence. The deadline may have passed: the fence
// judges that.
func (k *Keeper) Held() (Grant, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.shown == nil {
		return Grant{}, false
	}
	return *k.shown, true
}

// Observe reads the head and judges it. Cheap: it reads again only when the file system says that something changed.
func (k *Keeper) Observe() (Head, Judgement) { return k.watch.observe() }

// Close releases what is held and closes the descriptors. Call it after Run has returned.
func (k *Keeper) Close() error {
	if err := k.enter(context.Background(), 0); err != nil {
		return nil
	}
	defer k.leave()
	var err error
	if k.cur != nil {
		err = k.lose(LossReleased, nil)
	}
	k.forgetLapsed()
	k.gate.close()
	k.ended = true
	k.tellAll()
	return err
}

func (k *Keeper) forgetLapsed() {
	if k.lapsed != nil {
		k.lapsed.claim.close()
		k.lapsed = nil
	}
}

// Look makes Run look at its holder and its timers now. It does not wait.
func (k *Keeper) Look() { k.poke() }

// poke makes Run look at its timers.
func (k *Keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// asError makes sure of a class.
func (k *Keeper) asError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return k.fail(ClassStoreFailed, "the lease store failed", "look at the lock directory", nil, err)
}
