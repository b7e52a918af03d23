package lease

// newRecord is the record of the next token. The clocks were read as in before anything of it is written.
func (s *Store) newRecord(p Policy, h Holder, prev Head, in instant) *Record {
	r := &Record{
		LockID: newUUID(), WorktreeID: s.id, HolderID: clip(named(h.ID()), maxText),
		HolderNonce: newNonce(), SessionID: h.SessionID, AcquireSeq: 1,
		CreatedAt: in.wall.UTC(), LastRenewedAt: in.wall.UTC(), LeaseExpiresAt: in.wall.Add(p.LeaseDuration).UTC(),
		LeaseDurationMS: p.LeaseDuration.Milliseconds(), RenewIntervalMS: p.RenewInterval.Milliseconds(),
		MaxClockSkewMS: p.MaxClockSkew.Milliseconds(), StealGraceMS: p.StealGrace.Milliseconds(),
		FencingToken: prev.Token + 1, Scope: h.Scope, ScopeKey: clip(h.ScopeKey, maxText), HostBootID: h.BootID,
		PIDNamespace: h.PIDNamespace, Purpose: clip(h.Purpose, maxText), UID: h.UID, Auto: h.Auto,
	}
	if r.SessionID == "" {
		r.SessionID = newUUID()
	}
	if prev.Record != nil {
		r.AcquireSeq = nextCount(prev.Record.AcquireSeq)
	}
	return r
}
