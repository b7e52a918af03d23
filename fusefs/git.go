package fusefs

import (
	"context"
	"io"
	"os"
	"path"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
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
	locks lockFiles
}

// gitFacts are the checkouts as they were read last.
type gitFacts struct {
	layout layout.Layout
	roots  map[inodeKey]layout.Entry
	names  map[nameKey]layout.Entry
	admins map[string]bool
}

// nameKey is a name in a directory.
type nameKey struct {
	dir  inodeKey
	name string
}

// holdStill keeps the common directory where it is while it is mounted: rules of branches are told by
// their path in it. The mount counts, and does not serve yet.
func (f *rawFS) holdStill() {
	for rel := f.layout().Repository().Common; rel != "" && rel != "."; rel = path.Dir(rel) {
		var st unix.Stat_t
		if fd, err := f.openBelow(rel, unix.O_PATH|unix.O_DIRECTORY); err == nil {
			if unix.Fstat(fd, &st) == nil {
				f.above[keyOf(&st)] = true
			}
			_ = unix.Close(fd)
		}
	}
}

func (g *gitTree) init(o Options) {
	g.on = o.Layout.Name() == layout.Git
	g.bases = []string{o.Mountpoint, o.Source}
	g.now.Store(&gitFacts{layout: o.Layout})
	g.locks.init()
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
func (g *gitTree) rootAt(k inodeKey) (e layout.Entry, ok bool) {
	if g.on {
		e, ok = g.now.Load().roots[k]
	}
	return e, ok
}

// knows reports whether a name in worktrees/ was there when the notes were read.
func (g *gitTree) knows(name string) bool { return !g.on || g.now.Load().admins[name] }

// readCheckouts reads the notes of all linked worktrees. A checkout that is not where its note says
// stays known by its inode while its note exists: git moves the directory first.
func (f *rawFS) readCheckouts(old *gitFacts) *gitFacts {
	repo := *old.layout.Repository()
	now := &gitFacts{roots: make(map[inodeKey]layout.Entry), names: make(map[nameKey]layout.Entry), admins: make(map[string]bool)}
	repo.Linked = nil
	for _, name := range f.gitAdmins(repo.Common) {
		now.admins[name] = true
		c := layout.Checkout{ID: old.layout.LinkedID(name), Name: name}
		note, _ := f.readBelow(path.Join(repo.Common, "worktrees", name, "gitdir"), noteMax)
		root, ok := layout.CheckoutRoot(string(note), name, repo.Common, f.git.bases...)
		if ok && f.locate(now, root, layout.LinkedRoot(c.ID)) {
			c.Root = root
			repo.Linked = append(repo.Linked, c)
			continue
		}
		now.keep(old, c.ID)
		for _, was := range old.layout.Repository().Linked {
			if was.ID == c.ID {
				repo.Linked = append(repo.Linked, was)
			}
		}
	}
	now.layout = old.layout.With(repo)
	for root, e := range now.layout.Roots() { // those that are not linked
		f.locate(now, root, e)
	}
	return now
}

// noteMax bounds a file of git that holds a path or the name of a ref, in bytes.
const noteMax = 8 << 10

// keep takes over what was known of a checkout.
func (now *gitFacts) keep(old *gitFacts, id lease.WorktreeID) {
	of := layout.LinkedRoot(id)
	for k, e := range old.roots {
		if e.Own.Same(of.Own) {
			now.roots[k] = e
		}
	}
	for k, e := range old.names {
		if e.Own.Same(of.Own) {
			now.names[k] = e
		}
	}
}

// locate notes the root of a checkout and its name.
func (f *rawFS) locate(now *gitFacts, root string, e layout.Entry) bool {
	var dir, st unix.Stat_t
	for _, at := range []struct {
		rel string
		st  *unix.Stat_t
	}{{path.Dir(root), &dir}, {root, &st}} {
		fd, err := f.openBelow(at.rel, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return false
		}
		err = unix.Fstat(fd, at.st)
		_ = unix.Close(fd)
		if err != nil {
			return false
		}
	}
	now.roots[keyOf(&st)] = e
	now.names[nameKey{keyOf(&dir), path.Base(root)}] = e
	return true
}

// openBelow opens a path below the source. Users may have written it, so no symbolic link is followed.
func (f *rawFS) openBelow(rel string, flags int) (fd int, err error) {
	if flags&unix.O_PATH == 0 {
		flags |= unix.O_NONBLOCK // a FIFO must not stop anybody
	}
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	}
	if rel == "" {
		rel = "."
	}
	return retryInt(func() (int, error) { return unix.Openat2(f.root.fd, rel, &how) })
}

// readBelow reads a regular file below the source, if it is not larger than most.
func (f *rawFS) readBelow(rel string, most int64) ([]byte, error) {
	fd, err := f.openBelow(rel, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), rel)
	defer file.Close() //nolint:errcheck // only read from
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, unix.EFBIG
	}
	return io.ReadAll(io.LimitReader(file, most))
}

// gitAdmins lists the names in worktrees/ of the common directory.
func (f *rawFS) gitAdmins(common string) []string {
	fd, err := f.openBelow(path.Join(common, "worktrees"), unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), "worktrees")
	defer dir.Close() //nolint:errcheck // only read from
	names, _ := dir.Readdirnames(-1)
	return names
}

// reread reads the notes again, and puts the roots that are new under their guards. Nothing may be
// held: what is in flight under the former rule of a root is waited for.
func (f *rawFS) reread() {
	f.git.mu.Lock()
	defer f.git.mu.Unlock()
	old := f.git.now.Load()
	now := f.readCheckouts(old)
	f.git.now.Store(now)
	for k, e := range now.roots {
		if was, known := old.roots[k]; !known || !was.Own.Same(e.Own) {
			f.takeUnder(k, e)
		}
	}
	for k := range old.roots {
		if _, still := now.roots[k]; !still {
			f.takeUnder(k, layout.Entry{})
		}
	}
}

// takeUnder gives a directory that the kernel knows another rule. What was let in by the former one
// has taken effect when it returns, or the wait for it was in vain.
func (f *rawFS) takeUnder(k inodeKey, e layout.Entry) {
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
	ctx, end := context.WithTimeout(context.Background(), moveWait)
	defer end()
	freeze, err := f.opts.Enforcement.Freeze(ctx, concerned)
	if err != nil {
		f.opts.Log.Warn("a checkout comes under its own lease while writes to it may be in flight", zap.Error(err))
	} else {
		defer freeze.Thaw()
	}
	n.own.Store(e.Own)
	n.role.Store(uint32(e.Role))
	f.moves.Add(1)
	f.handles.disown(f)
	f.losses.Add(1)
	f.expiry.soon()
}

// noteGitdir notes that a file is the note of a checkout.
func (f *rawFS) noteGitdir(n, dir *node, name string) {
	if f.git.on && name == "gitdir" && dir.layoutRole().IsAdmin() {
		n.gitdir.Store(true)
	}
}
