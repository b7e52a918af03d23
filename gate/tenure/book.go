package tenure

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/wait"
	"github.com/jvsfs/jvsfs/lease"
)

// File identifies a file below the source, as it is now.
type File struct {
	Dev   uint64 `json:"dev"`
	Inode uint64 `json:"inode"`
	Birth int64  `json:"birth"`    // nanoseconds; 0 where the file system does not say
	Mtime int64  `json:"modified"` // nanoseconds
}

// same reports whether it is the same file, whatever was written since.
func (f File) same(o File) bool { return f.Dev == o.Dev && f.Inode == o.Inode && f.Birth == o.Birth }

// Files is the backing file system. Paths are below the source; no symbolic link is followed.
type Files interface {
	// Look tells which file lies at a path; false: none.
	Look(path string) (File, bool)
	// Read reads a regular file of at most so many bytes.
	Read(path string, most int64) ([]byte, error)
	// Remove removes a lock file if it is this very file.
	Remove(path string, is File) error
	// Forget makes the kernel ask again for the name of a lock file that was removed. It waits for requests in the
	// directory, which may wait for the turn: nobody may have that who asks.
	Forget(path string)
	// Prepare adds the file system's hooks to a new guard.
	Prepare(g *gate.Guard)
}

// Config is what a book rests on.
type Config struct {
	Rules       *lockfile.Rules
	Worktree    lease.WorktreeID // that refusals name
	Enforcement *gate.Enforcement
	Resolver    *gate.Resolver
	Exits       *process.ExitWatch
	Clock       lease.Clock
	Errno       syscall.Errno
	OnRefusal   func(*gate.Refusal) // may be nil
	OnEvent     func(Event)         // in the goroutine of the request; must not block; may be nil
	Memory      Memory              // nil: a daemon that goes on after this one knows nothing
	Loans       Loans               // nil: no daemon was replaced
	Joins       bool                // another daemon leads still: Join and Lead follow
}

// Book knows every lock file that rules tell of and that somebody has asked for. Safe for concurrent use.
type Book struct {
	cfg   Config
	files Files

	counts map[*lockfile.Rule]*ruleCounts // of each rule; the map does not change

	trees  sync.RWMutex // read-locked while the name of a lock changes, locked while a directory is renamed
	number atomic.Uint64

	windows
	mu    sync.Mutex
	all   map[string]*Lock
	most  int     // as many are kept before those that nobody uses are forgotten
	ended []*Lock // whose holder may have ended
	wake  chan struct{}

	role    atomic.Int32
	led     chan struct{}   // closed when the book counts
	lent    map[string]bool // by daemons before; under mu
	anyLent atomic.Bool
	stale   []string // what Memory has of locks that no rule tells of; before Lead
}

// New makes an empty book. Bind must follow.
func New(cfg Config) *Book {
	b := &Book{cfg: cfg, counts: make(map[*lockfile.Rule]*ruleCounts), all: make(map[string]*Lock), most: locksMax, wake: make(chan struct{}, 1), led: make(chan struct{}), lent: make(map[string]bool)}
	b.opening = wait.NewMutex()
	b.passing.Store(newPassing())
	for _, r := range cfg.Rules.All() {
		b.counts[r] = &ruleCounts{}
	}
	b.number.Store(uint64(cfg.Clock.Wall().UnixMicro())) // so that numbers grow from daemon to daemon
	return b
}

// Bind gives the book the backing file system, and takes over what Memory knows, unless the book joins. Nothing is served
// before.
func (b *Book) Bind(f Files) error {
	b.files = f
	b.role.Store(int32(joins))
	if b.cfg.Joins {
		return nil
	}
	if err := b.Join(); err != nil {
		return err
	}
	b.Lead()
	return nil
}

// Rules are the rules of the book; nil for a nil book.
func (b *Book) Rules() *lockfile.Rules {
	if b == nil {
		return nil
	}
	return b.cfg.Rules
}

// locksMax is how many locks are kept at least before those that nobody uses are forgotten.
const locksMax = 1024

// Use returns the lock of an instance. Done must follow: until then it is not forgotten.
func (b *Book) Use(i lockfile.Instance) *Lock {
	b.counts[i.Rule].matches.Add(1)
	return b.lockOf(i)
}

// lockOf is Use for who only looks: it does not count.
func (b *Book) lockOf(i lockfile.Instance) *Lock {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := i.ID()
	l := b.all[id]
	if l == nil {
		if len(b.all) >= b.most {
			b.forgetUnused()
			b.most = max(locksMax, 2*len(b.all)) // so that looking for them costs little
		}
		l = newLock(b, i)
		b.all[id] = l
	}
	l.users.Add(1)
	return l
}

// forgetUnused forgets the locks that are free and that nothing rests on. Under mu.
func (b *Book) forgetUnused() {
	for id, l := range b.all {
		if l.users.Load() == 0 && l.isPlain() {
			delete(b.all, id)
		}
	}
}

// Run looks after holders that have ended, until ctx ends.
func (b *Book) Run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-b.led:
	}
	var ending sync.WaitGroup
	defer ending.Wait()
	var flocks sync.WaitGroup
	defer flocks.Wait()
	flocks.Go(func() { b.awaitFlocks(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-b.wake:
		}
		b.mu.Lock()
		ended := b.ended
		b.ended = nil
		b.mu.Unlock()
		for _, l := range ended {
			l.lookAfter(ctx)
			l.Done()
		}
		b.lookAtWindows(&ending)
	}
}

// mayHaveEnded has Run look at a lock. It does not block.
func (b *Book) mayHaveEnded(l *Lock) {
	l.users.Add(1)
	b.mu.Lock()
	b.ended = append(b.ended, l)
	b.mu.Unlock()
	b.look()
}

// look has Run look at what may have ended.
func (b *Book) look() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// shownFor is how long a lock is shown after the last thing that has happened to it.
const shownFor = time.Hour

// Locks are those that are held, left or unknown, or were so in the last hour, by their ids.
func (b *Book) Locks() (views []View) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	all := make([]*Lock, 0, len(b.all))
	for _, l := range b.all {
		all = append(all, l)
	}
	b.mu.Unlock()
	for _, l := range all {
		if v := l.View(); v.State != StateFree || v.Breaks+v.Refusals+v.Tenures > 0 && b.now()-l.lately() < shownFor {
			views = append(views, v)
		}
	}
	slices.SortFunc(views, func(a, b View) int { return cmp.Compare(a.ID, b.ID) })
	return views
}

// refuse tells of a refusal. It reports false if the mount only observes: then the change is made all the same.
func (b *Book) refuse(no *gate.Refusal) bool {
	no.Errno, no.Worktree = b.cfg.Errno, b.cfg.Worktree
	no.Observed = b.cfg.Enforcement.Mode() == gate.Observing
	if b.cfg.OnRefusal != nil {
		b.cfg.OnRefusal(no)
	}
	return !no.Observed
}

func (b *Book) now() time.Duration { return b.cfg.Clock.Boot() }
