package fusefs

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// node is an inode as the kernel knows it. Its descriptor pins the backing inode, so the key cannot
// be reused while the node lives.
type node struct {
	id   uint64
	key  tree.Key
	fd   int    // of this very inode: O_PATH|O_NOFOLLOW, or a handle's (sharedFD). Never read from or written to
	kind uint32 // S_IFMT bits

	sharedFD            // whose descriptor fd is
	lookups  uint64     // the kernel's references; guarded by the key's shard
	quota    *userQuota // of the user who pays for the descriptor

	place // where it is: decides which guard judges it

	mu      sync.Mutex
	writers map[*handle]struct{} // handles open for writing
	reads   map[uint32]*reading  // by user: handles open for reading
	stamp   stamp                // of the content that the kernel may have cached
	doubted time.Time            // when it was first seen, while it does not tell of every change (stamp); zero: it does
	where   longEntry            // the name that the kernel caches for long

	watched    atomic.Uint32            // for changes behind the mount: watchNothing, ...
	selfEvents map[string]selfEventNote // of a directory: its own changes whose events have not come; guarded by mu

	knownPlace   atomic.Pointer[knownPlace] // of a directory, where there are rules
	placeWatched atomic.Bool                // its own moves are told
	leansOn      atomic.Bool                // places below it were remembered

	gitdir atomic.Bool // a note of where a checkout of git lies

	killNext atomic.Bool // the next FALLOCATE or copy has to remove setid bits

	written atomic.Uint64 // when this mount last wrote it: 1 + how many leases had ended

	setid  atomic.Bool // the kernel was told of a setuid or setgid bit
	locked lockedCaches

	making atomic.Int32 // open handles that have made the file

	knownNames atomic.Pointer[knownNames] // of a directory that was made under a lease
	noCaps     atomic.Uint64              // of a file: 1 + how many leases had ended when it was made here, see known_nocaps.go

	listed atomic.Uint64 // when the kernel began to cache the directory, see dirFlags
}

// Key, FD and IsDir make an inode one that policies may ask (tree.Inode).
func (n *node) Key() tree.Key { return n.key }
func (n *node) FD() int       { return n.fd }
func (n *node) IsDir() bool   { return n.kind == unix.S_IFDIR }

// HasRule implements [tree.Inode].
func (n *node) HasRule(k layout.Kind) bool {
	var buf [4]*layout.Rule
	return slices.ContainsFunc(n.SeenRules(buf[:0]), func(r *layout.Rule) bool { return r.Kind == k })
}

// Above and In are how policies look at the directories that an inode was seen in.
func (n *node) Above() tree.Inode {
	if ps := n.parentList(); len(ps) == 1 {
		return ps[0]
	}
	return nil
}

func (n *node) In(such func(dir tree.Inode) bool) bool {
	return slices.ContainsFunc(n.parentList(), func(dir *node) bool { return such(dir) })
}

// BeingMade reports whether it is open for whoever has made it.
func (n *node) BeingMade() bool { return n.making.Load() > 0 }

// addWriter and dropWriter keep the inode's handles open for writing. They judge stores through
// mappings.
func (n *node) addWriter(h *handle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writers == nil {
		n.writers = make(map[*handle]struct{})
	}
	n.writers[h] = struct{}{}
}

func (n *node) dropWriter(h *handle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.writers, h)
}

func (n *node) hasWriters() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.writers) > 0
}

// nodeTable maps the kernel's node ids and the backing inodes to nodes. Reading by id takes no
// lock.
type nodeTable struct {
	byID   sync.Map // uint64 -> *node
	lastID atomic.Uint64
	count  atomic.Int64
	shards [64]nodeShard
}

type nodeShard struct {
	sync.Mutex
	byKey map[tree.Key]*node
}

func newNodeTable(root *node) *nodeTable {
	t := &nodeTable{}
	for i := range t.shards {
		t.shards[i].byKey = make(map[tree.Key]*node)
	}
	root.id, root.lookups = fuse.FUSE_ROOT_ID, 1
	t.lastID.Store(fuse.FUSE_ROOT_ID)
	t.byID.Store(root.id, root)
	t.shard(root.key).byKey[root.key] = root
	t.count.Store(1)
	return t
}

func (t *nodeTable) shard(k tree.Key) *nodeShard {
	return &t.shards[(k.Ino^k.Ino>>8^k.Dev)%uint64(len(t.shards))]
}

// get returns the node of a request, nil for an id that the kernel has forgotten.
func (t *nodeTable) get(id uint64) *node {
	v, ok := t.byID.Load(id)
	if !ok {
		return nil
	}
	return v.(*node)
}

// find returns the node of a backing inode, if the kernel knows it.
func (t *nodeTable) find(k tree.Key) *node {
	s := t.shard(k)
	s.Lock()
	defer s.Unlock()
	return s.byKey[k]
}

// remember counts one more reference of the kernel to the inode behind fd, and takes fd over. The
// user who sees the inode first pays for it. seen is called under the lock, before the kernel can
// know the node, to note its place.
func (t *nodeTable) remember(fd int, st *unix.Stat_t, who *userQuota, seen func(*node)) *node {
	n, is := t.rememberAs(fd, st, who, false, seen)
	if !is {
		_ = unix.Close(fd)
	}
	return n
}

// rememberAs is remember for a descriptor that may be a handle's (lent). is says whether the inode
// now uses this descriptor; otherwise it still belongs to the caller.
func (t *nodeTable) rememberAs(fd int, st *unix.Stat_t, who *userQuota, lent bool, seen func(*node)) (n *node, is bool) {
	k := tree.KeyOf(st)
	s := t.shard(k)
	s.Lock()
	defer s.Unlock()
	n = s.byKey[k]
	if is = n == nil; is {
		n = &node{id: t.lastID.Add(1), key: k, fd: fd, kind: st.Mode & unix.S_IFMT, quota: who, sharedFD: sharedFD{lent: lent}}
		who.inodes.Add(1)
		s.byKey[k] = n
		t.byID.Store(n.id, n)
		t.count.Add(1)
	}
	n.lookups++
	seen(n)
	return n, is
}

// forget drops references. With the last one the node is removed and returned. Its descriptor is
// closed after its key is removed: until then no other inode can have the key.
func (t *nodeTable) forget(id, count uint64) *node {
	n := t.get(id)
	if n == nil || id == fuse.FUSE_ROOT_ID || !t.unlist(n, count) {
		return nil
	}
	n.letGo()
	return n
}

func (t *nodeTable) unlist(n *node, count uint64) (gone bool) {
	s := t.shard(n.key)
	s.Lock()
	defer s.Unlock()
	if n.lookups > count {
		n.lookups -= count
		return false
	}
	n.lookups = 0
	delete(s.byKey, n.key)
	t.byID.Delete(n.id)
	t.count.Add(-1)
	n.quota.inodes.Add(-1)
	return true
}

// all calls f for every node until f returns false.
func (t *nodeTable) all(f func(*node) bool) {
	t.byID.Range(func(_, v any) bool { return f(v.(*node)) })
}

// close closes the descriptors of all nodes. Nothing may be served any more.
func (t *nodeTable) close() {
	t.all(func(n *node) bool {
		if n.id != fuse.FUSE_ROOT_ID {
			n.letGo()
		}
		t.byID.Delete(n.id)
		return true
	})
}
