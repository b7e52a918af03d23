package fusefs

import (
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease"
)

// rawFS implements fuse.RawFileSystem. It embeds nothing: a method that go-fuse
// adds must be classified in gate's table and written here, or the build fails.
type rawFS struct {
	opts    Options
	root    *node
	nodes   *nodeTable
	handles handleTable
	guards  sync.Map      // lease.WorktreeID -> *gate.Guard
	guardMu sync.Mutex    // held while one is added
	moves   atomic.Uint64 // how often a worktree's root has changed its name
	// tree is held for reading by every path operation of a repository, from the
	// moment its rule is looked up until it has taken effect, and for writing while
	// a name that has a rule of its own is renamed: so no operation is judged by the
	// rule of one place and takes effect in another. A tree has one rule and needs it
	// not; writes through handles that rest on an epoch need it neither.
	tree    sync.RWMutex
	sealed  map[inodeKey]bool // fixed before the first request
	above   map[inodeKey]bool // directories that a sealed one lies in
	procFD  int               // O_PATH of /proc/self/fd
	lockFD  int               // of the root, for shareRepository
	kernel  kernel
	inval   *invalidator
	expiry  *expiry
	watcher *watcher
	losses  atomic.Uint64 // how often a lease has ended
	renames atomic.Uint64
	budget  *budget
	locks   *lockTable
	border  border
	durable bool // writes are made durable before they are answered
	stats   counters

	canExpire bool // names can be cached for long; known from Init on
}

var _ fuse.RawFileSystem = (*rawFS)(nil)

func newRawFS(o Options, root int) (*rawFS, error) {
	n, err := newRoot(o, root)
	if err != nil {
		return nil, err
	}
	proc, err := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	lock, err := unix.Openat(root, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(proc)
		return nil, err
	}
	f := &rawFS{
		opts: o, root: n, nodes: newNodeTable(n), sealed: make(map[inodeKey]bool), above: make(map[inodeKey]bool),
		procFD: proc, inval: newInvalidator(), expiry: newExpiry(), watcher: newWatcher(), budget: newBudget(o.Descriptors), durable: lease.SharedStore(root),
		lockFD: lock, kernel: kernel{dev: -1}, border: newBorder(o.Exempt),
	}
	f.locks = newLockTable(o.LocalLocks, f.budget)
	return f, f.shareRepository()
}

// run owns what goes on besides requests, until stop is closed.
func (f *rawFS) run(stop <-chan struct{}) {
	var wg sync.WaitGroup
	wg.Go(func() { f.inval.run(f.kernel.dropPages, stop) })
	wg.Go(func() { f.expiry.run(f, stop) })
	wg.Go(func() { f.watcher.run(f, stop) })
	wg.Go(func() { f.budget.run(f, stop) })
	wg.Wait()
}

func (f *rawFS) close() error {
	f.locks.close()
	f.handles.close()
	f.nodes.close()
	f.watcher.close()
	f.border.close()
	for _, fd := range []int{f.procFD, f.lockFD, f.kernel.dev} {
		_ = unix.Close(fd) // one that was never opened is -1
	}
	return unix.Close(f.root.fd)
}

// String names the file system in go-fuse's messages.
func (f *rawFS) String() string { return "jvsfs" }

// SetDebug is go-fuse's; there is nothing to switch.
func (f *rawFS) SetDebug(bool) {}

// Init is for go-fuse's own server, which is not used (transport.go).
func (f *rawFS) Init(*fuse.Server) {}

// greeted is told what the kernel says of itself, before any other request.
func (f *rawFS) greeted(hello *fuse.InitIn) {
	f.kernel.hello = *hello
	f.canExpire = f.kernel.canExpire()
}

// OnUnmount has nothing to do: the owner of Server closes what is open.
func (f *rawFS) OnUnmount() {}

// status maps an errno of a backing call. What is no errno becomes EIO.
func status(err error) fuse.Status { return fuse.ToStatus(err) }
