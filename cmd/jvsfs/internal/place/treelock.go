package place

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
)

// A directory must be served with one set of records, or it could have two holders at once. A daemon that
// serves it shows its records by a lock on the directory. By a lock on each directory above, it shows that a
// directory below is served with them. The locks are on the inodes: bind mounts, mount namespaces and
// containers do not hide them, and they end with their process. They are shared locks on one byte each, which
// F_OFD_SETLK takes through a read-only descriptor, so nobody has to wait. A daemon first takes its own locks
// and then looks for others. So of two at the same time at least one sees the other.
//
// fusefs uses the bytes below 2^32.
const (
	servedFrom = int64(1) << 61 // plus the mark of the records: the directory is served with them
	belowFrom  = int64(1) << 62 // plus the mark of the records: a directory below it is
	markSpan   = int64(1) << 61
)

// TreeLock is held while a directory is served, or while a command works on its records.
type TreeLock struct {
	Mark  int64
	dirs  []*os.File // the directory itself first, then those above it
	Known bool       // false: not all above it could be reached
	Why   string     // they could not
	rules int64      // the mark of the rules, see LockRules
}

// markOf identifies a set of records by its directory. If that has records of several directories, the
// directory for which they are counts, too.
func markOf(p Place, source, records int) (int64, error) {
	var s, r unix.Stat_t
	if err := errors.Join(unix.Fstat(source, &s), unix.Fstat(records, &r)); err != nil {
		return 0, err
	}
	text := fmt.Sprintf("%d %d", r.Dev, r.Ino)
	if p.Shape == api.ShapeDirectory {
		text += fmt.Sprintf(" %d %d %s", s.Dev, s.Ino, p.ID)
	}
	text += p.PartsText()
	sum := sha256.Sum256([]byte(text))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 3), nil
}

// LockTree shows that the directory of p, opened as source, is served with these records. It fails if this
// directory, one above or one below is served with others. It is no error if the file system has no such locks,
// because there is no other way: Known is false then.
func LockTree(p Place, source, records int) (*TreeLock, error) {
	l := &TreeLock{Known: true}
	var err error
	if l.Mark, err = markOf(p, source, records); err != nil {
		return nil, err
	}
	l.dirs, err = host.OpenUpwards(p.Root, source)
	if err != nil {
		l.unknown(err)
	}
	if err = l.take(); err == nil {
		err = l.look(p)
	}
	if err == nil {
		err = servedUnlocked(p, l)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *TreeLock) unknown(err error) { l.Known, l.Why = false, err.Error() }

func (l *TreeLock) take() error {
	for i, dir := range l.dirs {
		from := belowFrom
		if i == 0 {
			from = servedFrom
		}
		lock := unix.Flock_t{Type: unix.F_RDLCK, Start: from + l.Mark, Len: 1}
		err := retryInterrupted(func() error { return unix.FcntlFlock(dir.Fd(), unix.F_OFD_SETLK, &lock) })
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return &api.Failure{Class: api.ClassBusy, Message: fmt.Sprintf("somebody holds a lock on %s that keeps it from being served", dir.Name()),
				Next: "see who has it: lslocks; end that", Err: err}
		case err != nil:
			l.unknown(fmt.Errorf("%s cannot be locked: %w", dir.Name(), err))
		}
	}
	return nil
}

// kinship is the relation to a directory that is served with other records.
type kinship string

// How the directory lies to the other.
const (
	KinSame  kinship = "is"
	KinAbove kinship = "lies in a directory that is"
	kinBelow kinship = "has a directory below it that is"
)

// look searches for the marks of other records.
func (l *TreeLock) look(p Place) error {
	for i, dir := range l.dirs {
		kin := KinSame
		if i > 0 {
			kin = KinAbove
		}
		if mark, found := l.other(dir, servedFrom); found {
			return servedOtherwise(p, kin, servedFrom+mark, mark)
		}
	}
	if len(l.dirs) == 0 {
		return nil // l says what is known
	}
	if mark, found := l.other(l.dirs[0], belowFrom); found {
		return servedOtherwise(p, kinBelow, belowFrom+mark, mark)
	}
	return nil
}

// other finds a mark on a directory that is not ours. A directory that cannot be checked counts as unmarked;
// take has noted it.
func (l *TreeLock) other(dir *os.File, from int64) (mark int64, found bool) {
	for _, r := range [][2]int64{{0, l.Mark}, {l.Mark + 1, markSpan}} {
		if r[0] >= r[1] {
			continue
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK, Start: from + r[0], Len: r[1] - r[0]}
		err := retryInterrupted(func() error { return unix.FcntlFlock(dir.Fd(), unix.F_OFD_GETLK, &lock) })
		if err == nil && lock.Type != unix.F_UNLCK {
			return max(lock.Start-from, 0), true
		}
	}
	return 0, false
}

// Close allows others to serve the directory with other records.
func (l *TreeLock) Close() {
	if l == nil {
		return
	}
	for _, dir := range l.dirs {
		host.CloseFile(dir)
	}
	l.dirs = nil
}

func retryInterrupted(f func() error) error {
	for {
		if err := f(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
