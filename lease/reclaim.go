package lease

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jvsfs/jvsfs/lease/record"
)

// IsLeft is whether a former life of this host may have left the lease of h: it is unreleased, and of this kernel or of the one that the
// host had before it was started again. Whether its holder lives only time tells. It is false where the gate proves that nobody is left
// (tier A), and for a foreign tool's record.
func (k *Keeper) IsLeft(h Head) bool {
	r := h.Record
	if k.cfg.CutOff == nil || r == nil || r.Released || h.Foreign || k.store.tier().gateProvesEnd() {
		return false
	}
	return k.cfg.CutOff.isOwn(r)
}

// Reclaim takes the lease that a former life of this host has left over, as any taker does, and gives it back at once (rule 18). left is
// the head as this keeper has seen it before; no other lease is taken, and no agent is run. Without an error the lease is free.
//
// An error says why it is not: [ClassLockConflict] if left is not the head any more, or is not over yet, or has a gate that is held. If
// the lease was taken and could not be released, its record is h's, and is left in its turn.
func (k *Keeper) Reclaim(ctx context.Context, h Holder, left Head) error {
	if !k.IsLeft(left) {
		return k.store.refuse(ClassLockNotHeld, "no former life of this host has left it", "acquire the lease", left.Record, nil)
	}
	if taint, err := k.mayLandYet(); err != nil || taint != "" {
		return k.store.refuse(ClassLockConflict, "something that was written on this host may reach the store yet, as "+taint+" says: whoever takes the lease over on another host cuts this one off",
			"end the client of the store that was used then; afterwards remove the taint", left.Record, err)
	}
	g, err := k.attempt(ctx, &taking{k: k, holder: h, left: &left})
	if err != nil {
		return err
	}
	return k.ReleaseToken(ctx, g.Token, LossReleased)
}

// mayLandYet is the taint of something that was written under a lease of this host, could not be brought to the store, and may get there yet
// ([LateWrite].Unsure). "": there is none that nobody has cleared.
func (k *Keeper) mayLandYet() (string, error) {
	names, err := k.store.dir.names()
	for _, name := range names {
		n := record.ParseName(name)
		if n.Kind != record.KindTaint || n.ID != k.store.id {
			continue
		}
		var w LateWrite
		text, _, err := k.store.readFile(name)
		if err == nil {
			err = json.Unmarshal(text, &w)
		}
		if err != nil {
			return name, err
		}
		if r, _ := k.cfg.Authority.Record(n.Token); w.Unsure && (r == nil || k.cfg.CutOff.isOwn(r)) {
			return name, nil
		}
	}
	return "", err
}

// unchanged is whether the record of h is still the very bytes that this head has.
func (h *Head) unchanged(now Head) bool { return now.Token == h.Token && now.Sum == h.Sum }

// Unreleased lists the worktrees that somebody holds or has left, sorted: by one listing, and one read of each newest record. What cannot
// be read is left out. It is a hint, and decides nothing.
func (d *Dir) Unreleased() ([]WorktreeID, error) {
	names, err := d.names()
	if err != nil {
		return nil, &Error{Class: ClassStoreFailed, File: d.path, Message: "the lock directory cannot be listed", Err: err}
	}
	newest := map[WorktreeID]Token{}
	for _, name := range names {
		if n := record.ParseName(name); n.Kind == record.KindView || n.Kind == record.KindClaim { // of a view the token is 0
			newest[n.ID] = max(newest[n.ID], n.Token)
		}
	}
	var ids []WorktreeID
	for id, t := range newest {
		s := d.Store(id)
		name := s.claimName(t)
		if t == 0 { // the leases are kept elsewhere
			name = s.viewName()
		}
		if r := s.readRecordFile(name).Record; r != nil && !r.Released {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}
