package gate

import "github.com/jvsfs/jvsfs/lease"

// Epoch names a period in which one set of writers may write. Handles carry the epoch that they
// were opened in. It is a pair of kind and number, so no number in a record can be mistaken for
// another kind. The zero value is [NoEpoch].
type Epoch struct {
	kind   epochKind
	number uint64 // the token of a lease, or the number of a period without one
}

// epochKind says what lets the handles of an epoch write.
type epochKind uint8

const (
	kindNone     epochKind = iota
	kindLease              // a lease; the number is its token
	kindFree               // no lease was held; these periods are numbered
	kindShared             // mode shared: one epoch for a worktree, which never ends
	kindObserved           // let through only because the mount observes
	kindPlace              // the place of the file
	kindStale              // nothing
	kindMoved              // nothing: the file was open before it came into the worktree
)

var (
	// NoEpoch says that the writer is judged, not a handle.
	NoEpoch = Epoch{}
	// sharedEpoch is the one epoch of a worktree in mode shared; it never ends.
	sharedEpoch = Epoch{kind: kindShared}
	// observedEpoch belongs to handles that were let through only because the mount observed. No
	// decision passes it: such a handle is refused as soon as the mount enforces.
	observedEpoch = Epoch{kind: kindObserved}
	// ByPlace belongs to handles that were admitted for their place (Exempt). The place of the file
	// is judged at each write.
	ByPlace = Epoch{kind: kindPlace}
	// Stale is an epoch that never was. No guard lets a handle of it write.
	Stale = Epoch{kind: kindStale}
	// Moved is Stale for a handle that was opened elsewhere: since then its tree has become the worktree.
	Moved = Epoch{kind: kindMoved}
)

// EpochOf returns the epoch of the lease with token t.
func EpochOf(t lease.Token) Epoch { return Epoch{kindLease, uint64(t)} }

// freeEpochOf returns the n-th epoch without a lease.
func freeEpochOf(n uint64) Epoch { return Epoch{kindFree, n} }

// Token returns the fencing token of the epoch, 0 if it has none.
func (e Epoch) Token() lease.Token {
	if e.kind != kindLease {
		return 0
	}
	return lease.Token(e.number)
}
