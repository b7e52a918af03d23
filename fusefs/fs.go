package fusefs

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/flock"
	"github.com/jvsfs/jvsfs/fusefs/transport"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/policy/exempt"
	"github.com/jvsfs/jvsfs/gate/policy/git"
	"github.com/jvsfs/jvsfs/gate/policy/hardlink"
	"github.com/jvsfs/jvsfs/gate/policy/jvs"
	"github.com/jvsfs/jvsfs/gate/policy/lockfiles"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// rawFS implements fuse.RawFileSystem. It embeds nothing: if go-fuse adds a method, the build fails
// until it is classified in gate's table and written here.
type rawFS struct {
	opts    Options
	root    *node
	nodes   *nodeTable
	handles handleTable
	guards  sync.Map      // lease.WorktreeID -> *gate.Guard
	guardMu sync.Mutex    // locked while a guard is added
	moves   atomic.Uint64 // how often a worktree's root was renamed
	// ruledNames is read-locked while a name that has a rule is looked up, until its inode is noted. It
	// is write-locked while such a name changes (moveRoot).
	ruledNames     sync.RWMutex
	source         *tree.Tree
	moving         chan struct{}     // capacity 1: the turn in moveRoot
	sealed         map[tree.Key]bool // fixed before the first request
	above          map[tree.Key]bool // directories above a sealed one
	procFD         int               // O_PATH of /proc/self/fd
	serving        serving
	kernel         transport.Notifier
	inval          *invalidator
	expiry         *expiry
	watcher        *watcher
	losses         atomic.Uint64 // how often a lease has ended
	renames        atomic.Uint64
	budget         *budget
	quotas         userQuotas
	locks          *flock.Table
	moveLock       *exempt.MoveLock
	exempt         exempt.Places
	hardlinks      *hardlink.Index
	git            *git.Repository   // nil: there is none
	jvs            *jvs.Snapshots    // nil: JVS keeps none here
	policies       engine.Policies   // git and jvs, if there are any
	rules          *lockfiles.Policy // nil: there are none of lock files
	replaceBarrier replaceBarrier
	places         *knownPlaces // nil: none is remembered
	// moveWait is how long a rename of a root waits: the constant, outside of tests.
	moveWait time.Duration
	durable  bool // writes are made durable before they are answered
	syncs    bool // by a call of our own after each (sync.go)
	relies   bool // they are not, but made durable later (dirty.go)
	stats    counters

	deferredCloses deferredCloses

	canExpire bool // names can be cached for long; known since INIT
}

var _ transport.Handler = (*rawFS)(nil)

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
		opts: o, root: n, nodes: newNodeTable(n), sealed: make(map[tree.Key]bool), above: make(map[tree.Key]bool),
		procFD: proc, inval: newInvalidator(), expiry: newExpiry(), watcher: newWatcher(), budget: newBudget(o.Descriptors), durable: lease.SharedStore(root), syncs: lease.SharedStore(root) && onFUSE(root),
		serving: known, moving: make(chan struct{}, 1), moveWait: moveWait, kernel: transport.Notifier{Dev: -1}, moveLock: exempt.NewMoveLock(o.Exempt, o.Enforcement),
	}
	f.relies, f.policies = o.RelyOnFence, o.policies
	if o.Locks != nil && !f.durable { // where other kernels write, nobody tells of a move
		f.places = newKnownPlaces()
	}
	f.handles.procFD = proc
	f.source = tree.New(root, proc, o.ByUser)
	f.git = git.New(git.Options{
		Layout: o.Layout, Tree: f.source, Bases: []string{o.Mountpoint, o.Source}, Enforcement: o.Enforcement, Exits: o.Exits, MostRules: len(permit{}.of), Host: gitHost{f},
	})
	f.hardlinks = f.newHardlinks()
	f.exempt = exempt.Places{Lock: f.moveLock, Tree: f.source, Layout: f.layout, Inodes: exemptInodes{f}}
	if o.Locks != nil {
		f.rules = lockfiles.New(o.Locks, f.source, ruledFiles{f}, o.Enforcement)
	}
	if jvs.Serves(o.Layout) {
		f.jvs = jvs.New(o.Layout, f.source, f.guard)
		f.policies = append(f.policies, f.jvs)
	}
	if f.git != nil {
		f.policies = append(f.policies, f.git)
		f.git.Reread()
		for _, k := range f.git.Above() {
			f.above[k] = true
		}
	}
	f.locks = flock.New(f.budget.full/4, proc)
	return f, nil
}

// run runs everything besides requests, until stop is closed.
func (f *rawFS) run(stop <-chan struct{}) {
	var wg sync.WaitGroup
	wg.Go(func() { f.inval.run(f.kernel.DropPages, stop) })
	wg.Go(func() { f.expiry.run(f, stop) })
	wg.Go(func() { f.watcher.run(f, stop) })
	wg.Go(func() { f.places.run(stop) })
	wg.Go(func() { f.budget.run(f, stop) })
	wg.Go(func() { f.git.Run(stop) })
	wg.Wait()
}

func (f *rawFS) close() error {
	f.deferredCloses.wg.Wait()
	f.locks.Close()
	f.handles.close()
	f.nodes.close()
	f.watcher.close()
	f.places.close()
	f.hardlinks.Close()
	f.moveLock.Close()
	f.git.Close()
	if f.jvs != nil {
		f.jvs.Close()
	}
	f.serving.close()
	for _, fd := range []int{f.procFD, f.kernel.Dev} {
		_ = unix.Close(fd) // -1 if it was never opened
	}
	return unix.Close(f.root.fd)
}

// String names the file system in go-fuse's messages.
func (f *rawFS) String() string { return "jvsfs" }

// SetDebug is for go-fuse; there is nothing to switch.
func (f *rawFS) SetDebug(bool) {}

// Init is for go-fuse's own server, which is not used (package transport).
func (f *rawFS) Init(*fuse.Server) {}

// greeted gets what the kernel says of itself, before any other request.
func (f *rawFS) greeted(hello *fuse.InitIn) {
	f.kernel.Hello = *hello
	f.canExpire = f.kernel.CanExpire()
}

// OnUnmount has nothing to do: the owner of Server closes what is open.
func (f *rawFS) OnUnmount() {}

// status maps the errno of a backing call. Anything else becomes EIO.
func status(err error) fuse.Status { return fuse.ToStatus(err) }
