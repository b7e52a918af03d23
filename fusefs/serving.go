package fusefs

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// serving tells the mounts of a repository and of its worktrees about each other, in any daemon: by
// byte locks on the repository's root. The locks are on the inode, so bind mounts and containers
// see them, too, and they end with the daemon.
//
// A mount locks byteServing for life, and checks byteRenaming afterwards. A rename of a worktree's
// root locks byteRenaming, and checks byteServing for others afterwards. So one of the two sees the
// other. All locks are shared, and others' locks are queried and not tried. So no lock is
// converted, and none can be lost by a failure.
type serving struct {
	fd  int // its own open file description, -1 if no other mount matters
	old int // the same for flock, which older versions use
	// blind says that this store has no such locks. Then no root is renamed.
	blind bool
	said  bool // that was logged
}

const (
	byteServing = iota
	byteRenaming
)

// renamingWait bounds how long a mount waits for a rename by another one.
const renamingWait = 15 * time.Second

// renamingPoll is how often it looks whether that has ended.
const renamingPoll = 2 * time.Millisecond

var errRenaming = errors.New("a worktree's root is being renamed through another mount of the repository")

func newServing() serving { return serving{fd: -1, old: -1} }

// serve tells the other mounts, now and later, that this one serves. root is the repository's.
// It gives up when off is closed.
func (s *serving) serve(root int, off <-chan struct{}) (err error) {
	for _, fd := range []*int{&s.fd, &s.old} {
		if *fd, err = unix.Openat(root, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("the repository's root: %w", err)
		}
	}
	if s.lock(unix.F_RDLCK, byteServing) != nil {
		s.blind = true
	}
	for end := time.Now().Add(renamingWait); !s.blind && s.others(byteRenaming); {
		select {
		case <-time.After(renamingPoll):
		case <-off:
			return errRenaming
		}
		if time.Now().After(end) {
			return errRenaming
		}
	}
	if !tree.Flock(s.old, unix.LOCK_SH, renamingWait, off) {
		return errRenaming
	}
	return nil
}

// announce reports whether this mount may rename a worktree's root: no other mount serves. Then
// none begins to serve before withdraw.
func (s *serving) announce() bool {
	if s.blind || s.lock(unix.F_RDLCK, byteRenaming) != nil {
		return false
	}
	if s.others(byteServing) {
		s.withdraw()
		return false
	}
	return true
}

// withdraw is the end of announce, and of noneOfOld.
func (s *serving) withdraw() {
	_ = retry(func() error { return unix.Flock(s.old, unix.LOCK_SH) })
	_ = s.lock(unix.F_UNLCK, byteRenaming)
}

// noneOfOld reports whether no daemon of a version that only knows flock serves here. Such a daemon
// has the lock shared while it lives, and takes it exclusively to rename. So does this function,
// until withdraw. If that fails, our own lock may be lost for a moment (flock(2)), but daemons of
// this version do not depend on it.
func (s *serving) noneOfOld() bool {
	return retry(func() error { return unix.Flock(s.old, unix.LOCK_EX|unix.LOCK_NB) }) == nil
}

func (s *serving) lock(how int16, at int64) error {
	l := unix.Flock_t{Type: how, Start: at, Len: 1}
	return retry(func() error { return unix.FcntlFlock(uintptr(s.fd), unix.F_OFD_SETLK, &l) })
}

// others reports whether another mount has locked a byte. It is true if that is unknown.
func (s *serving) others(at int64) bool {
	l := unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1}
	err := retry(func() error { return unix.FcntlFlock(uintptr(s.fd), unix.F_OFD_GETLK, &l) })
	return err != nil || l.Type != unix.F_UNLCK
}

// close may be called again.
func (s *serving) close() {
	for _, fd := range []*int{&s.fd, &s.old} {
		_ = unix.Close(*fd) // -1 if it was never opened
		*fd = -1
	}
}

// serveFrom begins to serve a repository, or one worktree of it, by its root.
func (s *serving) serveFrom(o Options, root int) error {
	if o.Layout.ByName() {
		return s.serve(root, o.Off)
	}
	if o.Repository == "" {
		return nil
	}
	repo, err := unix.Open(o.Repository, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the repository of %s: %w", o.Source, err)
	}
	defer func() { _ = unix.Close(repo) }()
	if err := s.serve(repo, o.Off); err != nil {
		return err
	}
	return isWorktree(repo, root, o.Layout.Tree())
}

// isWorktree checks that a root is still the root of the worktree. It is called when nobody else
// can rename it any more.
func isWorktree(repo, root int, id lease.WorktreeID) error {
	name := string(id)
	if id != "main" {
		name = filepath.Join("worktrees", name)
	}
	var there, here unix.Stat_t
	err := retry(func() error { return unix.Fstatat(repo, name, &there, unix.AT_SYMLINK_NOFOLLOW) })
	if err == nil {
		err = unix.Fstat(root, &here)
	}
	if err == nil && tree.KeyOf(&there) != tree.KeyOf(&here) {
		err = errors.New("it was renamed or replaced while it was being mounted")
	}
	if err != nil {
		return fmt.Errorf("worktree %s: %w", id, err)
	}
	return nil
}
