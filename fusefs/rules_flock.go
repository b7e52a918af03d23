package fusefs

import (
	"cmp"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
)

// A lock that is taken by flock(2) belongs to everybody who shares the open file. The process that asked for it may have
// ended: in a shell "exec 9>L; flock 9" the shell holds it. So the holder is the topmost process that shares the open file when
// the lock is granted, and what that has started.

// flocked returns the lock that a flock on an inode takes; nil if no rule tells of one. Done must follow. A file that
// has lost its name locks nothing.
func (f *rawFS) flocked(n *node) *tenure.Lock {
	if !f.ruled() || n.isDir() {
		return nil
	}
	rel, ok := f.relOfNode(n)
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

// ofFlock reports whether a request changes the flock of a lock that a rule tells of.
func (f *rawFS) ofFlock(r *lockRequest) bool {
	if !f.ruled() || !r.key.flock {
		return false
	}
	l := f.flocked(r.key.node)
	if l == nil {
		return false
	}
	l.Done()
	return true
}

// beforeFlock ends the tenure that a request gives up, while the lock still keeps others out.
func (f *rawFS) beforeFlock(r *lockRequest) {
	if r.key.flock && r.span.kind != unix.F_WRLCK {
		f.endFlock(r.key)
	}
}

// endFlock ends the tenure of an owner of a flock.
func (f *rawFS) endFlock(k lockKey) {
	if !f.ruled() || !k.flock {
		return
	}
	if l := k.node.flock.Load(); l != nil && l.owner == k.owner && k.node.flock.CompareAndSwap(l, nil) {
		l.lock.Unlocked(l.number)
		l.lock.Done()
	}
}

// flockTenure is the tenure of an owner of a flock.
type flockTenure struct {
	lock   *tenure.Lock
	owner  uint64
	number uint64
}

// admitFlock refuses to take a lock over which somebody else's maintenance window is open.
func (f *rawFS) admitFlock(r *lockRequest) fuse.Status {
	if !r.key.flock || r.span.kind != unix.F_WRLCK {
		return fuse.OK
	}
	l := f.flocked(r.key.node)
	if l == nil {
		return fuse.OK
	}
	defer l.Done()
	if no := l.Barred(process.Caller{TID: r.thread, UID: r.uid}); no != nil {
		f.stats.outside.Add(1)
		return fuse.Status(no.Errno)
	}
	return fuse.OK
}

// afterFlock begins the tenure of who has got the lock. If a window was opened meanwhile, it is given up again.
func (f *rawFS) afterFlock(r *lockRequest) fuse.Status {
	if !r.key.flock || r.span.kind != unix.F_WRLCK {
		return fuse.OK
	}
	l := f.flocked(r.key.node)
	if l == nil {
		return fuse.OK
	}
	leave, st := f.passFlock(r, l)
	if st != fuse.OK {
		l.Done()
		r.span.kind = unix.F_UNLCK
		_ = f.locks.try(f, r, nil)
		return st
	}
	defer leave()
	c := process.Caller{TID: topSharer(r.thread, f.pathForPeople(r.key.node)), UID: r.uid}
	is, _ := fileAt(r.key.node.fd, "")
	number, err := l.Locked(c, is)
	if no, barred := errors.AsType[*gate.Refusal](err); barred {
		l.Done()
		back := *r
		back.span.kind = unix.F_UNLCK
		return cmp.Or(status(f.locks.try(f, &back, nil)), fuse.Status(no.Errno))
	}
	if err != nil {
		l.Done()
		return fuse.OK
	}
	if old := r.key.node.flock.Swap(&flockTenure{l, r.key.owner, number}); old != nil {
		old.lock.Done()
	}
	return fuse.OK
}

func (f *rawFS) passFlock(r *lockRequest, l *tenure.Lock) (leave func(), st fuse.Status) {
	return f.pass(atDoor{op: gate.OpSetLk, h: &fuse.InHeader{Caller: fuse.Caller{Owner: fuse.Owner{Uid: r.uid}, Pid: r.thread}}, covered: func() *gate.LockFile {
		return &gate.LockFile{Rule: l.Rule.Name, Path: l.Path}
	}})
}

// pathForPeople is the last component of a file's path, as /proc shows it.
func (f *rawFS) pathForPeople(n *node) string {
	rel, _ := f.relOfNode(n)
	return path.Base(rel)
}

// sharersMax bounds the walk to the topmost process that shares an open file.
const sharersMax = 64

// topSharer walks from a thread upwards as long as the parent shares one of its open files of that name.
func topSharer(tid uint32, name string) uint32 {
	at := int(tid)
	fds := filesCalled(at, name)
	for range sharersMax {
		st, err := process.ReadStat(at)
		if err != nil || st.PPID <= 1 {
			break
		}
		if !shareOpenFile(at, fds, st.PPID, filesCalled(st.PPID, name)) {
			break
		}
		at, fds = st.PPID, filesCalled(st.PPID, name)
	}
	return uint32(at)
}

// filesCalled are the descriptors of a process whose files have a name. It asks no file system, which may be this one.
func filesCalled(pid int, name string) (fds []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil || filepath.Base(strings.TrimSuffix(target, " (deleted)")) != name {
			continue
		}
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds
}

// kcmpFile is KCMP_FILE: whether two descriptors are of one open file. Source: kcmp(2).
const kcmpFile = 0

func shareOpenFile(a int, ofA []int, b int, ofB []int) bool {
	for _, x := range ofA {
		for _, y := range ofB {
			r, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpFile, uintptr(x), uintptr(y), 0)
			if errno == 0 && r == 0 {
				return true
			}
		}
	}
	return false
}

// endFlocks ends the tenures that end with an open file, before its locks do.
func (f *rawFS) endFlocks(h *handle) {
	if !f.ruled() || !h.locked.Load() || h.node.flock.Load() == nil {
		return
	}
	f.locks.mu.Lock()
	var owners []lockKey
	for o := range h.lockers {
		if len(o.via) == 1 {
			owners = append(owners, o.key)
		}
	}
	f.locks.mu.Unlock()
	for _, k := range owners {
		f.endFlock(k)
	}
}
