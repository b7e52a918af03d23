package lease

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"
)

// Elsewhere is what to do if the lock directory's file system has no links or locks.
const Elsewhere = "keep the lease records on another file system (--control DIR)"

// absent are the errors of link(2) and flock(2) on a file system that does not have them. EPERM comes from vfat and FUSE, for root,
// too. For a file that the caller has just made it has no other meaning.
var absent = []error{unix.EPERM, unix.EOPNOTSUPP, unix.ENOSYS, unix.EMLINK, unix.ENOLCK}

// Lacks reports whether err, of link(2) or flock(2) in a lock directory, says that the file system does not have them.
func Lacks(err error) bool {
	return slices.ContainsFunc(absent, func(e error) bool { return errors.Is(err, e) })
}

// Unfit is the error for a lock directory whose file system has no thing (links or locks). err is that of the call.
func (d *Dir) Unfit(thing string, err error) *Error {
	e := &Error{Class: ClassStoreFailed, File: d.path, Message: "the file system of the lock directory has no " + thing, Err: err, Next: Elsewhere}
	if errors.Is(err, unix.ENOLCK) { // NFS without its lock manager answers so, too
		e.Next = "if it has had them, look at its lock manager (NFS: rpc.statd, lockd); otherwise " + Elsewhere
	}
	return e
}

// failedOrUnfit is failed, or Unfit, for link(2) and flock(2): some file systems do not have them.
func (s *Store) failedOrUnfit(thing, what, name string, err error) *Error {
	if !Lacks(err) {
		return s.failed(what, name, err)
	}
	e := s.dir.Unfit(thing, err)
	e.Worktree = s.id
	return e
}
