package fusefs

import (
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// Rules may fix what is made: once (never changed), keep (never removed), append (only grows).

// admitFixedName refuses a change of the name of something that a rule fixes.
func (f *rawFS) admitFixedName(op gate.Op, h *fuse.InHeader, s sight) fuse.Status {
	p := s.place
	if len(p.Once)+len(p.Keep)+len(p.Append) == 0 || f.born(s.path, p) {
		return fuse.OK
	}
	if exists, _ := kindAt(s.entryName); !exists {
		return fuse.OK
	}
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
// it may, while it is open.
func (f *rawFS) admitFixedNode(op gate.Op, h *fuse.InHeader, n *node) fuse.Status {
	if !f.ruled() || n.isDir() || op == gate.OpLink || n.making.Load() > 0 {
		return fuse.OK
	}
	path, ok := f.pathOfFile(n)
	if !ok {
		return fuse.OK
	}
	p := f.opts.Locks.Rules().At(path)
	if len(p.Once) > 0 && !f.born(path, p) {
		return f.refuseFixed(gate.ReasonOnce, op, h, p.Once[0], path)
	}
	return f.admitLockFile(op, h, p)
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

// admitSize refuses to truncate a file that only grows.
func (f *rawFS) admitSize(h *fuse.InHeader, n *node, size uint64) fuse.Status {
	if !f.ruled() || n.isDir() {
		return fuse.OK
	}
	path, ok := f.pathOfFile(n)
	if !ok {
		return fuse.OK
	}
	if p := f.opts.Locks.Rules().At(path); len(p.Append) > 0 && (f.door.gone() || belowEnd(n.fd, size)) {
		return f.refuseFixed(gate.ReasonAppend, gate.OpSetAttr, h, p.Append[0], path)
	}
	return fuse.OK
}

// growing is the rule by which a file may only grow; nil if there is none.
func (f *rawFS) growing(n *node) *lockfile.Rule {
	if !f.ruled() || !f.opts.Locks.Rules().SomeGrow() {
		return nil
	}
	path, ok := f.pathOfFile(n)
	if !ok {
		return nil
	}
	if p := f.opts.Locks.Rules().At(path); len(p.Append) > 0 {
		return p.Append[0]
	}
	return nil
}

// admitGrowth refuses to write below the end of a file that only grows. The end stays where it is until the call is made: the
// kernel lets one request at a time through that may move it (fuse_dio_wr_exclusive_lock, and the inode's lock for a
// truncation, fallocate and copy_file_range), and a mount with rules is the only one of its directory.
func (f *rawFS) admitGrowth(op gate.Op, h *fuse.InHeader, on *handle, off uint64) fuse.Status {
	if on.grows == nil || !f.door.gone() && !belowEnd(on.fd, off) {
		return fuse.OK
	}
	path, _ := f.pathOfFile(on.node)
	return f.refuseFixed(gate.ReasonAppend, op, h, on.grows, path)
}

func belowEnd(fd int, off uint64) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) != nil || off < uint64(max(st.Size, 0))
}
