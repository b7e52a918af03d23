package fusefs

import (
	"errors"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// In a repository, a hard link that was made behind the mount may put one inode into two worktrees,
// or into one and beside it. Then all its guards must agree. Names outside of the source do not
// matter: whoever uses them does not come through the mount.

// linkAreas are the rules of a file with several names. All its names were searched for them.
type linkAreas struct {
	nlink uint64 // when they were searched
	moves uint64
	rules []*layout.Rule
	ctime atomic.Int64 // at that time, or after later changes through the mount
	void  atomic.Bool  // something else has changed the file since
}

// linked is what is known of a file's names.
type linked struct {
	areas    atomic.Pointer[linkAreas]
	changing atomic.Int32  // mutations of the inode in flight through the mount
	changes  atomic.Uint64 // all mutations so far
}

// linkTries is how many walks are made for a file whose names change meanwhile.
const linkTries = 3

// linksKnown reports whether all names of a file are known that matter. If another program changes
// them, the number of links or the change time differs. Changes through the mount also set the
// change time, but they announce themselves (beginChange).
func (f *rawFS) linksKnown(n *node) (known bool, st fuse.Status) {
	if !f.mayLink(n) {
		return true, fuse.OK
	}
	var sx unix.Stat_t
	if err := retry(func() error { return unix.Fstat(n.fd, &sx) }); err != nil {
		return false, status(err)
	}
	if sx.Nlink <= 1 {
		n.links.areas.Store(nil)
		return true, fuse.OK
	}
	moves := f.moves.Load()
	if l := n.links.areas.Load(); l != nil && l.nlink == nlinkOf(&sx) && l.moves == moves && !l.void.Load() &&
		(l.ctime.Load() == changed(&sx) || n.links.changing.Load() > 0) {
		return true, fuse.OK
	}
	found, ok := f.hardlinks.lookUp(n.key, moves)
	if ok = ok && found.nlink == nlinkOf(&sx) && found.ctime == changed(&sx); ok {
		n.links.learn(found, moves)
	}
	return ok, fuse.OK
}

// mayLink reports whether other names of a file can matter.
func (f *rawFS) mayLink(n *node) bool {
	return f.opts.Layout.ByName() && !n.IsDir() && (!f.git.on || len(f.git.now.Load().roots) > 0)
}

func (l *linked) learn(found linkFound, moves uint64) {
	a := &linkAreas{nlink: found.nlink, moves: moves, rules: found.rules}
	a.ctime.Store(found.ctime)
	l.areas.Store(a)
}

// learnLinks makes sure that every name of a file is known before the file is judged. It may walk
// through the whole source. The caller has the permission to change the file, and the known rules
// have admitted it.
func (f *rawFS) learnLinks(n *node, who gate.Request) fuse.Status {
	for range linkTries {
		if known, st := f.linksKnown(n); known || st != fuse.OK {
			return st
		}
		err := f.lookForLinks(n, who)
		if errors.Is(err, errCallerKilled) {
			return fuse.EINTR
		}
		if err != nil {
			f.opts.Log.Debug("a file has names that could not be looked for, so it is not written", zap.Uint64("inode", n.key.Ino), zap.Error(err))
			return f.refused()
		}
	}
	if known, st := f.linksKnown(n); known || st != fuse.OK {
		return st
	}
	return f.refused() // the names change all the time
}

// lookForLinks makes one walk. The result counts only if nobody but this mount has changed the file
// meanwhile: otherwise the walk may have missed a name that moved.
func (f *rawFS) lookForLinks(n *node, who gate.Request) error {
	var before, after unix.Stat_t
	changes := n.links.changes.Load()
	if err := retry(func() error { return unix.Fstat(n.fd, &before) }); err != nil {
		return err
	}
	found, moves, err := f.hardlinks.walk(f, n.key, who)
	if err == nil {
		err = retry(func() error { return unix.Fstat(n.fd, &after) })
	}
	if err != nil {
		return err
	}
	ours := n.links.changes.Load() != changes || n.links.changing.Load() > 0
	if before.Nlink == after.Nlink && (changed(&before) == changed(&after) || ours) {
		n.links.learn(linkFound{nlink: nlinkOf(&after), ctime: changed(&after), rules: found.rules}, moves)
	}
	return nil
}

// rulesIf returns the rules as far as they are known. Outdated names must not stop anybody from
// searching for the current ones.
func (f *rawFS) rulesIf(known bool, n *node, to []*layout.Rule) []*layout.Rule {
	if known {
		to = n.rules(to)
	} else {
		to = n.SeenRules(to)
	}
	return f.resolve(to, func() (string, bool) { return f.source.Path(n.fd) }, f.rulesOfRefContent)
}

// beginChange and endChange enclose every mutation of a file's content or attributes. So it is not
// taken for a change by another program. For a file with one name they cost nothing.
func (n *node) beginChange() {
	changes, alone := n.links.changes.Add(1), n.links.changing.Add(1) == 1
	l := n.links.areas.Load()
	if l == nil || !alone {
		return
	}
	var st unix.Stat_t
	if unix.Fstat(n.fd, &st) == nil && changed(&st) != l.ctime.Load() && n.links.changes.Load() == changes {
		l.void.Store(true) // somebody else has changed it before
	}
}

func (n *node) endChange() {
	if l := n.links.areas.Load(); l != nil {
		var st unix.Stat_t
		if unix.Fstat(n.fd, &st) == nil {
			l.ctime.Store(changed(&st))
		}
	}
	n.links.changing.Add(-1)
}

// linkedHere notes a name that a file has got through the mount. It is under the same rule as all
// others.
func (f *rawFS) linkedHere(n *node, r *layout.Rule) {
	if !f.mayLink(n) {
		return
	}
	var st unix.Stat_t
	l, moves := n.links.areas.Load(), f.moves.Load()
	known := l == nil || l.moves == moves && !l.void.Load()
	if !known || unix.Fstat(n.fd, &st) != nil {
		return
	}
	if l == nil && st.Nlink == 2 || l != nil && l.nlink+1 == nlinkOf(&st) {
		n.links.learn(linkFound{nlink: nlinkOf(&st), ctime: changed(&st), rules: []*layout.Rule{r}}, moves)
	}
}

// nlinkOf returns how many names a file has.
func nlinkOf(st *unix.Stat_t) uint64 {
	return uint64(st.Nlink) //nolint:unconvert // 32 bits on other processors
}
