package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Rules may fix what is made: once (never changed), keep (never removed), append (only grows).

// admitFixedName refuses a change of the name of something that a rule fixes. Where a window is open, that decides: it is in
// over, which is to be dropped when the change has been made.
func (f *rawFS) admitFixedName(op gate.Op, h *fuse.InHeader, s target) (over []guarding, st fuse.Status) {
	over = f.over(s.path, s.place)
	if len(over) == 0 || inWindow(over) || f.born(s.path, s.place) {
		return over, fuse.OK
	}
	if !s.exists {
		return over, fuse.OK
	}
	if st = f.refuseFixedName(op, h, s); st != fuse.OK {
		drop(over)
		return nil, st
	}
	return over, fuse.OK
}

func (f *rawFS) refuseFixedName(op gate.Op, h *fuse.InHeader, s target) fuse.Status {
	p := s.place
	switch {
	case len(p.Keep) > 0:
		return f.refuseFixed(gate.ReasonKeep, op, h, p.Keep[0], s.path)
	case len(p.Append) > 0:
		return f.refuseFixed(gate.ReasonAppend, op, h, p.Append[0], s.path)
	case op == gate.OpUnlink || op == gate.OpRmdir: // who collects garbage may remove what is there once
		return fuse.OK
	}
	return f.refuseFixed(gate.ReasonOnce, op, h, p.Once[0], s.path)
}

// born reports whether a path was made in a tenure that still lasts.
func (f *rawFS) born(path string, p lockfile.Place) bool {
	for _, i := range p.Guards {
		l := f.opts.Locks.Use(i)
		born := l.HasBorn(path)
		l.Done()
		if born {
			return true
		}
	}
	return false
}

// admitFixedNode refuses a change of the content or the attributes of a file that a rule lets nobody change. Whoever makes
// it may, while it is open. Where a window is open, that decides, as in admitFixedName.
func (f *rawFS) admitFixedNode(op gate.Op, h *fuse.InHeader, n *node, at inodeTarget) (over []guarding, st fuse.Status) {
	if at.place.Free() || n.IsDir() || op == gate.OpLink {
		return nil, fuse.OK
	}
	p := at.place
	over = f.over(at.path, p)
	switch making := n.making.Load() > 0; {
	case len(p.Once) > 0 && !making && !inWindow(over) && !f.born(at.path, p):
		st = f.refuseFixed(gate.ReasonOnce, op, h, p.Once[0], at.path)
	case !making:
		st = f.admitLockFile(op, h, p)
	}
	if st != fuse.OK {
		drop(over)
		return nil, st
	}
	return over, fuse.OK
}

// admitLockFile refuses to change what a lock file says that somebody else holds.
func (f *rawFS) admitLockFile(op gate.Op, h *fuse.InHeader, p lockfile.Place) fuse.Status {
	for _, i := range p.Locks {
		l := f.opts.Locks.Use(i)
		no := l.Touch(tenure.Change{Op: op, Caller: callerID(h)})
		l.Done()
		if no != nil {
			f.stats.outside.Add(1)
			return fuse.Status(no.Errno)
		}
	}
	return fuse.OK
}

func (f *rawFS) refuseFixed(why gate.Reason, op gate.Op, h *fuse.InHeader, r *lockfile.Rule, path string) fuse.Status {
	return f.refuseUnlessObserving(gate.Refusal{Reason: why, Op: op, Caller: callerID(h), Lock: &gate.LockFile{Rule: r.Name, Path: path}})
}

// admitSize refuses to truncate a file that only grows. on is the handle by which it was admitted, nil for none.
func (f *rawFS) admitSize(p *permit, h *fuse.InHeader, n *node, on *handle, size uint64) fuse.Status {
	switch {
	case !f.ruled() || n.IsDir() || inWindow(p.guarded):
		return fuse.OK
	case on != nil && (on.grows != nil || on.made):
		return f.admitGrowth(p, h, on, true, size)
	}
	if r := f.growing(n); r != nil && (f.replaceBarrier.gone() || belowEnd(n.fd, size)) {
		path, _ := f.pathOfFile(n)
		return f.refuseFixed(gate.ReasonAppend, gate.OpSetAttr, h, r, path)
	}
	return fuse.OK
}

// growing is the rule by which a file may only grow; nil if there is none.
func (f *rawFS) growing(n *node) *lockfile.Rule {
	if !f.ruled() || !f.opts.Locks.Rules().SomeGrow() {
		return nil
	}
	if at := f.inodeTargetOf(n); len(at.place.Append) > 0 {
		return at.place.Append[0]
	}
	return nil
}

func belowEnd(fd int, off uint64) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) != nil || off < uint64(max(st.Size, 0))
}
