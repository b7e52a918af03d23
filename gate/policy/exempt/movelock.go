package exempt

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// MoveLock is between what is guarded and where anybody may write (gate.Exempt). What is admitted for its place shares it from the moment
// the place is looked up until the mutation has taken effect; what may take an inode to the other side, a rename or a hard link, has it
// alone. So a stranger's write is over before the file comes under the guard, or finds it there.
//
// It is taken after the lease has admitted a mutation, never before: nobody waits for a lease while others wait for the move lock.
type MoveLock struct {
	On bool // there are rules; otherwise nothing here is used
	mu turnLock
	// common is a directory that all mounts of a worktree have in common, -1 for none.
	// Each mutation has a flock on it besides, for the other mounts' sake.
	common int
	Wait   time.Duration     // for other mounts: otherwise 2 s
	modes  *gate.Enforcement // who waits for the move lock gives its thread up meanwhile
	spare  chan int          // open files of it: each has a lock of its own
}

// moveLocksMax is how many open files are kept for the locks of mutations to come.
const moveLocksMax = 16

// moveLockWait bounds the wait for other mounts: a daemon may be stopped at the move lock.
const moveLockWait = 2 * time.Second

// NewMoveLock returns the lock of a mount. Close must follow.
func NewMoveLock(on bool, e *gate.Enforcement) *MoveLock {
	return &MoveLock{On: on, common: -1, Wait: moveLockWait, modes: e, spare: make(chan int, moveLocksMax)}
}

// Share takes a directory that all mounts of a worktree have in common. There they agree who
// may move what while others write to exempt places. Nothing is served yet. The error is
// ErrMixed if another mount there has a move lock and this one has none, or the other way round.
func (l *MoveLock) Share(dirfd int) error {
	fd, err := unix.Openat(dirfd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("lock directory: %w", err)
	}
	l.common = fd
	if err = l.join(); err == nil || !l.On && !errors.Is(err, ErrMixed) {
		return nil // who has no rules needs no locks, where there can be none
	}
	return fmt.Errorf("exempt paths: %w", err)
}

// ErrMixed says that mounts of one worktree disagree whether there are exempt paths.
var ErrMixed = errors.New("mounts of the same worktrees must all have exempt paths, or none of them")

// A mount that has rules and one that has none cannot serve one worktree: who knows of no move lock would move things to the other side
// while a stranger's write is under way. So each says which it is, for life, by a lock on a byte of the common directory that nobody else
// has to wait for, and looks for the others' afterwards.
const (
	byteWithout = iota
	byteWith
)

func (l *MoveLock) join() error {
	mine, others := int64(byteWithout), int64(byteWith)
	if l.On {
		mine, others = others, mine
	}
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: mine, Len: 1}
	if err := unix.FcntlFlock(uintptr(l.common), unix.F_OFD_SETLK, &lock); err != nil {
		return err
	}
	lock = unix.Flock_t{Type: unix.F_WRLCK, Start: others, Len: 1}
	if err := unix.FcntlFlock(uintptr(l.common), unix.F_OFD_GETLK, &lock); err != nil {
		return err
	}
	if lock.Type != unix.F_UNLCK {
		return ErrMixed
	}
	return nil
}

// Take waits for the move lock. pass is what Release wants back.
func (l *MoveLock) Take(alone bool, who gate.Request) (pass int, ok bool) {
	if !l.lock(alone, who) {
		return -1, false
	}
	if pass, ok = l.agree(alone, who); !ok {
		l.mu.unlock(alone)
	}
	return pass, ok
}

// Release gives the move lock back.
func (l *MoveLock) Release(pass int, alone bool) {
	l.part(pass)
	l.mu.unlock(alone)
}

// lock waits for the mount's own lock. It returns false if the caller is being killed.
func (l *MoveLock) lock(alone bool, who gate.Request) bool {
	if l.mu.try(alone) {
		return true
	}
	off, end := l.modes.Wait(who)
	defer end()
	return l.mu.lock(alone, off)
}

// agree takes the lock that other mounts look at.
func (l *MoveLock) agree(alone bool, who gate.Request) (fd int, ok bool) {
	if l.common < 0 {
		return -1, true
	}
	select {
	case fd = <-l.spare:
	default:
		var err error
		if fd, err = unix.Openat(l.common, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return -1, false
		}
	}
	how := unix.LOCK_SH
	if alone {
		how = unix.LOCK_EX
	}
	if tree.Flock(fd, how, 0, nil) {
		return fd, true
	}
	off, end := l.modes.Wait(who)
	ok = tree.Flock(fd, how, l.Wait, off)
	if end(); ok {
		return fd, true
	}
	_ = unix.Close(fd)
	return -1, false
}

func (l *MoveLock) part(fd int) {
	if fd < 0 {
		return
	}
	if tree.Flock(fd, unix.LOCK_UN, 0, nil) {
		select {
		case l.spare <- fd:
			return
		default:
		}
	}
	_ = unix.Close(fd)
}

// Busy reports whether somebody has it alone, or is about to.
func (l *MoveLock) Busy() bool {
	free := l.mu.try(false)
	if free {
		l.mu.unlock(false)
	}
	return !free
}

// Close frees what is held. Nothing is served any more.
func (l *MoveLock) Close() {
	for {
		select {
		case fd := <-l.spare:
			_ = unix.Close(fd)
			continue
		default:
		}
		_ = unix.Close(l.common) // -1 if it was never opened
		return
	}
}
