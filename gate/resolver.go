package gate

import (
	"sync"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// Resolver finds out which process belongs to which holder. It remembers what it has read of processes.
// Safe for concurrent use; Close frees its descriptors.
type Resolver struct {
	*process.Resolver
	clock lease.Clock

	remainingMu sync.Mutex
	remaining   map[string]process.ID // by session: one of its members, see Liveness
}

// remainingMax bounds how many sessions are remembered.
const remainingMax = 256

// NewResolver makes an empty resolver.
func NewResolver(c lease.Clock) *Resolver {
	return &Resolver{Resolver: process.NewResolver(c), clock: c}
}
