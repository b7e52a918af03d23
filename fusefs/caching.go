package fusefs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// Cache says how long the kernel may cache names and attributes.
type Cache int

const (
	// CacheAuto caches for long what is below a worktree whose only writer is a holder of this
	// mount. Everything else is cached for CacheTimeout.
	CacheAuto Cache = iota
	// CacheShared caches nothing for longer than CacheTimeout.
	CacheShared
	// CacheExclusive always caches for long: the admin says that nobody changes the backing directory except through this mount.
	CacheExclusive
)

// longTimeout is for what nobody else can change. It is finite, so that a change which bypassed every mount is seen some day.
const longTimeout = 10 * time.Minute

// watchedTTL returns how long the kernel may cache a node, or the entries of a directory. The rules of the place decide. So a holder's
// worktree is cached for long below its root, and nothing beside it.
//
// What others may change is also watched for all changes. What only the holder may change is
// watched for changes of names that bypass the mount.
func (f *rawFS) watchedTTL(n *node) time.Duration {
	t := f.cacheTTL(n)
	switch {
	case t > f.opts.CacheTimeout && f.opts.Cache == CacheAuto:
		f.watcher.watch(f, n, watchNames)
	case t > 0 && t <= f.opts.CacheTimeout:
		f.watcher.watch(f, n, watchAll)
	}
	return t
}

// cacheTTL is watchedTTL without its side effects.
func (f *rawFS) cacheTTL(n *node) time.Duration {
	short := f.opts.CacheTimeout
	if f.opts.Cache == CacheShared || !f.canExpire {
		return short
	}
	if f.opts.Cache == CacheExclusive {
		return longTimeout
	}
	var buf [4]*layout.Rule
	ttl := longTimeout
	for _, r := range n.rules(buf[:0]) {
		left, sole := f.soleWriter(r)
		if !sole {
			return short
		}
		// On one kernel nobody can take over before the caches are dropped. Another host can, after the deadline.
		if f.durable {
			ttl = min(ttl, left)
		}
	}
	if f.moveLock.On && f.openToAll(n) { // the holder is the only writer, but not here
		return short
	}
	return max(ttl, short)
}

func (f *rawFS) soleWriter(r *layout.Rule) (time.Duration, bool) {
	if r.Kind != layout.Guarded {
		return 0, false
	}
	g, err := f.knownGuard(r)
	if err != nil || g == nil {
		return 0, false
	}
	return g.SoleWriter()
}

// changedSinceOpened reports, once, that a file has another stamp than when it was opened. The
// kernel may have its pages, and a reader that has it open would otherwise see the old pages for
// ever. Writes of this mount do not count while nobody else could write: the kernel has seen them.
func (f *rawFS) changedSinceOpened(n *node, a *fuse.Attr) bool {
	now := stamp{unix.Timespec{Sec: int64(a.Mtime), Nsec: int64(a.Mtimensec)}, unix.Timespec{Sec: int64(a.Ctime), Nsec: int64(a.Ctimensec)}, int64(a.Size)}
	n.mu.Lock()
	same, doubted := n.openedAs(&now), false
	if same {
		doubted = n.isDoubted() && !n.staysDoubted()
	}
	n.mu.Unlock()
	if doubted {
		n.locked.stale.Store(true)
	}
	if same { // as mostly
		return doubted
	}
	own := n.written.Load() == f.losses.Load()+1 && f.cacheTTL(n) > f.opts.CacheTimeout
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.openedAs(&now) { // another request has just reported it
		return false
	}
	f.noteStamp(n, now)
	if !own {
		n.locked.stale.Store(true)
	}
	return !own
}

func (n *node) fillAttr(a *fuse.Attr, st *unix.Stat_t) {
	n.setid.Store(st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0)
	*a = fuse.Attr{
		Ino: st.Ino, Size: uint64(st.Size), Blocks: uint64(st.Blocks),
		Atime: uint64(st.Atim.Sec), Mtime: uint64(st.Mtim.Sec), Ctime: uint64(st.Ctim.Sec),
		Atimensec: uint32(st.Atim.Nsec), Mtimensec: uint32(st.Mtim.Nsec), Ctimensec: uint32(st.Ctim.Nsec),
		Mode: st.Mode, Nlink: uint32(st.Nlink), Owner: fuse.Owner{Uid: st.Uid, Gid: st.Gid},
		Rdev: uint32(st.Rdev), Blksize: uint32(st.Blksize),
	}
}

// cacheGen is how long the kernel may cache what is about to be read of a directory. It is formed before the backing call: what was read
// under one holder must not be cached on the word of a later one.
type cacheGen struct {
	long    time.Duration
	losses  uint64
	renames uint64
}

func (f *rawFS) cacheGenOf(dir *node) cacheGen {
	b := cacheGen{losses: f.losses.Load(), renames: f.renames.Load()}
	b.long = f.watchedTTL(dir)
	return b
}

// ttlSince returns how long it may be cached after the call. long says whether a long timeout could be noted. If a lease has ended or a
// name has moved meanwhile, whoever takes long timeouts back may have missed this one. Then it gets none.
func (f *rawFS) ttlSince(b cacheGen, dir *node, long bool) time.Duration {
	if !long || f.losses.Load() != b.losses || f.renames.Load() != b.renames {
		return f.opts.CacheTimeout
	}
	return min(b.long, f.cacheTTL(dir))
}

// fillEntry answers with n as the entry name of dir.
func (f *rawFS) fillEntry(out *fuse.EntryOut, b cacheGen, n, dir *node, name string, st *unix.Stat_t) {
	long := b.long > f.opts.CacheTimeout && f.expiry.keepLong(n, longEntry{dir, name, b.losses})
	t := f.ttlSince(b, dir, long)
	if (f.moveLock.On || f.opts.Layout.HasParts()) && t > f.opts.CacheTimeout && n.IsDir() {
		t = min(t, f.cacheTTL(n)) // where others may write, its times change with its entries
	}
	if long && t <= f.opts.CacheTimeout {
		f.expiry.release(n)
	}
	entry := t
	if t <= f.opts.CacheTimeout { // others may change it
		if dir.locked.beside.Load() {
			entry = 0
		}
		if n.locked.ever.Load() || n.inChain() {
			t = 0
		}
	}
	out.NodeId, out.Generation = n.id, 1
	out.SetEntryTimeout(entry)
	out.SetAttrTimeout(t)
	n.fillAttr(&out.Attr, st)
}

// attrTimeout returns how long a node's attributes may be cached. It is long only if the timeout of
// its name is: both are taken back together.
func (f *rawFS) attrTimeout(n *node) time.Duration {
	t := f.opts.CacheTimeout
	if at := n.longTimeout(); at.dir != nil && at.losses == f.losses.Load() {
		t = f.watchedTTL(n)
	}
	if t <= f.opts.CacheTimeout && (n.locked.ever.Load() || n.inChain()) || f.opts.Enforcement.Awaited() { // a caller that should wait must ask
		return 0
	}
	return t
}

// negative answers that a directory has no such entry. If the negative dentry can be taken back it
// is cached: a compiler looks for each header in many places.
func (f *rawFS) negative(out *fuse.EntryOut, b cacheGen, dir *node, name string) fuse.Status {
	long := b.long > f.opts.CacheTimeout && f.expiry.keepNegative(dir, name)
	t := f.ttlSince(b, dir, long)
	if t <= f.opts.CacheTimeout {
		return fuse.ENOENT
	}
	out.NodeId = 0
	out.SetEntryTimeout(t)
	return fuse.OK
}
