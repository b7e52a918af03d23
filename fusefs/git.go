package fusefs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// A linked checkout of git has no fixed name. git notes in worktrees/NAME/gitdir of the common
// directory where it lies, before it makes anything in it. The mount reads these notes when it
// begins, and again whenever one of them changes through it. From then on the inode of the checkout's
// root counts, so a checkout that is renamed stays guarded.

// gitTree is the git repository that a mount serves.
type gitTree struct {
	on    bool
	bases []string // absolute paths of the source, as programs see it
	mu    sync.Mutex
	now   atomic.Pointer[gitFacts] // replaced under mu
	// change is held by everybody who changes something in the repository, see git_change.go.
	change sync.RWMutex
	pins   sync.RWMutex // locked while descriptors of roots are closed
	locks  lockFiles
}

// gitFacts are the checkouts as they were read last.
type gitFacts struct {
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

func (g *gitTree) init(o Options) {
	g.on = o.Layout.Name() == layout.Git
	g.bases = []string{o.Mountpoint, o.Source}
	g.now.Store(&gitFacts{layout: o.Layout})
	g.locks.init()
}

// close frees the descriptors. Nothing is served any more.
func (g *gitTree) close() {
	g.locks.close()
	for _, r := range g.now.Load().roots {
		_ = unix.Close(r.fd)
	}
}

// layout is the layout with what is known of the repository now.
func (f *rawFS) layout() layout.Layout {
	if !f.git.on {
		return f.opts.Layout
	}
	return f.git.now.Load().layout
}

// rootCalled finds what the name of a checkout's root says.
func (g *gitTree) rootCalled(dir *node, name string) (e layout.Entry, ok bool) {
	if g.on {
		e, ok = g.now.Load().names[nameKey{dir.key, name}]
	}
	return e, ok
}

// rootAt finds what a directory is, if it is the root of a checkout.
func (g *gitTree) rootAt(k tree.Key) (layout.Entry, bool) {
	if !g.on {
		return layout.Entry{}, false
	}
	r, ok := g.now.Load().roots[k]
	return r.is, ok
}

// knows reports whether a name in worktrees/ was there when the notes were read.
func (g *gitTree) knows(name string) bool { return !g.on || g.now.Load().admins[name] }

// readCheckouts reads the notes of all linked worktrees. A checkout that is not where its note says
// stays known by its inode while its note exists: git moves the directory first.
func (f *rawFS) readCheckouts(old *gitFacts, by consent) (*gitFacts, error) {
	repo := *old.layout.Repository()
	now := &gitFacts{roots: make(map[tree.Key]checkoutRoot), names: make(map[nameKey]layout.Entry), admins: make(map[string]bool)}
	repo.Linked = nil
	admins, err := f.gitAdmins(repo.Common)
	if err != nil {
		return nil, err
	}
	for root, e := range old.layout.Roots() { // those of notes are read again
		if !e.Linked() && !f.fix(now, root, e) {
			return nil, fmt.Errorf("%s: it was moved or replaced", root)
		}
	}
	for _, name := range admins {
		now.admins[name] = true
		c := layout.Checkout{ID: old.layout.LinkedID(name), Name: name}
		if at, ok := f.locate(old.layout, name); ok {
			if f.believed(old, now, at, by) {
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
func (now *gitFacts) add(id lease.WorktreeID, e layout.Entry, at located) {
	now.roots[at.key] = checkoutRoot{id, e, at.fd}
	now.names[at.name] = e
}

// fix notes a root that no note tells of.
func (f *rawFS) fix(now *gitFacts, root string, e layout.Entry) bool {
	at, ok := f.open(root)
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
func (now *gitFacts) keep(old *gitFacts, id lease.WorktreeID) (kept bool) {
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

// holdStill keeps the common directory where it is while it is mounted: rules of branches are told by
// their path in it. Nothing is served yet.
func (f *rawFS) holdStill() {
	for rel := f.layout().Repository().Common; rel != "" && rel != "."; rel = path.Dir(rel) {
		fd, err := f.source.Open(rel, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			continue
		}
		if st, ok := statOf(fd); ok {
			f.above[tree.KeyOf(&st)] = true
		}
		_ = unix.Close(fd)
	}
}

// gitAdmins lists the names in worktrees/ of the common directory, in order.
func (f *rawFS) gitAdmins(common string) (names []string, err error) {
	err = f.source.Names(path.Join(common, "worktrees"), func(name string) bool {
		names = append(names, name)
		return true
	})
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// reread reads the notes again, and puts the roots that are new under their guards. Nothing may be
// held: what is in flight under the former rule of a root is waited for.
func (f *rawFS) reread(by consent) {
	f.git.mu.Lock()
	defer f.git.mu.Unlock()
	old := f.git.now.Load()
	now, err := f.readCheckouts(old, by)
	if err != nil {
		f.opts.Log.Warn("the worktrees of git cannot be listed; those that are known stay", zap.Error(err))
		return
	}
	f.git.now.Store(now)
	for k, r := range now.roots {
		if was, known := old.roots[k]; !known || was.id != r.id {
			f.takeUnder(k, r.is)
		}
	}
	for k := range old.roots {
		if _, still := now.roots[k]; !still {
			f.takeUnder(k, layout.Entry{})
		}
	}
	f.git.pins.Lock()
	defer f.git.pins.Unlock()
	for _, was := range old.roots {
		_ = unix.Close(was.fd)
	}
}

// takeUnder gives a directory that the kernel knows another rule. What was let in by the former one
// has taken effect when it returns, or the wait for it was in vain.
func (f *rawFS) takeUnder(k tree.Key, e layout.Entry) {
	n := f.nodes.find(k)
	if n == nil || n.own.Load().Same(e.Own) {
		return
	}
	var concerned []*gate.Guard
	for _, r := range n.rules(nil) {
		if r.Kind == layout.Guarded {
			if g, err := f.guard(r); err == nil {
				concerned = append(concerned, g)
			}
		}
	}
	ctx, end := context.WithTimeout(context.Background(), f.moveWait)
	defer end()
	freeze, err := f.opts.Enforcement.Freeze(ctx, concerned)
	if err != nil {
		f.opts.Log.Warn("a checkout comes under its own lease while writes to it may be in flight", zap.Error(err))
	} else {
		defer freeze.Thaw()
	}
	n.own.Store(e.Own)
	n.role.Store(&e.Role)
	f.moves.Add(1)
	f.handles.revoke(f)
	f.losses.Add(1)
	f.expiry.soon()
}
