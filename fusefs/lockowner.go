package fusefs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// lockKey is who has locks on which file: the kernel's number of a process's table of
// files (fcntl) or of an open file (flock, F_OFD_*). flock(2) is a world of its own.
type lockKey struct {
	node  *node
	owner uint64
	flock bool
}

// lockOwner has an open file description of the backing file for itself. What it locks
// there is in the way of every other description: of other owners, of other mounts'
// daemons, of native processes; and it ends with the description, whatever becomes of
// the daemon. fcntl's locks are open file description locks (F_OFD_SETLK), which native
// POSIX locks respect and are respected by. Guarded by the table's mutex.
type lockOwner struct {
	key   lockKey
	fd    int
	write bool   // the description can write, as exclusive fcntl locks need
	pid   uint32 // of the process that locked last
	user  *lockUser
	spans lockSpans
	via   map[*handle]lockSpans // through which it came, and what; with the last one it ends
}

// reused reports whether the number that asks is another open file's by now. The kernel
// gives a number again as soon as the file is closed, and its RELEASE may come after what
// the next one asks for: it would take the new lock with it. Open file descriptions cannot
// be told from processes, which lock through several files: so fcntl's locks end with the
// file that they came through.
func (o *lockOwner) reused(r *lockRequest) bool {
	_, known := o.via[r.via]
	return r.key.flock && !known
}

// apply makes one attempt. EAGAIN says that somebody's lock is in the way.
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

// came keeps through which open file each lock came last.
func (o *lockOwner) came(s lockSpan, via *handle) {
	for h, spans := range o.via {
		if h == via {
			o.via[h] = spans.with(s)
		} else if len(spans) > 0 {
			o.via[h] = spans.with(lockSpan{s.start, s.end, unix.F_UNLCK})
		}
	}
}

// leave gives up what came through one open file of several.
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

// applyFlock converts as flock(2) does: the old lock is given up first, and lost where
// the new one cannot be had.
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

// widen replaces a description that can only read by one that can write. The new one
// takes the shared locks while the old one still has them, so that they are there all
// the time.
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

// flockOf is a span as fcntl(2) wants it.
func flockOf(s lockSpan) unix.Flock_t {
	l := unix.Flock_t{Type: int16(s.kind), Start: int64(s.start)}
	if s.end < wholeFile {
		l.Len = int64(s.end-s.start) + 1
	}
	return l
}

// spanOf is the span of what fcntl(2) answers.
func spanOf(l unix.Flock_t) lockSpan {
	s := lockSpan{start: uint64(l.Start), end: wholeFile, kind: uint32(l.Type)}
	if l.Len != 0 {
		s.end = s.start + uint64(l.Len) - 1
	}
	return s
}

// blocked is one answer for what file systems say in two ways.
func blocked(err error) error {
	if errors.Is(err, unix.EACCES) {
		return unix.EAGAIN
	}
	return err
}

// lockUser is what one user's locks cost.
type lockUser struct {
	uid                uint32
	descriptors, spans int
}

// lockSpansMax bounds the memory that one user's locks take, of the daemon and of the
// kernel, which charges the daemon for it.
const lockSpansMax = 1 << 16

func (u *lockUser) holds(more int) bool { return u.spans+more <= lockSpansMax }
