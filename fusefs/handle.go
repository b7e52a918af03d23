package fusefs

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// claim is the epoch of a guard that a handle was opened in.
type claim struct {
	guard *gate.Guard
	epoch gate.Epoch
	lock  *tenure.Lock // whose guard it is; nil: a worktree's
}

// handle is an open file or directory.
type handle struct {
	id     uint64
	node   *node
	fd     int
	quota  *userQuota // of the user who opened it
	along  *reading   // of handles that share a descriptor; otherwise nil
	lent   bool       // the descriptor is also the inode's (sharedFD)
	write  bool       // opened for writing
	mapped bool       // it can be mapped for writing (O_RDWR)
	dsync  bool       // its own descriptor syncs each write (O_DSYNC, O_SYNC)
	// appendOnly says that the descriptor can only append (chattr +a).
	appendOnly bool
	audit      bool // of the audit chain, which allows only appends; see continues
	claims     []claim
	// opener is used for the kernel's write-back of stores through mappings, which names no caller.
	opener caller
	// against says that a rule forbids this handle, but the mount only observed at the open.
	against bool
	// lost says that a store through a mapping may have been dropped, and nobody was told yet.
	lost atomic.Bool
	// unflushed handles send no FLUSH (FOPEN_NOFLUSH) before RELEASE.
	unflushed bool
	// revoked handles are refused: while they were open, a rename put their tree under another rule.
	revoked atomic.Bool
	// ofLock handles made a lock file of git whose name is everybody's. What is written into it is judged by the writer.
	ofLock bool
	// ofBranch handles are of a branch of git, or its log: who may write there follows HEAD.
	ofBranch bool
	// made handles have made their file: until they are closed, a rule that fixes it does not hold.
	made bool
	// grows is the rule by which the file may only grow; nil: none.
	grows *lockfile.Rule

	tail  tail
	dirty dirty

	dir *dirStream // of a directory
}

// handleTable maps the kernel's file handles. Reading takes no lock.
type handleTable struct {
	byID   sync.Map // uint64 -> *handle
	lastID atomic.Uint64
	count  atomic.Int64
	fds    atomic.Int64 // descriptors; handles may share one
	mapped atomic.Int64 // how many can be mapped for writing
	procFD int          // rawFS's
}

func (t *handleTable) add(h *handle) uint64 {
	h.id = t.lastID.Add(1)
	if h.write {
		h.node.addWriter(h)
		for _, c := range h.claims {
			c.guard.HandleOpened(c.epoch)
			if c.lock != nil {
				c.lock.Again()
			}
		}
	}
	if h.made {
		h.node.making.Add(1)
	}
	if h.mapped {
		t.mapped.Add(1)
	}
	t.byID.Store(h.id, h)
	t.count.Add(1)
	if h.along == nil {
		t.charge(h, 1)
	}
	return h.id
}

// charge counts a handle's descriptor. A descriptor that is also the inode's is counted there. Its user pays for it if another user's share
// has the inode, because the kernel cannot forget that inode now.
func (t *handleTable) charge(h *handle, by int64) {
	if !h.lent {
		t.fds.Add(by)
	}
	if !h.lent || h.quota != h.node.quota {
		h.quota.open.Add(by)
	}
}

func (t *handleTable) get(id uint64) *handle {
	v, ok := t.byID.Load(id)
	if !ok {
		return nil
	}
	return v.(*handle)
}

// release closes a handle. An error says that its inode keeps the descriptor.
func (t *handleTable) release(id uint64) error {
	v, ok := t.byID.LoadAndDelete(id)
	if !ok {
		return nil
	}
	h := v.(*handle)
	t.count.Add(-1)
	t.closeTail(h)
	if h.mapped {
		t.mapped.Add(-1)
	}
	if h.write {
		h.node.dropWriter(h)
		for _, c := range h.claims {
			c.guard.HandleClosed(c.epoch)
			if c.lock != nil {
				c.lock.Done()
			}
		}
	}
	if h.made {
		h.node.making.Add(-1)
	}
	if h.along != nil && !h.node.readNoMore(h.quota.uid) {
		return nil
	}
	t.charge(h, -1)
	if h.lent {
		return h.node.takeBack(t.procFD)
	}
	_ = unix.Close(h.fd)
	return nil
}

// writers calls f for every handle that is open for writing.
func (t *handleTable) writers(f func(*handle)) {
	t.byID.Range(func(_, v any) bool {
		if h := v.(*handle); h.write {
			f(h)
		}
		return true
	})
}

// revoke ends the handles whose inode has come under a rule that they were not opened under. A tree that was filled outside of any worktree
// and then renamed into one must not be written through old descriptors.
func (t *handleTable) revoke(f *rawFS) {
	t.writers(func(h *handle) {
		if f.learnLinks(h.node, gate.Request{}) != fuse.OK { // the search before the move is out of date
			h.revoked.Store(true)
			return
		}
		var buf [4]*layout.Rule
		for _, r := range h.node.rules(buf[:0]) {
			if r.Kind == layout.Guarded && !h.claimedBy(f, r) {
				h.revoked.Store(true)
			}
		}
	})
}

// restsOn reports whether the handle was opened in an epoch of the guard.
func (h *handle) restsOn(g *gate.Guard) bool {
	for _, c := range h.claims {
		if c.guard == g {
			return true
		}
	}
	return false
}

func (h *handle) claimedBy(f *rawFS, r *layout.Rule) bool {
	g, err := f.guard(r)
	return err == nil && h.restsOn(g)
}

// stale reports whether an epoch of the handle is over. Then at most its place can admit a write.
// An epoch that a failed renewal interrupted is not over: it may open again.
func (h *handle) stale() bool {
	for _, c := range h.claims {
		if !c.guard.Current(c.epoch) {
			return true
		}
	}
	return h.revoked.Load()
}

// frozen reports whether an epoch of the handle is being handed over.
func (h *handle) frozen() bool {
	return slices.ContainsFunc(h.claims, func(c claim) bool { return c.guard.EpochFrozen(c.epoch) })
}

func (t *handleTable) close() {
	t.byID.Range(func(k, _ any) bool { _ = t.release(k.(uint64)); return true }) // the inodes are next
}
