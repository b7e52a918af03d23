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
	// tree is held for reading while a name that has a rule is looked up, until it is
	// noted what stands there, and for writing while such a name changes (moveRoot).
	tree    sync.RWMutex
	moving  chan struct{}     // capacity 1: whose turn it is in moveRoot
	sealed  map[inodeKey]bool // fixed before the first request
	above   map[inodeKey]bool // directories that a sealed one lies in
	procFD  int               // O_PATH of /proc/self/fd
	serving serving
	kernel  kernel
	inval   *invalidator
	expiry  *expiry
	watcher *watcher
	losses  atomic.Uint64 // how often a lease has ended
	renames atomic.Uint64
	budget  *budget
	shares  shares
	locks   *lockTable
	border  border
	book    linkBook
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
	known := newServing()
	if err := known.serveFrom(o, root); err != nil {
		known.close()
		_ = unix.Close(proc)
		return nil, err
	}
	f := &rawFS{
		opts: o, root: n, nodes: newNodeTable(n), sealed: make(map[inodeKey]bool), above: make(map[inodeKey]bool),
		procFD: proc, inval: newInvalidator(), expiry: newExpiry(), watcher: newWatcher(), budget: newBudget(o.Descriptors), durable: lease.SharedStore(root),
		serving: known, moving: make(chan struct{}, 1), kernel: kernel{dev: -1}, border: newBorder(o.Exempt), book: newLinkBook(),
	}
	if o.Enforcement != nil {
		f.border.away = o.Enforcement.Away
	}
	f.handles.procFD = proc
	f.locks = newLockTable(o.LocalLocks, f.budget)
	return f, nil
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
	f.serving.close()
	for _, fd := range []int{f.procFD, f.kernel.dev} {
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
