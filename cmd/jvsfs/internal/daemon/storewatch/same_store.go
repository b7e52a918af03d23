package storewatch

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/place"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/recovery"
)

// A dead mount is recovered by the paths that it had. Where the store is not mounted just now, they lead to its bare mount point on a disk of
// this host: no record there knows of a token, and what is written there is seen by no other host.

// SameStore refuses to recover a mount over another kind of file system than it was over. Call it before anything is made there.
//
// Records inside of the source are opened through it, past what is mounted there: of them the path says nothing, and where the source is the
// same, they are.
func SameStore(r *recovery.Recovery, p place.Place) error {
	root, err := typeAt(p.Root)
	if err != nil {
		return notThere(r, p.Root, err)
	}
	locks := int64(0)
	if r.State != nil && !r.Serves && p.LockDir == r.State.Locks && !host.Within(p.Root, p.LockDir) {
		if locks, err = typeAt(p.LockDir); err != nil {
			return notThere(r, p.LockDir, err)
		}
	}
	return sameStore(r, p, root, locks)
}

// notThere says that a directory that the mount was over cannot be found.
func notThere(r *recovery.Recovery, path string, err error) error {
	if r.State == nil || r.Serves { // what opens it says so
		return nil
	}
	return &api.Failure{Class: api.ClassStoreFailed, File: path, Err: err, Message: fmt.Sprintf("%s, which the mount at %s was over, cannot be found: %v", path, r.Point, err),
		Next: wayBack("put it back", r)}
}

func wayBack(first string, r *recovery.Recovery) string {
	return fmt.Sprintf("%s, then jvsfs recover %s; or jvsfs umount --bare %s, and mount what is there now", first, human.Typed(r.Point), human.Typed(r.Point))
}

// SameOpenStore is SameStore for what is open.
func SameOpenStore(r *recovery.Recovery, p place.Place, source, locks int) error {
	return sameStore(r, p, TypeOf(source), TypeOf(locks))
}

func sameStore(r *recovery.Recovery, p place.Place, source, locks int64) error {
	if r.State == nil || r.Serves {
		return nil
	}
	for _, is := range []struct {
		path, before string
		was, now     int64
	}{{p.Root, r.State.Source, r.State.SourceFS, source}, {p.LockDir, r.State.Locks, r.State.LocksFS, locks}} {
		if is.path != is.before { // another one is meant now
			continue
		}
		if is.was == 0 || is.now == 0 || is.was == is.now { // 0: of a release that did not note it, or not known
			continue
		}
		return &api.Failure{Class: api.ClassStoreFailed, File: is.path, Message: fmt.Sprintf("%s is not on the file system any more that the mount at %s was over", is.path, r.Point),
			Next: wayBack("mount that", r)}
	}
	return nil
}

// TypeOf is the type of the file system that a descriptor is on, 0 if it does not say.
func TypeOf(fd int) int64 {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return 0
	}
	return int64(st.Type) //nolint:unconvert // 32 bits on other processors
}

func typeAt(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return int64(st.Type), nil //nolint:unconvert // 32 bits on other processors
}
