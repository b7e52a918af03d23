package gate

// Pass is the permission for one mutation. Leave must be called when the backing call has returned.
type Pass struct {
	e      *epoch
	exempt *Exemption // nil if the lease admitted it
}

// Leave ends the mutation.
func (p Pass) Leave() {
	if p.e != nil {
		p.e.leave()
	}
}

// undo takes a permission back that the caller has not got yet.
func (p Pass) undo(r Request) {
	p.Leave()
	if p.exempt != nil {
		r.At.Release()
	}
}

// ByPlace reports whether only the place admitted the mutation, and no lease.
func (p Pass) ByPlace() bool { return p.exempt != nil }

// Epoch returns the epoch of a handle that is opened under this pass.
func (p Pass) Epoch() Epoch {
	if p.e == nil {
		return observedEpoch
	}
	return p.e.id
}
