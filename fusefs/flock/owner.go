package flock

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Owner says who has locks on which file: the kernel's number of a process's table of files
// (fcntl), or of an open file (flock, F_OFD_*). flock(2) locks are separate from the others.
type Owner struct {
	File   uint64 // the file's number as long as somebody has it open
	Number uint64
	Flock  bool
}

// owner has its own open file description of the backing file. Its locks conflict with those of every other description: of other owners,
// of other mounts' daemons, of native processes. They end with the description, even if the daemon is killed. fcntl's locks become open
// file description locks (F_OFD_SETLK), which conflict with native POSIX locks. Guarded by the table's mutex.
type owner struct {
	Owner
	fd    int
	write bool   // the description can write; exclusive fcntl locks need that
	pid   uint32 // of the process that locked last
	user  *user
	spans spans
	via   map[uint64]spans // the open files that it locked through, by number, and what; it ends with the last one
}

// reused reports whether the number now belongs to another open file. The kernel reuses a number as soon as the file is closed. The RELEASE
// of the old file may come after a request of the new one, and would end the new lock. Open file descriptions cannot be told from
// processes, which lock through several files. So fcntl's locks end with the file that they came through.
func (o *owner) reused(r *Request) bool {
	_, known := o.via[r.Open.Number]
	return r.Flock && !known
}

// apply makes one attempt. EAGAIN says that another lock is in the way.
func (o *owner) apply(s Span, open uint64) error {
	if o.Flock {
		return o.applyFlock(s)
	}
	if s.Kind != unix.F_UNLCK && !o.user.holds(2) {
		return unix.ENOLCK
	}
	l := flockOf(s)
	if err := uninterrupted(func() error { return unix.FcntlFlock(uintptr(o.fd), unix.F_OFD_SETLK, &l) }); err != nil {
		return blocked(err)
	}
	o.note(s)
	o.came(s, open)
	return nil
}

// came notes through which open file each lock came last.
func (o *owner) came(s Span, open uint64) {
	for h, spans := range o.via {
		if h == open {
			o.via[h] = spans.with(s)
		} else if len(spans) > 0 {
			o.via[h] = spans.with(Span{s.Start, s.End, unix.F_UNLCK})
		}
	}
}

// leave ends the locks that came through one open file of several.
func (o *owner) leave(open uint64) error {
	for _, s := range o.via[open] {
		s.Kind = unix.F_UNLCK
		l := flockOf(s)
		if err := uninterrupted(func() error { return unix.FcntlFlock(uintptr(o.fd), unix.F_OFD_SETLK, &l) }); err != nil {
			return err
		}
		o.note(s)
	}
	delete(o.via, open)
	return nil
}

// applyFlock converts as flock(2) does: the old lock is released first. If the new one cannot be had, the old one is lost.
func (o *owner) applyFlock(s Span) error {
	how := map[uint32]int{unix.F_RDLCK: unix.LOCK_SH, unix.F_WRLCK: unix.LOCK_EX, unix.F_UNLCK: unix.LOCK_UN}[s.Kind]
	s.Start, s.End = 0, WholeFile
	err := uninterrupted(func() error { return unix.Flock(o.fd, how|unix.LOCK_NB) })
	if err == nil {
		o.note(s)
	} else if len(o.spans) > 0 && o.spans[0].Kind != s.Kind {
		o.note(Span{0, WholeFile, unix.F_UNLCK})
	}
	return blocked(err)
}

// note keeps the copy of what the kernel has.
func (o *owner) note(s Span) {
	before := len(o.spans)
	o.spans = o.spans.with(s)
	o.user.spans += len(o.spans) - before
}

// widen replaces a read-only description by one that can write. The new one takes the shared locks
// while the old one still has them, so there is no gap.
func (o *owner) widen(fd int) error {
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
func flockOf(s Span) unix.Flock_t {
	l := unix.Flock_t{Type: int16(s.Kind), Start: int64(s.Start)}
	if s.End < WholeFile {
		l.Len = int64(s.End-s.Start) + 1
	}
	return l
}

// spanOf converts an answer of fcntl(2).
func spanOf(l unix.Flock_t) Span {
	s := Span{Start: uint64(l.Start), End: WholeFile, Kind: uint32(l.Type)}
	if l.Len != 0 {
		s.End = s.Start + uint64(l.Len) - 1
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

// user counts the locks of one user.
type user struct {
	uid                uint32
	descriptors, spans int
}

// spansMax bounds the memory of one user's locks, in the daemon and in the kernel, which charges the daemon.
const spansMax = 1 << 16

func (u *user) holds(more int) bool { return u.spans+more <= spansMax }
