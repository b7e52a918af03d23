package fusefs

import (
	"cmp"
	"path"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/flock"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// A lock that is taken by flock(2) belongs to everybody who shares the open file. The process that asked for it may have
// ended: in a shell "exec 9>L; flock 9" the shell holds it. So the holder is the topmost process that shares the open file when
// the lock is granted, and what that has started.

// endFlock ends the tenure of an owner of a flock, if there is one.
func (f *rawFS) endFlock(o flock.Owner) {
	if o.Flock {
		f.rules.EndFlock(o.File, o.Number)
	}
}

// endFlocks ends the tenures that end with an open file, before its locks do.
func (f *rawFS) endFlocks(h *handle) {
	if !f.rules.HasFlock(h.node.id) {
		return
	}
	for _, o := range f.locks.Ending(h.id) {
		f.endFlock(o)
	}
}

// takesFlock reports whether a request may begin a tenure.
func takesFlock(r *flock.Request) bool { return r.Flock && r.Span.Kind == unix.F_WRLCK }

// mayFlock refuses to take a lock over which somebody else's maintenance window is open.
func (f *rawFS) mayFlock(n *node, r *flock.Request) fuse.Status {
	if !takesFlock(r) {
		return fuse.OK
	}
	return f.answer(f.rules.MayFlock(n, process.Caller{TID: r.Thread, UID: r.UID}))
}

// afterFlock begins the tenure of who has got the lock. If a window was opened meanwhile, it is given up again.
func (f *rawFS) afterFlock(n *node, r *flock.Request) fuse.Status {
	if !takesFlock(r) {
		return fuse.OK
	}
	l := f.rules.Flocked(n)
	if l == nil {
		return fuse.OK
	}
	leave, st := f.pass(atBarrier{op: gate.OpSetLk, h: &fuse.InHeader{Caller: fuse.Caller{Owner: fuse.Owner{Uid: r.UID}, Pid: r.Thread}}, covered: func() *gate.LockFile {
		return &gate.LockFile{Rule: l.Rule.Name, Path: l.Path}
	}})
	if st != fuse.OK {
		l.Done()
		_ = f.locks.GiveUp(*r)
		return st
	}
	defer leave()
	rel, _ := f.source.Path(n.fd)
	c := process.Caller{TID: flock.TopSharer(r.Thread, path.Base(rel)), UID: r.UID}
	if no := f.rules.BeginFlock(l, n, c, r.File, r.Number); no != nil {
		return cmp.Or(status(f.locks.GiveUp(*r)), fuse.Status(no.Errno))
	}
	return fuse.OK
}
