package fusefs

import (
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
)

// In a repository a hard link that was made behind the mount may put one inode into two
// worktrees, or into one and beside it; then all its guards must agree. Names outside of
// the source are no concern: whoever uses them does not come through the mount.

// linkAreas are the rules that a file with several names is under, found by
// looking for all of them.
type linkAreas struct {
	nlink uint64 // when they were looked for
	moves uint64
	rules []*layout.Rule
	ctime atomic.Int64 // then, or as it was left by what came through the mount since
	void  atomic.Bool  // something else has changed the file since
}

// linked says what is known of a file's names.
type linked struct {
	areas    atomic.Pointer[linkAreas]
	changing atomic.Int32  // mutations of the inode that are under way through the mount
	changes  atomic.Uint64 // all that ever were
}

// linkTries is how many walks are made for a file whose names change meanwhile.
const linkTries = 3

// linksKnown reports whether all names of a file are known, as far as they make a
// difference. What another program did to them shows in the number of links or in the
// time of change; what comes through the mount changes the latter too, but says so
// (beginChange).
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
	found, ok := f.book.lookUp(n.key, moves)
	if ok = ok && found.nlink == nlinkOf(&sx) && found.ctime == changed(&sx); ok {
		n.links.learn(found, moves)
	}
	return ok, fuse.OK
}

// mayLink reports whether a file's other names can make a difference.
func (f *rawFS) mayLink(n *node) bool { return f.opts.Layout.ByName() && !n.isDir() }

func (l *linked) learn(found linkFound, moves uint64) {
	a := &linkAreas{nlink: found.nlink, moves: moves, rules: found.rules}
	a.ctime.Store(found.ctime)
	l.areas.Store(a)
}

// learnLinks makes sure that every name of a file is known before the file is judged.
// It may walk through the whole source: whoever makes it do so has the permission to
// change the file, and was admitted by the rules that are known already.
func (f *rawFS) learnLinks(n *node) fuse.Status {
	for range linkTries {
		if known, st := f.linksKnown(n); known || st != fuse.OK {
			return st
		}
		if err := f.lookForLinks(n); err != nil {
			f.opts.Log.Debug("a file has names that could not be looked for, so it is not written", zap.Uint64("inode", n.key.ino), zap.Error(err))
			return f.refused()
		}
	}
	if known, st := f.linksKnown(n); known || st != fuse.OK {
		return st
	}
	return f.refused() // the names do not keep still
}

// lookForLinks makes one walk. What it finds is believed if nobody but this mount has
// changed the file meanwhile: a name that was moved may have been missed.
func (f *rawFS) lookForLinks(n *node) error {
	var before, after unix.Stat_t
	changes := n.links.changes.Load()
	if err := retry(func() error { return unix.Fstat(n.fd, &before) }); err != nil {
		return err
	}
	found, moves, err := f.book.walk(f, n.key)
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

// rulesIf are the rules by what is known: names that are out of date must not keep anybody
// from having them looked for.
func (n *node) rulesIf(known bool, to []*layout.Rule) []*layout.Rule {
	if known {
		return n.rules(to)
	}
	return n.seenRules(to)
}

// beginChange and endChange are around every mutation of a file's content or attributes,
// so that it is not taken for another program's. They cost a file with one name nothing.
func (n *node) beginChange() {
	changes, alone := n.links.changes.Add(1), n.links.changing.Add(1) == 1
	l := n.links.areas.Load()
	if l == nil || !alone {
		return
	}
	var st unix.Stat_t
	if unix.Fstat(n.fd, &st) == nil && changed(&st) != l.ctime.Load() && n.links.changes.Load() == changes {
		l.void.Store(true) // somebody else was here before
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

// linkedHere notes a name that a file has got through the mount, which is under the very
// rule that all others are under.
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

// nlinkOf is how many names a file has.
func nlinkOf(st *unix.Stat_t) uint64 {
	return uint64(st.Nlink) //nolint:unconvert // 32 bits on other processors
}
