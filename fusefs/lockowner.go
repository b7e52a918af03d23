package fusefs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lockKey says who has locks on which file: the kernel's number of a process's table of files
// (fcntl), or of an open file (flock, F_OFD_*). flock(2) locks are separate from the others.
type lockKey struct {
	node  *node
	owner uint64
	flock bool
}

// lockOwner has its own open file description of the backing file. Its locks conflict with those of
// every other description: of other owners, of other mounts' daemons, of native processes. They end
// with the description, even if the daemon is killed. fcntl's locks become open file description
// locks (F_OFD_SETLK), which conflict with native POSIX locks. Guarded by the table's mutex.
type lockOwner struct {
	key   lockKey
	fd    int
	write bool   // the description can write; exclusive fcntl locks need that
	pid   uint32 // of the process that locked last
	user  *lockUser
	spans lockSpans
	via   map[*handle]lockSpans // the open files that it locked through, and what; it ends with the last one
}

// reused reports whether the number now belongs to another open file. The kernel reuses a number as
// soon as the file is closed. The RELEASE of the old file may come after a request of the new one,
// and would end the new lock. Open file descriptions cannot be told from processes, which lock
// through several files. So fcntl's locks end with the file that they came through.
func (o *lockOwner) reused(r *lockRequest) bool {
	_, known := o.via[r.via]
	return r.key.flock && !known
}

// apply makes one attempt. EAGAIN says that another lock is in the way.
func (o *lockOwner) apply(s lockSpan, via *handle) error {
	if o.key.flock {
		return o.applyFlock(s)
	}
	if s.kind != unix.F_UNLCK && !o.user.holds(2) {
		return unix.ENOLCK
	}
	l := flockOf(s)
	if err := retry(func() error { return unix.FcntlFlock(uintptr(o.fd), unix.F_OFD_SETLK, &l) }); err != nil {
		return blocked(err)
	}
	o.note(s)
	o.came(s, via)
	return nil
}

// came notes through which open file each lock came last.
func (o *lockOwner) came(s lockSpan, via *handle) {
	for h, spans := range o.via {
		if h == via {
			o.via[h] = spans.with(s)
		} else if len(spans) > 0 {
			o.via[h] = spans.with(lockSpan{s.start, s.end, unix.F_UNLCK})
		}
	}
}

// leave ends the locks that came through one open file of several.
func (o *lockOwner) leave(h *handle) error {
	for _, s := range o.via[h] {
		s.kind = unix.F_UNLCK
		l := flockOf(s)
		if err := retry(func() error { return unix.FcntlFlock(uintptr(o.fd), unix.F_OFD_SETLK, &l) }); err != nil {
			return err
		}
		o.note(s)
	}
	delete(o.via, h)
	return nil
}

// applyFlock converts as flock(2) does: the old lock is released first. If the new one cannot be
// had, the old one is lost.
func (o *lockOwner) applyFlock(s lockSpan) error {
	how := map[uint32]int{unix.F_RDLCK: unix.LOCK_SH, unix.F_WRLCK: unix.LOCK_EX, unix.F_UNLCK: unix.LOCK_UN}[s.kind]
	s.start, s.end = 0, wholeFile
	err := retry(func() error { return unix.Flock(o.fd, how|unix.LOCK_NB) })
	if err == nil {
		o.note(s)
	} else if len(o.spans) > 0 && o.spans[0].kind != s.kind {
		o.note(lockSpan{0, wholeFile, unix.F_UNLCK})
	}
	return blocked(err)
}

// note keeps the copy of what the kernel has.
func (o *lockOwner) note(s lockSpan) {
	before := len(o.spans)
	o.spans = o.spans.with(s)
	o.user.spans += len(o.spans) - before
}

// widen replaces a read-only description by one that can write. The new one takes the shared locks
// while the old one still has them, so there is no gap.
func (o *lockOwner) widen(fd int) error {
	for _, s := range o.spans {
		l := flockOf(s)
		if err := unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &l); err != nil {
			return blocked(err)
		}
	}
	_ = unix.Close(o.fd)
	o.fd, o.write = fd, true
	return nil
}

// flockOf converts a span for fcntl(2).
func flockOf(s lockSpan) unix.Flock_t {
	l := unix.Flock_t{Type: int16(s.kind), Start: int64(s.start)}
	if s.end < wholeFile {
		l.Len = int64(s.end-s.start) + 1
	}
	return l
}

// spanOf converts an answer of fcntl(2).
func spanOf(l unix.Flock_t) lockSpan {
	s := lockSpan{start: uint64(l.Start), end: wholeFile, kind: uint32(l.Type)}
	if l.Len != 0 {
		s.end = s.start + uint64(l.Len) - 1
	}
	return s
}

// blocked makes one answer of the two that file systems give.
func blocked(err error) error {
	if errors.Is(err, unix.EACCES) {
		return unix.EAGAIN
	}
	return err
}

// lockUser counts the locks of one user.
type lockUser struct {
	uid                uint32
	descriptors, spans int
}

// lockSpansMax bounds the memory of one user's locks, in the daemon and in the kernel, which
// charges the daemon.
const lockSpansMax = 1 << 16

func (u *lockUser) holds(more int) bool { return u.spans+more <= lockSpansMax }
