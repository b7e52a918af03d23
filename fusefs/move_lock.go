package fusefs

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// moveLock is between what is guarded and where anybody may write (gate.Exempt). What is admitted for its place shares it from the moment
// the place is looked up until the mutation has taken effect; what may take an inode to the other side, a rename or a hard link, has it
// alone. So a stranger's write is over before the file comes under the guard, or finds it there.
//
// It is taken after the lease has admitted a mutation, never before: nobody waits for a lease while others wait for the move lock.
type moveLock struct {
	on bool // there are rules; otherwise nothing here is used
	mu turnLock
	// common is a directory that all mounts of a worktree have in common, -1 for none.
	// Each mutation has a flock on it besides, for the other mounts' sake.
	common int
	wait   time.Duration                                 // moveLockWait
	away   func(r gate.Request, off func()) (end func()) // who waits for the move lock gives its thread up meanwhile
	spare  chan int                                      // open files of it: each has a lock of its own
}

// moveLocksMax is how many open files are kept for the locks of mutations to come.
const moveLocksMax = 16

// moveLockWait bounds the wait for other mounts: a daemon may be stopped at the move lock.
const moveLockWait = 2 * time.Second

func newMoveLock(on bool) moveLock {
	return moveLock{on: on, common: -1, wait: moveLockWait, spare: make(chan int, moveLocksMax)}
}

// ShareBorder takes a directory that all mounts of a worktree have in common. There they agree who
// may move what while others write to exempt places. It must be called before Mount. The error is
// ErrMixed if another mount there has a move lock and this one has none, or the other way round.
func (s *Server) ShareBorder(dirfd int) error {
	b := &s.fs.moveLock
	fd, err := unix.Openat(dirfd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("lock directory: %w", err)
	}
	b.common = fd
	if err = b.join(); err == nil || !b.on && !errors.Is(err, ErrMixed) {
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

func (l *moveLock) join() error {
	mine, others := int64(byteWithout), int64(byteWith)
	if l.on {
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

// take waits for the move lock. pass is what release wants back.
func (l *moveLock) take(alone bool, who gate.Request) (pass int, ok bool) {
	if !l.lock(alone, who) {
		return -1, false
	}
	if pass, ok = l.agree(alone, who); !ok {
		l.mu.unlock(alone)
	}
	return pass, ok
}

func (l *moveLock) release(pass int, alone bool) {
	l.part(pass)
	l.mu.unlock(alone)
}

// lock waits for the mount's own lock. It returns false if the caller is being killed.
func (l *moveLock) lock(alone bool, who gate.Request) bool {
	if l.mu.try(alone) {
		return true
	}
	off, end := l.waits(who)
	defer end()
	return l.mu.lock(alone, off)
}

// waits begins a wait of a request. off is closed when its caller is being killed. Only the file system's own lock has anybody to tell.
func (l *moveLock) waits(who gate.Request) (off <-chan struct{}, end func()) {
	called := make(chan struct{})
	if l.away == nil {
		return called, func() {}
	}
	return called, l.away(who, func() { close(called) })
}

// agree takes the lock that other mounts look at.
func (l *moveLock) agree(alone bool, who gate.Request) (fd int, ok bool) {
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
	if flockWithin(fd, how, 0, nil) {
		return fd, true
	}
	off, end := l.waits(who)
	ok = flockWithin(fd, how, l.wait, off)
	if end(); ok {
		return fd, true
	}
	_ = unix.Close(fd)
	return -1, false
}

func (l *moveLock) part(fd int) {
	if fd < 0 {
		return
	}
	if retry(func() error { return unix.Flock(fd, unix.LOCK_UN) }) == nil {
		select {
		case l.spare <- fd:
			return
		default:
		}
	}
	_ = unix.Close(fd)
}

// flockWithin polls: a thread that waits in flock(2) cannot be called off.
func flockWithin(fd, how int, d time.Duration, off <-chan struct{}) bool {
	end := time.Now().Add(d)
	for pause := 10 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		switch err := unix.Flock(fd, how|unix.LOCK_NB); {
		case err == nil:
			return true
		case err != unix.EWOULDBLOCK && err != unix.EINTR, time.Now().After(end):
			return false
		}
		select {
		case <-time.After(pause):
		case <-off:
			return false
		}
	}
}

func (l *moveLock) close() {
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

// exemptPlace is the place of one mutation, for the gate to ask about. It implements
// gate.Place. nil is that of a mutation that no rule can admit.
type exemptPlace struct {
	b     *moveLock
	who   gate.Request // it waits at the move lock until its caller is killed
	alone bool         // the mutation may take an inode to the other side
	find  func(*exemptPlace) gate.Where

	held  bool
	pass  int
	found gate.Where // what the gate agreed to
	// dies is an inode that loses its last name by the mutation.
	dies *node
}

func newExemptPlace(f *rawFS, alone bool, find func(*exemptPlace) gate.Where) *exemptPlace {
	return &exemptPlace{b: &f.moveLock, alone: alone, find: find}
}

// nowhere is the place of what lies under several guards.
func nowhere(*exemptPlace) gate.Where { return gate.Where{} }

// Hold implements gate.Place.
func (s *exemptPlace) Hold(ok func(gate.Where) bool) bool {
	was := s.held
	if !s.take() {
		return false
	}
	if w := s.find(s); ok(w) {
		s.found = w
		return true
	}
	if !was {
		s.Release()
	}
	return false
}

// take has the move lock from now on, whatever admitted the mutation.
func (s *exemptPlace) take() bool {
	if s == nil || s.held {
		return true
	}
	s.pass, s.held = s.b.take(s.alone, s.who)
	return s.held
}

// Release implements gate.Place.
func (s *exemptPlace) Release() {
	if s != nil && s.held {
		s.held = false
		s.b.release(s.pass, s.alone)
	}
}
