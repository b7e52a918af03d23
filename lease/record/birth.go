package record

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// New is the record of the token that follows prev. before is the record of prev, nil if there is none that can be read. The clock
// was read as at before anything of it is written.
func New(id WorktreeID, p Policy, h Holder, prev Token, before *Record, at time.Time) *Record {
	r := &Record{
		LockID: newUUID(), WorktreeID: id, HolderID: Clip(Named(h.ID()), MaxText),
		HolderNonce: NewNonce(), SessionID: h.SessionID, AcquireSeq: 1,
		CreatedAt: at.UTC(), LastRenewedAt: at.UTC(), LeaseExpiresAt: at.Add(p.LeaseDuration).UTC(),
		LeaseDurationMS: p.LeaseDuration.Milliseconds(), RenewIntervalMS: p.RenewInterval.Milliseconds(),
		MaxClockSkewMS: p.MaxClockSkew.Milliseconds(), StealGraceMS: p.StealGrace.Milliseconds(),
		FencingToken: prev + 1, Scope: h.Scope, ScopeKey: Clip(h.ScopeKey, MaxText), HostBootID: h.BootID,
		PIDNamespace: h.PIDNamespace, Purpose: Clip(h.Purpose, MaxText), UID: h.UID, Auto: h.Auto,
	}
	if r.SessionID == "" {
		r.SessionID = newUUID()
	}
	if before != nil {
		r.AcquireSeq = NextCount(before.AcquireSeq)
	}
	return r
}

// NewNonce is 128 random bits; whoever knows it may renew.
func NewNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}
