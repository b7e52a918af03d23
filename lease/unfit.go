package lease

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// Elsewhere is the way out of a lock directory whose file system lacks what leases stand on.
const Elsewhere = "keep the lease records on another file system (--control DIR)"

// absent are the answers of link(2) and flock(2) where the file system has no such thing. EPERM is vfat's, and the FUSE client's,
// to root as well: for a file that the caller has just made it means nothing else.
var absent = []error{unix.EPERM, unix.EOPNOTSUPP, unix.ENOSYS, unix.EMLINK, unix.ENOLCK}

// Lacks reports whether err, of link(2) or flock(2) in a lock directory, says that its file system has no such thing.
func Lacks(err error) bool {
	return slices.ContainsFunc(absent, func(e error) bool { return errors.Is(err, e) })
}

// Unfit is the error of a lock directory whose file system has no links, or no locks: err of one of them, which it was asked for.
func (d *Dir) Unfit(thing string, err error) *Error {
	e := &Error{Class: ClassStoreFailed, File: d.path, Message: "the file system of the lock directory has no " + thing, Err: err, Next: Elsewhere}
	if errors.Is(err, unix.ENOLCK) { // NFS without its lock manager says so, too
		e.Next = "if it has had them, look at its lock manager (NFS: rpc.statd, lockd); otherwise " + Elsewhere
	}
	return e
}

// failedOrUnfit is failed for link(2) and flock(2), which not every file system has.
func (s *Store) failedOrUnfit(thing, what, name string, err error) *Error {
	if !Lacks(err) {
		return s.failed(what, name, err)
	}
	e := s.dir.Unfit(thing, err)
	e.Worktree = s.id
	return e
}
