package fusefs

import (
	"runtime"
	"sync/atomic"

	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate"
)

type counters struct {
	requests [64]atomic.Uint64 // by gate.Op
	outside  atomic.Uint64     // refused where there is no guard: sealed directories, bad names
	would    atomic.Uint64     // would have been refused, but the mount only observes
}

func (c *counters) count(op gate.Op) { c.requests[op].Add(1) }

// Stats is what the file system has done since it was mounted. The JSON names are stable.
type Stats struct {
	Requests      map[string]uint64 `json:"requests"`
	SealedRefused uint64            `json:"sealed_refusals"`
	WouldRefuse   uint64            `json:"outside_would_refuse"` // where there is no guard
	Inodes        int64             `json:"inodes"`
	InodeBudget   int64             `json:"inode_budget"` // above it the kernel is asked to forget some
	Handles       int64             `json:"handles"`
	// LongTimeouts are the names that the kernel may cache for long. Watches are the directories
	// that are watched for changes from elsewhere.
	LongTimeouts      int64 `json:"promises"`
	LongTimeoutBudget int64 `json:"promise_budget"`
	Watches           int64 `json:"watches"`
	WatchBudget       int64 `json:"watch_budget"`
	FileLocks         int64 `json:"file_locks"` // owners of locks, each with a descriptor
	// Descriptors are those of inodes, handles and locks. Above the budget callers get ENFILE.
	Descriptors      int64 `json:"descriptors"`
	DescriptorBudget int64 `json:"descriptor_budget"`
	Waiting          int64 `json:"waiting"` // mutations that wait for a lease, a handover or another mount
	// LinkWalks are the walks through the source for the names of files with several.
	// LinkWalkEntries is what they have read.
	LinkWalks       uint64 `json:"link_walks"`
	LinkWalkEntries uint64 `json:"link_walk_entries"`
	// Users are those with the most descriptors. Nobody has more than the share, except with a
	// lease.
	Users     []User `json:"users,omitempty"`
	UserShare int64  `json:"user_share"`
	// Memory is what the daemon has from the system, in bytes. It tries to stay below the budget.
	Memory       uint64 `json:"memory"`
	MemoryBudget int64  `json:"memory_budget"`
	// Kernel is what the kernel's FUSE client can do.
	Kernel Features `json:"kernel"`
	// Transport is how requests come.
	Transport transport.State `json:"transport"`
}

// Stats returns the counters. They are read one by one, not at one instant.
func (s *Server) Stats() Stats {
	f := s.fs
	st := Stats{
		Requests: make(map[string]uint64), SealedRefused: f.stats.outside.Load(), WouldRefuse: f.stats.would.Load(),
		Inodes: f.nodes.count.Load(), InodeBudget: f.budget.high, Handles: f.handles.count.Load(),
		LongTimeouts: f.expiry.count.Load(), LongTimeoutBudget: longTimeoutsMax, Watches: f.watcher.count.Load(), WatchBudget: watchesMax,
		DescriptorBudget: f.budget.full, MemoryBudget: f.budget.memory(),
		Kernel: s.Features(), Transport: s.transport.State(),
	}
	st.LinkWalks, st.LinkWalkEntries = f.hardlinks.Walks()
	st.FileLocks, st.Waiting = f.locks.Count.Load(), f.opts.Enforcement.Waiting()
	st.Descriptors = st.Inodes + f.handles.fds.Load() + st.FileLocks
	st.Users, st.UserShare = f.quotas.top(), f.budget.user
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	st.Memory = m.Sys - m.HeapReleased
	for _, op := range gate.Ops() {
		if n := f.stats.requests[op].Load(); n > 0 {
			st.Requests[op.String()] = n
		}
	}
	return st
}
