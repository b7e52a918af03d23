package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// gateLock is the gate and the turn of rule 4, as one keeper has them. It shares no open file description. One goroutine at a time.
type gateLock struct {
	store *Store
	gate  lockFD
	turn  lockFD
}

// lockFD is one flock file.
type lockFD struct {
	name string
	fd   int
	file fileID
}

func newGateLock(s *Store) *gateLock {
	names := s.lockNames()
	return &gateLock{store: s, gate: lockFD{name: names[0], fd: -1}, turn: lockFD{name: names[1], fd: -1}}
}

const lockFlags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY

// openLock opens the file if it is not open, and makes it if it is not there.
func (s *Store) openLock(l *lockFD) error { return s.openLockBy(l, lockFlags|unix.O_CREAT) }

func (s *Store) openLockBy(l *lockFD, flags int) error {
	if l.fd >= 0 {
		return nil
	}
	fd, err := openat(s.dir.fd, l.name, flags, 0o600)
	if err != nil {
		return s.failed("the lock file cannot be opened", l.name, err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = unix.Close(fd)
		return s.failed("the lock file cannot be used", l.name, err)
	}
	l.fd, l.file = fd, idOf(&st)
	return nil
}

// current is whether the name still is the locked file. If two takers locked two files, they would not exclude each other.
func (s *Store) current(l *lockFD) error {
	if id, err := s.lookup(l.name); err != nil || id != l.file {
		return s.failed("the lock file was removed or replaced, which must never happen", l.name, err)
	}
	return nil
}

func (s *Store) isCurrent(l *lockFD) bool { return s.current(l) == nil }

// try takes the lock at once, or says that another has it. A conversion is not atomic: if it fails, the old lock is gone (flock(2)),
// so nothing may depend on the old lock. Two callers convert: downgrade, before the fence opens, and takeGate in Replace, after the
// fence has drained. For the same reason it may close a file that cannot be locked. Under an open fence the gate is asked by proven,
// which touches nothing that is held.
func (s *Store) try(l *lockFD, how int) (bool, error) {
	if err := s.openLock(l); err != nil {
		return false, err
	}
	had, err := s.lockNow(l, how)
	if err != nil {
		l.close() // the next try opens it anew: the descriptor may be of a session with the store that is over
		return false, err
	}
	if !had {
		return false, nil
	}
	if !s.isCurrent(l) {
		l.close() // a stale file: the next try opens the file that has the name now
		return false, nil
	}
	return true, nil
}

// lockNow is one flock(2) that does not wait.
func (s *Store) lockNow(l *lockFD, how int) (bool, error) {
	err := retry(func() error { return flock(l.fd, how|unix.LOCK_NB) })
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, s.failedOrUnfit("locks (flock)", "the lock cannot be taken", l.name, err)
	}
	return true, nil
}

func (l *lockFD) unlock() {
	if l.fd >= 0 {
		// It fails only for a bad descriptor, and then there is no lock.
		_ = retry(func() error { return flock(l.fd, unix.LOCK_UN) })
	}
}

func (l *lockFD) close() {
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}

// exclusive takes the turn, then the gate, within wait. On failure it has neither, and the error names who has them.
func (g *gateLock) exclusive(ctx context.Context, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	if err := g.poll(ctx, deadline, &g.turn, unix.LOCK_EX); err != nil {
		return err
	}
	if err := g.poll(ctx, deadline, &g.gate, unix.LOCK_EX); err != nil {
		g.turn.unlock()
		return err
	}
	return nil
}

// takeTurn is the first half of exclusive. A holder that replaces itself must not drop its LOCK_SH before it has the turn.
func (g *gateLock) takeTurn(ctx context.Context, wait time.Duration) error {
	return g.poll(ctx, time.Now().Add(wait), &g.turn, unix.LOCK_EX)
}

// takeGate is the second half. The caller has the turn.
func (g *gateLock) takeGate(ctx context.Context, wait time.Duration) error {
	return g.poll(ctx, time.Now().Add(wait), &g.gate, unix.LOCK_EX)
}

// sharedWithin takes LOCK_SH within wait. Meanwhile a taker may finish.
func (g *gateLock) sharedWithin(ctx context.Context, wait time.Duration) error {
	return g.poll(ctx, time.Now().Add(wait), &g.gate, unix.LOCK_SH)
}

// poll asks again and again: a context cannot end a flock(2) that blocks.
func (g *gateLock) poll(ctx context.Context, deadline time.Time, l *lockFD, how int) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 25*time.Millisecond) {
		had, err := g.store.try(l, how)
		if had || err != nil {
			return err
		}
		left := time.Until(deadline)
		if left <= 0 {
			return g.blocked(l, nil)
		}
		t := time.NewTimer(min(pause, left))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return g.blocked(l, context.Cause(ctx))
		}
	}
}

func (g *gateLock) blocked(l *lockFD, cause error) error {
	by := lockHolders(l.file)
	next := "wait until it has finished, then try again"
	switch {
	case by.unseen && g.store.tier().locksGetLost(): // another machine keeps it, and /proc does not show for whom
		by.text = "a process of another host, or of this one: the store keeps the lock and does not tell whose it is"
		next = "wait: the store drops the lock of a host that has been silent for long enough"
	case by.stopped:
		next = "resume the stopped process (kill -CONT), or end it: jvsfs lock steal --fence"
	}
	return &Error{Class: ClassLockConflict, Worktree: g.store.id, File: g.store.display(l.name), Err: cause,
		Message: fmt.Sprintf("the gate is not free: it is held by %s", by), Next: next}
}

// downgrade turns LOCK_EX into LOCK_SH and gives the turn back. Between the two locks the kernel may let others in, but every taker
// needs the turn, and we have it until the downgrade is done.
func (g *gateLock) downgrade() error {
	defer g.turn.unlock()
	return g.shared()
}

// hasShared takes LOCK_SH at once, and says whether it could.
func (g *gateLock) hasShared() bool { return g.shared() == nil }

// shared takes LOCK_SH at once, or fails.
func (g *gateLock) shared() error {
	had, err := g.store.try(&g.gate, unix.LOCK_SH)
	if err == nil && !had {
		err = g.blocked(&g.gate, nil)
	}
	return err
}

// intact is an error if a taker would not meet our LOCK_SH, because the file was replaced.
func (g *gateLock) intact() error { return g.store.current(&g.gate) }

// proven is intact, and where another machine keeps the lock, it also asks that one whether it still has our LOCK_SH: a lock server
// that was started again may know nothing of it, and tells nobody. The question is LOCK_EX through a file that is opened for it, so
// that nothing happens to the lock that is held. While somebody has LOCK_SH nobody gets LOCK_EX. So if we get it, nobody has LOCK_SH,
// and ours is gone. If we do not, LOCK_SH says whether a taker has LOCK_EX.
func (g *gateLock) proven() error {
	if err := g.intact(); err != nil || !g.store.tier().locksGetLost() {
		return err
	}
	s, asked := g.store, lockFD{name: g.gate.name, fd: -1}
	if err := s.openLockBy(&asked, lockFlags); err != nil { // without O_CREAT: a gate that was removed must not come back
		return err
	}
	defer asked.close()
	if asked.file != g.gate.file {
		return s.failed("the lock file was removed or replaced, which must never happen", asked.name, nil)
	}
	gone, err := s.lockNow(&asked, unix.LOCK_EX)
	if err != nil {
		return err
	}
	shared, err := s.lockNow(&asked, unix.LOCK_SH)
	if err != nil {
		return err
	}
	switch {
	case gone:
		return s.gateLost("nobody has taken it meanwhile")
	case !shared:
		return s.gateLost("a taker has it")
	}
	return nil
}

// gateLost says that the store has dropped our LOCK_SH.
func (s *Store) gateLost(since string) error {
	return &Error{Class: ClassLockConflict, Worktree: s.id, File: s.display(s.lockNames()[0]), Err: ErrGateLost,
		Message: "the store has lost this holder's lock of the gate (was its server restarted?), and " + since,
		Next:    "nothing, if the next renewal takes it again; else acquire the lease again"}
}

// ErrGateLost is in the error of a renewal that found LOCK_SH gone under an open fence.
var ErrGateLost = errors.New("the lock is gone")

func (g *gateLock) unlock() {
	g.gate.unlock()
	g.turn.unlock()
}

func (g *gateLock) close() {
	g.gate.close()
	g.turn.close()
}
