package fusefs

import (
	"cmp"
	"errors"
	"path"
	"sync"
	"sync/atomic"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/fusefs/flock"
	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// A lock that is taken by flock(2) belongs to everybody who shares the open file. The process that asked for it may have
// ended: in a shell "exec 9>L; flock 9" the shell holds it. So the holder is the topmost process that shares the open file when
// the lock is granted, and what that has started.

// flockTenures are the tenures of owners of a flock whose file a rule tells of, by the file's number. The zero value is ready.
type flockTenures struct {
	some atomic.Bool // there was one
	of   sync.Map    // *flockTenure
}

type flockTenure struct {
	lock   *tenure.Lock
	owner  uint64
	number uint64
}

// begin notes a tenure. It ends the use of the lock of the one before.
func (t *flockTenures) begin(o flock.Owner, l *tenure.Lock, number uint64) {
	t.some.Store(true)
	if old, was := t.of.Swap(o.File, &flockTenure{l, o.Number, number}); was {
		old.(*flockTenure).lock.Done()
	}
}

// end ends the tenure of an owner of a flock, if there is one.
func (t *flockTenures) end(o flock.Owner) {
	if !o.Flock {
		return
	}
	v, _ := t.of.Load(o.File)
	if l, is := v.(*flockTenure); is && l.owner == o.Number && t.of.CompareAndDelete(o.File, l) {
		l.lock.Unlocked(l.number)
		l.lock.Done()
	}
}

// endWith ends the tenures that end with an open file, before its locks do.
func (t *flockTenures) endWith(h *handle, locks *flock.Table) {
	if _, held := t.of.Load(h.node.id); !held {
		return
	}
	for _, o := range locks.Ending(h.id) {
		t.end(o)
	}
}

// flocked returns the lock that a flock on an inode takes; nil if no rule tells of one. Done must follow. A file that
// has lost its name locks nothing.
func (f *rawFS) flocked(n *node) *tenure.Lock {
	if !f.ruled() || n.IsDir() {
		return nil
	}
	rel, ok := f.source.Path(n.fd)
	if !ok {
		return nil
	}
	for _, i := range f.opts.Locks.Rules().At(rel).Locks {
		if i.Rule.TakenBy == lockfile.ByFlock {
			return f.opts.Locks.Use(i)
		}
	}
	return nil
}

// takesFlock reports whether a request may begin a tenure.
func takesFlock(r *flock.Request) bool { return r.Flock && r.Span.Kind == unix.F_WRLCK }

// isRuledFlock reports whether a request changes the flock of a lock that a rule tells of.
func (f *rawFS) isRuledFlock(n *node, r *flock.Request) bool {
	if !r.Flock {
		return false
	}
	l := f.flocked(n)
	if l == nil {
		return false
	}
	l.Done()
	return true
}

// admitFlock refuses to take a lock over which somebody else's maintenance window is open.
func (f *rawFS) admitFlock(n *node, r *flock.Request) fuse.Status {
	if !takesFlock(r) {
		return fuse.OK
	}
	l := f.flocked(n)
	if l == nil {
		return fuse.OK
	}
	defer l.Done()
	if no := l.Barred(process.Caller{TID: r.Thread, UID: r.UID}); no != nil {
		f.stats.outside.Add(1)
		return fuse.Status(no.Errno)
	}
	return fuse.OK
}

// afterFlock begins the tenure of who has got the lock. If a window was opened meanwhile, it is given up again.
func (f *rawFS) afterFlock(n *node, r *flock.Request) fuse.Status {
	if !takesFlock(r) {
		return fuse.OK
	}
	l := f.flocked(n)
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
	is, _ := fileAt(n.fd, "")
	number, err := l.Locked(c, is)
	if no, barred := errors.AsType[*gate.Refusal](err); barred {
		l.Done()
		return cmp.Or(status(f.locks.GiveUp(*r)), fuse.Status(no.Errno))
	}
	if err != nil {
		l.Done()
		return fuse.OK
	}
	f.flocks.begin(r.Owner, l, number)
	return fuse.OK
}
