// Package git keeps the checkouts of a git repository apart. Each has a lease of its own, with its part of the common directory; what all
// have in common everybody changes in git's way, by git's lock files, and nobody changes what another checkout has in use.
//
// It promises that for every change through the mount. It does not promise it for changes behind the mount, which it sees when it looks the
// next time.
//
// A linked checkout of git has no fixed name. git notes in worktrees/NAME/gitdir of the common
// directory where it lies, before it makes anything in it. The mount reads these notes when it
// begins, and again whenever one of them changes through it. From then on the inode of the checkout's
// root counts, so a checkout that is renamed stays guarded.
package git

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// Repository is the git repository that a mount serves. nil is that of a mount without one: of it the methods may be called that say what
// they answer then.
type Repository struct {
	opts Options
	tree *tree.Tree
	// source is the same, where nothing else is needed to look at it.
	source files
	mu     sync.Mutex
	now    atomic.Pointer[facts] // replaced under mu
	// change is held by everybody who changes something in the repository, see policy.go.
	change sync.RWMutex
	pins   sync.RWMutex // locked while descriptors of roots are closed
	locks  lockFiles
}

// files are what lies in the source.
type files struct{ *tree.Tree }

// Options says what a repository is, and what it needs.
type Options struct {
	Layout      layout.Layout // what is known of the repository before it is read
	Tree        *tree.Tree
	Bases       []string // absolute paths of the source, as programs see it
	Enforcement *gate.Enforcement
	// Exits tells when a process ends that has made a lock file. nil: the file stays.
	Exits *process.ExitWatch
	// MostRules is by how many rules one change may be judged. What concerns more is nobody's.
	MostRules int
	Host      Host
}

// Host is what the file system does for a repository.
type Host interface {
	// Rehang gives a directory that the kernel may know another rule. What was let in by the former one has taken effect when it returns,
	// or the wait for it was in vain.
	Rehang(k tree.Key, e layout.Entry)
	// Expire has the kernel look again what lies at a name. It may wait for a request in that directory.
	Expire(dir tree.Key, name string)
	// Info and Warn tell people. about are names and values in turn.
	Info(what string, about ...string)
	Warn(what string, err error, about ...string)
}

// facts are the checkouts as they were read last.
type facts struct {
	layout layout.Layout
	roots  map[tree.Key]checkoutRoot
	names  map[nameKey]layout.Entry
	admins map[string]bool
}

// checkoutRoot is the directory of a checkout. Its descriptor pins the inode: a directory that is made
// when it is gone is another one. It is used under pins.
type checkoutRoot struct {
	id lease.WorktreeID
	is layout.Entry
	fd int
}

// nameKey is a name in a directory.
type nameKey struct {
	dir  tree.Key
	name string
}

// New returns the repository as its notes say, nil if a layout has none. Close must follow.
func New(o Options) *Repository {
	if o.Layout.Name() != layout.Git {
		return nil
	}
	g := &Repository{opts: o, tree: o.Tree, source: files{o.Tree}}
	g.now.Store(&facts{layout: o.Layout})
	g.locks.init()
	return g
}

// Close frees the descriptors. Nothing is served any more.
func (g *Repository) Close() {
	if g == nil {
		return
	}
	g.locks.close()
	for _, r := range g.now.Load().roots {
		_ = unix.Close(r.fd)
	}
}

// Layout is the layout with what is known of the repository now.
func (g *Repository) Layout() layout.Layout { return g.now.Load().layout }

// Entry is what the layout says of a name in a directory.
func (g *Repository) Entry(dir tree.Inode, name string) layout.Entry {
	if e, ok := g.now.Load().names[nameKey{dir.Key(), name}]; ok {
		return e
	}
	return g.opts.Layout.Entry(dir.Role(), name)
}

// RootAt finds what a directory is, if it is the root of a checkout. There is none without a repository.
func (g *Repository) RootAt(k tree.Key) (layout.Entry, bool) {
	if g == nil {
		return layout.Entry{}, false
	}
	r, ok := g.now.Load().roots[k]
	return r.is, ok
}

// HasRoots reports whether there is a checkout.
func (g *Repository) HasRoots() bool { return len(g.now.Load().roots) > 0 }

// Knows reports whether a name in worktrees/ was there when the notes were read.
func (g *Repository) Knows(name string) bool { return g.now.Load().admins[name] }

// readCheckouts reads the notes of all linked worktrees. A checkout that is not where its note says
// stays known by its inode while its note exists: git moves the directory first.
func (g *Repository) readCheckouts(old *facts, by consent) (*facts, error) {
	repo := *old.layout.Repository()
	now := &facts{roots: make(map[tree.Key]checkoutRoot), names: make(map[nameKey]layout.Entry), admins: make(map[string]bool)}
	repo.Linked = nil
	admins, err := g.source.admins(repo.Common)
	if err != nil {
		return nil, err
	}
	for root, e := range old.layout.Roots() { // those of notes are read again
		if !e.Linked() && !g.fix(now, root, e) {
			return nil, fmt.Errorf("%s: it was moved or replaced", root)
		}
	}
	for _, name := range admins {
		now.admins[name] = true
		c := layout.Checkout{ID: old.layout.LinkedID(name), Name: name}
		if at, ok := g.locate(old.layout, name); ok {
			if g.believed(old, now, at, by) {
				now.add(c.ID, layout.LinkedRoot(c.ID), at)
				c.Root = at.root
				repo.Linked = append(repo.Linked, c)
				continue
			}
			_ = unix.Close(at.fd)
		}
		if now.keep(old, c.ID) {
			for _, was := range old.layout.Repository().Linked {
				if was.ID == c.ID {
					repo.Linked = append(repo.Linked, was)
				}
			}
		}
	}
	now.layout = old.layout.With(repo)
	return now, nil
}

// add notes the root of a checkout.
func (now *facts) add(id lease.WorktreeID, e layout.Entry, at located) {
	now.roots[at.key] = checkoutRoot{id, e, at.fd}
	now.names[at.name] = e
}

// fix notes a root that no note tells of.
func (g *Repository) fix(now *facts, root string, e layout.Entry) bool {
	at, ok := g.source.open(root)
	if ok {
		now.add(e.Own.Worktree, e, at)
	}
	return ok
}

// noteMax bounds a file of git that holds a path or the name of a ref, in bytes.
const noteMax = 8 << 10

// updateRefsMax bounds the list of what a rebase moves, in bytes: about ten thousand branches.
const updateRefsMax = 1 << 20

// keep takes over what was known of a checkout, if its directory still exists.
func (now *facts) keep(old *facts, id lease.WorktreeID) (kept bool) {
	for k, was := range old.roots {
		var st unix.Stat_t
		if was.id != id || unix.Fstat(was.fd, &st) != nil || st.Nlink == 0 {
			continue
		}
		if fd, err := unix.FcntlInt(uintptr(was.fd), unix.F_DUPFD_CLOEXEC, 0); err == nil {
			now.roots[k] = checkoutRoot{id, was.is, fd}
			kept = true
		}
	}
	for k, e := range old.names {
		if kept && e.Own.Worktree == id {
			now.names[k] = e
		}
	}
	return kept
}

// Above are the directories that the common directory lies in below the source, and itself. They stay where they are while it is mounted:
// rules of branches are told by their path in it.
func (g *Repository) Above() (all []tree.Key) {
	for rel := g.Layout().Repository().Common; rel != "" && rel != "."; rel = path.Dir(rel) {
		fd, err := g.tree.Open(rel, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			all = append(all, tree.KeyOf(&st))
		}
		_ = unix.Close(fd)
	}
	return all
}

// admins lists the names in worktrees/ of the common directory, in order.
func (s files) admins(common string) (names []string, err error) {
	err = s.Names(path.Join(common, "worktrees"), func(name string) bool {
		names = append(names, name)
		return true
	})
	if errors.Is(err, unix.ENOENT) && len(names) == 0 { // later it says that some were not read
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// Reread reads the notes again. Nothing may be held.
func (g *Repository) Reread() { g.reread(consent{}) }

// reread reads the notes again, and puts the roots that are new under their guards. Nothing may be
// held: what is in flight under the former rule of a root is waited for.
func (g *Repository) reread(by consent) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.now.Load()
	now, err := g.readCheckouts(old, by)
	if err != nil {
		g.opts.Host.Warn("the worktrees of git cannot be listed; those that are known stay", err)
		return
	}
	g.now.Store(now)
	for k, r := range now.roots {
		if was, known := old.roots[k]; !known || was.id != r.id {
			g.opts.Host.Rehang(k, r.is)
		}
	}
	for k := range old.roots {
		if _, still := now.roots[k]; !still {
			g.opts.Host.Rehang(k, layout.Entry{})
		}
	}
	g.pins.Lock()
	defer g.pins.Unlock()
	for _, was := range old.roots {
		_ = unix.Close(was.fd)
	}
}
