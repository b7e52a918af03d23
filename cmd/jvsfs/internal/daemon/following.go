package daemon

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/lease"
)

// What becomes of all leases of a mount when one daemon comes after another (package succession).

// Adopt continues the leases that a daemon held which has ended.
func (r *registry) Adopt(ctx context.Context, held map[lease.WorktreeID]lease.Saved) {
	for id, b := range held {
		w, err := r.get(id)
		if err == nil {
			_, err = w.keeper.Adopt(ctx, b)
		}
		if err != nil {
			r.log.Warn("lease not recovered", zap.String("worktree", string(id)), zap.Uint64("token", uint64(b.Token)), zap.Error(err))
			continue
		}
		r.log.Info("lease recovered", zap.String("worktree", string(id)), zap.Uint64("token", uint64(b.Token)), zap.String("holder", b.Holder.ID()))
	}
}

// Revoke keeps the holders out who had lost a lease by expiry or theft.
func (r *registry) Revoke(lost map[lease.WorktreeID][]lease.Loss) {
	for id, list := range lost {
		w, err := r.get(id)
		if err != nil {
			r.log.Error("revoked holders", zap.String("worktree", string(id)), zap.Error(err))
			continue
		}
		for _, l := range list {
			w.guard.Close(l)
		}
	}
}

// Join opens every lease here, too, beside the daemon that holds it.
func (r *registry) Join(ctx context.Context, held map[lease.WorktreeID]lease.Saved) error {
	for id, b := range held {
		w, err := r.get(id)
		if err == nil {
			w.guard.Overlap(true)
			_, err = w.keeper.Join(ctx, b)
		}
		if err != nil {
			return fmt.Errorf("the lease of %s: %w", id, err)
		}
	}
	return nil
}

// Follow makes the keepers follow another daemon, and collects what they hold. lead says how a lease goes on there.
func (r *registry) Follow(ctx context.Context, lead func(lease.WorktreeID) lease.Lead) (map[lease.WorktreeID]lease.Saved, error) {
	all, err := map[lease.WorktreeID]lease.Saved{}, error(nil)
	for _, w := range r.all() {
		g, held, e := w.keeper.Follow(ctx, lead(w.id))
		if err = errors.Join(err, e); held {
			w.guard.Overlap(true)
			all[w.id] = lease.Save(g, lease.SystemClock())
		}
	}
	return all, err
}

// Resume is the end of Follow, and of the wait after Join: this daemon leads.
func (r *registry) Resume() {
	for _, w := range r.all() {
		w.keeper.Resume()
	}
}

// Part leaves the records as they are when the registry closes.
func (r *registry) Part() {
	for _, w := range r.all() {
		w.keeper.Part()
	}
}

// Overlap says whether holders may write through another daemon, too.
func (r *registry) Overlap(on bool) {
	for _, w := range r.all() {
		w.guard.Overlap(on)
	}
}

// Shut lets nobody acquire, and breaks the windows in which nothing changes, until Open.
func (r *registry) Shut(why error) {
	r.shutLatches(true)
	for _, w := range r.all() {
		w.guard.BreakWindow(why)
	}
}

// Open is the end of Shut.
func (r *registry) Open() { r.shutLatches(false) }

// TellReplaced sends those who watch a lease here to the daemon that leads now.
func (r *registry) TellReplaced() {
	for _, w := range r.all() {
		if g, held := w.keeper.Held(); held {
			w.events.tell(lease.Loss{Kind: lease.LossReplaced, Token: g.Token, Since: g.Since, Holder: g.Holder})
		}
	}
}
