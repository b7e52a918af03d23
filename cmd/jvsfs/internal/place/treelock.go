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

// A directory is served with one set of records, or two would hold it at once. Who serves
// it says with which, by a lock on the directory itself, and on all those above it that
// something below is served so. The locks are in the inodes: bind mounts, mount namespaces
// and containers do not hide them, and they end with their process. They are shared locks
// on one byte each (F_OFD_SETLK takes those through a descriptor that only reads), so that
// nobody has to wait; whoever has taken its own looks for others' afterwards, so of two at
// the same time at least one sees the other.
//
// The bytes below 2^32 are others' (fusefs).
const (
	servedFrom = int64(1) << 61 // plus the mark of the records: the directory is served with them
	belowFrom  = int64(1) << 62 // plus the mark of the records: a directory below it is
	markSpan   = int64(1) << 61
)

// TreeLock is held for as long as a directory is served, or a command works on its records.
type TreeLock struct {
	Mark  int64
	dirs  []*os.File // the directory itself first, then those above it
	Known bool       // false: not all above it could be reached
	Why   string     // they could not
}

// markOf tells sets of records apart: by their directory, and where each directory has
// records of its own in it, also by the directory that they are for.
func markOf(p Place, source, records int) (int64, error) {
	var s, r unix.Stat_t
	if err := errors.Join(unix.Fstat(source, &s), unix.Fstat(records, &r)); err != nil {
		return 0, err
	}
	text := fmt.Sprintf("%d %d", r.Dev, r.Ino)
	if p.Shape == api.ShapeDirectory {
		text += fmt.Sprintf(" %d %d %s", s.Dev, s.Ino, p.ID)
	}
	sum := sha256.Sum256([]byte(text))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 3), nil
}

// LockTree says that the directory of p, which source is, is served with the records, and
// fails if it, one above or one below is served with others. A file system that has no such
// locks is no error, for there is nothing else to be had: known is false then.
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

// kinship is where what is served otherwise lies.
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
		return nil // what there is to know of that, l says
	}
	if mark, found := l.other(l.dirs[0], belowFrom); found {
		return servedOtherwise(p, kinBelow, belowFrom+mark, mark)
	}
	return nil
}

// other finds a mark on a directory that is not our own. What cannot be asked is not there:
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

// Close lets the directory be served with other records.
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
