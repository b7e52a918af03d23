package leases

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"github.com/jvsfs/jvsfs/lease"
)

// What becomes of all leases of a mount when one daemon comes after another (package succession).

// Adopt continues the leases that a daemon held which has ended.
func (r *Registry) Adopt(ctx context.Context, held map[lease.WorktreeID]lease.Saved) {
	for id, b := range held {
		w, err := r.Get(id)
		if err == nil {
			_, err = w.Keeper.Adopt(ctx, b)
		}
		if err != nil {
			r.log.Warn("lease not recovered", zap.String("worktree", string(id)), zap.Uint64("token", uint64(b.Token)), zap.Error(err))
			continue
		}
		r.log.Info("lease recovered", zap.String("worktree", string(id)), zap.Uint64("token", uint64(b.Token)), zap.String("holder", b.Holder.ID()))
	}
}

// Revoke keeps the holders out who had lost a lease by expiry or theft.
func (r *Registry) Revoke(lost map[lease.WorktreeID][]lease.Loss) {
	for id, list := range lost {
		w, err := r.Get(id)
		if err != nil {
			r.log.Error("revoked holders", zap.String("worktree", string(id)), zap.Error(err))
			continue
		}
		for _, l := range list {
			w.Guard.Close(l)
		}
	}
}

// Join opens every lease here, too, beside the daemon that holds it.
func (r *Registry) Join(ctx context.Context, held map[lease.WorktreeID]lease.Saved) error {
	for id, b := range held {
		w, err := r.Get(id)
		if err == nil {
			w.Guard.Overlap(true)
			_, err = w.Keeper.Join(ctx, b)
		}
		if err != nil {
			return fmt.Errorf("the lease of %s: %w", id, err)
		}
	}
	return nil
}

// Follow makes the keepers follow another daemon, and collects what they hold. lead says how a lease goes on there.
func (r *Registry) Follow(ctx context.Context, lead func(lease.WorktreeID) lease.Lead) (map[lease.WorktreeID]lease.Saved, error) {
	all, err := map[lease.WorktreeID]lease.Saved{}, error(nil)
	for _, w := range r.All() {
		g, held, e := w.Keeper.Follow(ctx, lead(w.ID))
		if err = errors.Join(err, e); held {
			w.Guard.Overlap(true)
			all[w.ID] = lease.Save(g, lease.SystemClock())
		}
	}
	return all, err
}

// Resume is the end of Follow, and of the wait after Join: this daemon leads.
func (r *Registry) Resume() {
	for _, w := range r.All() {
		w.Keeper.Resume()
	}
}

// Part leaves the records as they are when the registry closes.
func (r *Registry) Part() {
	for _, w := range r.All() {
		w.Keeper.Part()
	}
}

// Overlap says whether holders may write through another daemon, too.
func (r *Registry) Overlap(on bool) {
	for _, w := range r.All() {
		w.Guard.Overlap(on)
	}
}

// Shut lets nobody acquire, and breaks the windows in which nothing changes, until Open.
func (r *Registry) Shut(why error) {
	r.ShutLatches(true)
	for _, w := range r.All() {
		w.Guard.BreakWindow(why)
	}
}

// Open is the end of Shut.
func (r *Registry) Open() { r.ShutLatches(false) }

// TellReplaced sends those who watch a lease here to the daemon that leads now.
func (r *Registry) TellReplaced() {
	for _, w := range r.All() {
		if g, held := w.Keeper.Held(); held {
			w.losses.tell(lease.Loss{Kind: lease.LossReplaced, Token: g.Token, Since: g.Since, Holder: g.Holder})
		}
	}
}
