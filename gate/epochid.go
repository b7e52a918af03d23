package gate

import "github.com/jvsfs/jvsfs/lease"

// Epoch names a period in which one set of writers may write. Handles carry the epoch that they were opened in. It is a pair of
// kind and number, so that no number of a lease, whoever chose it, means another kind. The zero value is [NoEpoch].
type Epoch struct {
	kind   epochKind
	number uint64 // the token of a lease; which of those without one
}

// epochKind says what lets an epoch's handles write.
type epochKind uint8

const (
	kindNone     epochKind = iota
	kindLease              // a lease; the number is its token
	kindFree               // no lease was held; such periods are numbered
	kindShared             // mode shared: one for a worktree, and it never ends
	kindObserved           // what was only let through by Observing
	kindPlace              // the place of the file
	kindStale              // nothing any more
)

var (
	// NoEpoch judges by the writer instead of a handle.
	NoEpoch = Epoch{}
	// sharedEpoch is the one epoch of a worktree in mode shared; it never ends.
	sharedEpoch = Epoch{kind: kindShared}
	// observedEpoch is given to what was only let through by Observing. No decision
	// ever passes it: a handle that carries it is refused as soon as refusals count.
	observedEpoch = Epoch{kind: kindObserved}
	// ByPlace is the epoch of what was admitted for its place (Exempt). A handle of it
	// is judged by its file's place each time.
	ByPlace = Epoch{kind: kindPlace}
	// Stale is an epoch that never was: no guard ever lets a handle of it write.
	Stale = Epoch{kind: kindStale}
)

// EpochOf is the epoch of the lease with token t.
func EpochOf(t lease.Token) Epoch { return Epoch{kindLease, uint64(t)} }

// freeEpochOf is the n-th epoch of writes without a lease.
func freeEpochOf(n uint64) Epoch { return Epoch{kindFree, n} }

// Token returns the fencing token behind the epoch, 0 where there is none.
func (e Epoch) Token() lease.Token {
	if e.kind != kindLease {
		return 0
	}
	return lease.Token(e.number)
}
