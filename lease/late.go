package lease

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// LateWrite is a mutation that was let in under a token, took effect, and was too late (rule 10).
type LateWrite struct {
	Token          Token
	Op, File       string
	Offset, Length int64  // 0, 0 if it is no write
	Failed         string `json:",omitempty"` // the error that the store answered: it may have taken effect all the same
	Unsynced       bool   `json:",omitempty"` // it was acknowledged, and then could not be brought to the store
	Unsure         bool   `json:",omitempty"` // of what is unsynced: it may reach the store yet; otherwise the store has refused it
}

// Late leaves a taint beside the records and a late_write event (rule 10). The taint stays until a person has looked at it. The loss
// itself follows with the keeper's next look. Late does not wait for other calls, so a request may call it. What cannot be told now is
// told by Run.
func (k *Keeper) Late(w LateWrite) error {
	if w.Unsynced && w.Unsure {
		k.unsure.Store(true)
	}
	k.wake.poke()
	r := &lateReport{write: w, event: k.lateEvent(w)}
	err := r.tell(k)
	if err != nil {
		k.pending.keep(r)
	}
	return err
}

func (k *Keeper) lateEvent(w LateWrite) Event {
	did := "took effect"
	if w.Failed != "" {
		did = "failed (" + record.Printable(w.Failed) + ") and may have taken effect all the same,"
	}
	holder := k.shown.holderOf(w.Token) // its deadline has passed, so most often it is not held any more
	if w.Unsynced {
		reason := fmt.Sprintf("what was written to %s under token %d may not have reached the store: %s", record.Printable(w.File), w.Token, record.Printable(w.Failed))
		return Event{Kind: EventLateWrite, Token: w.Token, Previous: w.Token, Holder: holder, Reason: reason}
	}
	reason := fmt.Sprintf("%s %s at %d, %d bytes, %s after token %d was over", w.Op, record.Printable(w.File), w.Offset, w.Length, did, w.Token)
	return Event{Kind: EventLateWrite, Token: w.Token, Previous: w.Token, Holder: holder, Reason: reason}
}

// taint leaves <id>.taint.<token>.<nonce>.
func (s *Store) taint(w LateWrite) error {
	name := record.TaintFile(s.id, w.Token, record.NewNonce())
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	fd, err := openat(s.dir.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return s.failed("the taint of a late write cannot be left", name, err)
	}
	_, err = unix.Write(fd, append(text, '\n'))
	if err = errors.Join(err, unix.Fsync(fd), unix.Close(fd)); err != nil {
		return s.failed("the taint of a late write cannot be left", name, err)
	}
	return nil
}

// late is Grant.Late. Mutations that end at the same time share a look. It is nil where none is needed.
func (k *Keeper) late(h *holding) func() error {
	look := h.claim.Late()
	switch {
	case look == nil:
		return nil
	case k.relies(h):
		return func() error { return nil } // the fence asks for the deadline
	}
	timed := func() error {
		began := k.cfg.Clock.Boot()
		err := look()
		k.cfg.Looked(k.cfg.Clock.Boot() - began)
		return err
	}
	return func() error { return h.looks.ask(timed) }
}

// relies is whether no look for a successor is needed after a mutation. Whoever takes this lease over while it is not released waits until
// it is over by the clocks, as ever, and then has this host cut off the store; without an agent it refuses, for the record says that there
// is one (rule 17). So nothing that is still in flight then lands, and nothing that had its answer before the deadline is late.
func (k *Keeper) relies(h *holding) bool {
	return k.cfg.RelyOnFence && k.cfg.fences() && h.claim.Record().Fence
}

// keeps is an error if a lease that was relied on must run out, and not be given back or away: something that was written here could not be
// brought to the store, and may get there yet. Who takes over what has run out cuts this host off first; who takes what is free does not.
// It lasts as long as this keeper: nobody tells when the store's client has given up.
func (k *Keeper) keeps(r *record.Record) error {
	if !k.unsure.Load() || !k.cfg.RelyOnFence || !k.cfg.fences() || !r.Fence {
		return nil
	}
	return k.store.refuse(ClassStoreFailed, fmt.Sprintf("what was written here could not be brought to the store and may get there yet, so token %d runs out, and whoever takes it over cuts this host off",
		r.FencingToken), "look at the store, then unmount, mount the store again, and mount again", nil, nil)
}

// lateCheck is nil on tier A: there the gate's flock proves that no mutation is late.
func (c *claim) lateCheck() func() error {
	if !c.store.dir.tier.looksAgain() {
		return nil
	}
	return func() error {
		_, err := c.successor()
		return err
	}
}
