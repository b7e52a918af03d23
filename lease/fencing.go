package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jvsfs/jvsfs/lease/audit"
	"github.com/jvsfs/jvsfs/lease/record"
)

// CutOff is how another host is cut off the store before its unreleased lease is taken over (rule 17).
type CutOff struct {
	Agent        string // what cuts off, for messages
	Host, BootID string // this host, as its records name it
	// Cut returns nil when no write of the victim can reach the store any more. It must be bounded, and end with ctx. Its error is
	// for people. nil: nobody is cut off from here.
	Cut func(ctx context.Context, v Victim) error
	// Cannot is why the agent that is configured may not run here. Then Cut is nil, and no other host's unreleased lease is taken over.
	Cannot error
	// Turn waits until this agent may run, for others may run before it; done ends its turn. nil: there is nothing to wait for.
	Turn func(ctx context.Context) (done func(), err error)
	// Clients are the clients that this agent has cut off, for all leases of a mount. nil: the agent runs for each lease, as it must where it
	// frees the lock on the lease's gate, too.
	Clients *CutClients
	// Start runs f in a goroutine of its own, with a context that may outlive the caller's. nil: the taker runs it.
	Start func(f func(context.Context))
}

// Victim is whom to cut off: the host of a lease that is over, and what the store calls its client.
type Victim struct {
	Worktree WorktreeID
	Token    Token
	Holder   Holder
	Client   string // "": not known
}

// cutsOff is whether this host may take the lease of h over only after h's host was cut off. It is not for a lease of this kernel, which
// the gate waits out, nor of this host before it was started again: that kernel has ended, and an agent would cut off this host. A
// foreign tool is not fenced (see Not promised).
func (c *KeeperConfig) cutsOff(h Head) bool {
	r := h.Record
	if c.CutOff == nil || r == nil || r.Released || h.Foreign || c.Store.tier().gateProvesEnd() {
		return false
	}
	if !c.fences() && !r.Fence {
		return false
	}
	return !c.CutOff.isOwn(r)
}

// isOwn is whether r is of this host: of this kernel, or of the one that it had before it was started again.
func (c *CutOff) isOwn(r *record.Record) bool {
	if r.HostBootID != "" && r.HostBootID == c.BootID {
		return true
	}
	return record.ParseHolderID(r.HolderID).Host == record.Named(c.Host)
}

// fences is whether the configuration of this host names an agent. Its records say so: a taker without one must not take them over.
func (c *KeeperConfig) fences() bool {
	return c.CutOff != nil && (c.CutOff.Cut != nil || c.CutOff.Cannot != nil)
}

// storeClient is what the store calls this host's client now, "" if that is not known.
func (c *KeeperConfig) storeClient() string {
	if c.StoreClient == nil {
		return ""
	}
	return c.StoreClient()
}

// uncut says that the host of head must be cut off first. Only take sees it.
type uncut struct{ head Head }

func (u *uncut) Error() string { return "the other host must be cut off the store first" }

// cutFirst is rule 17 before the gate is asked for. All that protects a living holder from a wrong clock comes before the agent runs.
func (tk *taking) cutFirst() error {
	k := tk.k
	if tk.cut = tk.cutDone(); tk.cut || !tk.mustCut() {
		return nil
	}
	if err := k.cuts.hindered(tk.head); err != nil {
		return err
	}
	in := readClocks(k.cfg.Clock)
	c, err := k.cfg.Authority.Claim(k.store.newRecord(k.cfg.Policy, tk.holder, tk.head, in), tk.head)
	if err != nil {
		return err
	}
	defer c.Discard()
	if err := tk.contradicted(c, in); err != nil {
		return err
	}
	return &uncut{tk.head}
}

// stillCut is rule 17 under the gate.
func (tk *taking) stillCut() error {
	if tk.cut = tk.cutDone(); tk.mustCut() && !tk.cut {
		return tk.k.store.conflict(tk.head, Judgement{State: Stealable, Reason: "its host was not cut off the store"})
	}
	return nil
}

func (tk *taking) mustCut() bool {
	return tk.verdict.State == Stealable && !tk.own && !tk.offered && tk.k.cfg.cutsOff(tk.head)
}

func (tk *taking) cutDone() bool { return tk.mustCut() && tk.k.cuts.done(tk.head) }

// cutter owns what is known about cutting off. Safe for concurrent use.
type cutter struct {
	cfg  *KeeperConfig
	tell *audit.Queue[Event]

	mu      sync.Mutex // never held across I/O
	running *cutting   // nil: no agent runs
	last    cutting    // the last one that ended
	tries   int        // how many of them failed, one after the other
}

// cutting is one run of the agent.
type cutting struct {
	head   Head
	victim Victim
	by     Holder
	began  time.Duration // boot clock
	at     time.Time     // the wall clock then
	ended  time.Duration
	over   chan struct{}
	err    error // why the host is not cut off; after over
}

const (
	cutPause    = time.Second // after the first failure; it doubles
	cutPauseMax = 32 * time.Second
)

// done is whether the client of h was cut off, or its host, with these very bytes in its record, not longer than one lease ago.
func (c *cutter) done(h Head) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doneLocked(h)
}

// clientIsCut is whether the client of h was cut off for another lease.
func (c *cutter) clientIsCut(h Head) bool {
	return c.cfg.CutOff.Clients.has(h, c.cfg.Policy.Stricter(h.Record.Policy()).MaxClockSkew)
}

func (c *cutter) doneLocked(h Head) bool {
	if c.clientIsCut(h) {
		return true
	}
	lasts := c.cfg.Policy.Stricter(h.Record.Policy()).LeaseDuration
	return c.last.over != nil && c.last.err == nil && c.last.head.Token == h.Token && c.last.head.Sum == h.Sum &&
		c.cfg.Clock.Boot()-c.last.ended < lasts
}

// missing is why there is no agent.
func (c *CutOff) missing() string {
	if c.Cannot != nil {
		return c.Cannot.Error()
	}
	return "its host has a fence agent configured, and here none is"
}

// hindered is why no agent may run for h at all.
func (c *cutter) hindered(h Head) error {
	no := func(why, next string) error {
		e := c.cfg.Store.refuse(ClassLockConflict, "the other host was not cut off the store, so its lease is not taken over: "+why, next, h.Record, nil)
		e.Stuck = e.Message
		return e
	}
	if c.cfg.CutOff.Cut == nil {
		return no(c.cfg.CutOff.missing(), "as root, with the line fence: that its host has in its configuration; see jvsfs-fence(7)")
	}
	if own := c.cfg.storeClient(); own != "" && own == h.Record.StoreClient {
		return no("its record names the store's client of this very host", "give each host a client of its own")
	}
	// Who can write into the lock directory could otherwise have any host cut off.
	if h.uid != uint32(os.Geteuid()) {
		return no(fmt.Sprintf("its record belongs to user %d, not to the user of this mount", h.uid), "find out who wrote it: "+h.File)
	}
	return nil
}

// off cuts the host of u off, or joins who does. A writer waits for GateWait only, everybody else until the agent has ended.
func (c *cutter) off(ctx context.Context, u *uncut, by Holder) error {
	job, mine, err := c.begin(u.head, by)
	if err != nil {
		return err
	}
	var bound <-chan time.Time
	switch {
	case mine && c.cfg.CutOff.Start == nil:
		c.run(ctx, job)
	case mine:
		c.cfg.CutOff.Start(func(ctx context.Context) { c.run(ctx, job) })
	}
	if by.Auto {
		t := time.NewTimer(c.cfg.GateWait)
		defer t.Stop()
		bound = t.C
	}
	select {
	case <-job.over:
		return job.err
	case <-bound:
	case <-ctx.Done():
	}
	return c.refusal(u.head, c.sentence(job.victim), "wait until it is cut off, then try again")
}

// begin is the run that goes on, or a new one, which is the caller's to run. Soon after a failure it is that failure.
func (c *cutter) begin(h Head, by Holder) (job *cutting, mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return c.running, false, nil
	}
	if c.clientIsCut(h) { // for another lease, since the caller looked
		job = &cutting{head: h, over: make(chan struct{})}
		close(job.over)
		return job, false, nil
	}
	if c.doneLocked(h) { // by a run that has ended since the caller looked
		last := c.last
		return &last, false, nil
	}
	now := c.cfg.Clock.Boot()
	if left := c.pause() - (now - c.last.ended); c.last.err != nil && left > 0 {
		e := c.cfg.Store.refuse(ClassOf(c.last.err), fmt.Sprintf("%s; the agent is asked again in %v", errOf(c.last.err),
			left.Round(time.Second/10)), "wait, or look at the agent", h.Record, nil)
		e.Stuck = StuckOn(c.last.err)
		return nil, false, e
	}
	r := h.Record
	c.running = &cutting{head: h, by: by, began: now, at: c.cfg.Clock.Wall(), over: make(chan struct{}),
		victim: Victim{Worktree: c.cfg.Store.id, Token: h.Token, Holder: r.Holder(), Client: r.StoreClient}}
	return c.running, true, nil
}

// pause is how long no agent runs after the last failure.
func (c *cutter) pause() time.Duration {
	return min(cutPause<<min(max(c.tries-1, 0), 10), cutPauseMax)
}

// run is one run of the agent. The event comes first: no event, no cut. But the host that is to be cut off may have frozen in the middle of
// an event of its own, and the store keep its lock on the chain until it is cut off. So behind a locked chain the event comes after the
// agent, and what it did counts only then: a takeover is audited before it happens in any case.
func (c *cutter) run(ctx context.Context, job *cutting) {
	done, err := c.turn(ctx)
	if err == nil {
		defer done()
		err = c.unchanged(job.head)
	}
	if err != nil { // the mount ends, or the holder is there again
		c.end(job, c.refusal(job.head, "its host was not cut off the store: "+err.Error(), "try again"))
		return
	}
	if c.clientIsCut(job.head) { // by the agent that ran before
		c.end(job, nil)
		return
	}
	agent := c.cfg.CutOff.Agent
	e := Event{Kind: EventFence, Token: job.victim.Token, Previous: job.victim.Token, Holder: job.by, From: job.victim.Holder,
		Client: job.victim.Client, Reason: "by " + agent + ", before its lease is taken over"}
	err = c.tell.Now(e)
	switch {
	case errors.Is(err, audit.ErrLocked):
		err = c.cutOwing(ctx, job, e)
	case err != nil:
		err = c.cfg.Store.refuse(ClassAuditFailed, "the fence could not be audited, so it did not happen", "repair the audit log", job.head.Record, err)
	default:
		err = c.cut(ctx, job, e)
	}
	c.end(job, err)
}

func (c *cutter) turn(ctx context.Context) (done func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if c.cfg.CutOff.Turn == nil {
		return func() {}, nil
	}
	return c.cfg.CutOff.Turn(ctx)
}

// unchanged is an error if h is not the head any more. Its host may have released or renewed while other agents ran.
func (c *cutter) unchanged(h Head) error {
	now, _, err := c.cfg.Authority.Look()
	if err == nil && (now.Token != h.Token || now.Sum != h.Sum) {
		err = errors.New("its record has changed meanwhile")
	}
	return err
}

func (c *cutter) end(job *cutting, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	job.err, job.ended = err, c.cfg.Clock.Boot()
	c.running, c.last = nil, *job
	if c.tries++; err == nil {
		c.tries = 0
		c.cfg.CutOff.Clients.note(job.victim, job.at)
	}
	close(job.over)
}

func (c *cutter) cut(ctx context.Context, job *cutting, e Event) error {
	err := c.agent(ctx, job)
	_ = c.tell.Now(cutEvent(e, err)) // what follows from it, a steal, needs its own event
	return c.cutError(job, err)
}

// cutOwing is cut while the chain is locked: its event is told behind it, and then it counts.
func (c *cutter) cutOwing(ctx context.Context, job *cutting, e Event) error {
	err := c.agent(ctx, job)
	e.Reason += "; told when it had run, for the audit log was locked"
	if told := c.tell.Now(e); told != nil {
		return c.cfg.Store.refuse(ClassAuditFailed, "the fence could not be audited, so it does not count", "repair the audit log", job.head.Record, told)
	}
	_ = c.tell.Now(cutEvent(e, err)) // as in cut
	return c.cutError(job, err)
}

func (c *cutter) agent(ctx context.Context, job *cutting) error {
	c.cfg.Pause("cut.before_agent")
	defer c.cfg.Pause("cut.after_agent")
	return c.cfg.CutOff.Cut(ctx, job.victim)
}

// cutEvent is e when the agent has ended with err.
func cutEvent(e Event, err error) Event {
	if e.Kind = EventFenced; err != nil {
		e.Kind, e.Reason = EventFenceFailed, err.Error()
	}
	return e
}

func (c *cutter) cutError(job *cutting, err error) error {
	if err != nil {
		e := c.refusal(job.head, "its host was not cut off the store: "+err.Error(), "look at the agent: jvsfs fence-check")
		e.Stuck = e.Message
		return e
	}
	return nil
}

func (c *cutter) refusal(h Head, what, next string) *Error {
	return c.cfg.Store.refuse(ClassLockConflict, fmt.Sprintf("worktree %s is held by %s: %s", c.cfg.Store.id, record.Printable(h.Record.HolderID), what),
		next, h.Record, nil)
}

func (c *cutter) sentence(v Victim) string {
	return fmt.Sprintf("its host %s is being cut off the store by %s", record.Printable(v.Holder.Host), c.cfg.CutOff.Agent)
}

// told is j with what is known about cutting off.
func (c *cutter) told(h Head, j Judgement) Judgement {
	if j.State != Stealable || !c.cfg.cutsOff(h) {
		return j
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch now := c.cfg.Clock.Boot(); {
	case c.running != nil:
		j.Reason += fmt.Sprintf("; %s, for %v", c.sentence(c.running.victim), (now - c.running.began).Round(time.Second))
	case c.clientIsCut(h):
		j.Reason += "; its client was cut off the store for another lease"
	case c.cfg.CutOff.Cut == nil:
		j.Reason += "; its host must be cut off the store first: " + c.cfg.CutOff.missing()
	case c.last.err != nil && c.last.head.Sum == h.Sum:
		j.Reason = errOf(c.last.err)
	case c.last.over == nil || c.last.head.Sum != h.Sum:
		j.Reason += "; its host is cut off the store before anybody takes it over"
	}
	return j
}

// errOf is the sentence of an error of this package.
func errOf(err error) string {
	//nolint:errorlint // an error that wraps one says more
	if e, ok := err.(*Error); ok {
		return e.Message
	}
	return err.Error()
}
