package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// A daemon that was replaced has a loan for each lock under which files are open in it: a file with LOCK_SH. Who calls the loan
// in writes to the file, which the daemon watches, and waits for LOCK_EX. The kernel gives that when the daemon has drained
// and returned the lock, or has ended with its last thread. Files that daemons have left behind lend nothing.

// loan is one that this process has.
type loan struct {
	*os.File
	size int64 // what this process has written; more is a call
}

// loanText is what stands in the file of a loan.
type loanText struct {
	ID     string       `json:"id"`
	Daemon ProcessState `json:"daemon"`
}

const loanSuffix = ".loan"

// Lend notes that files are open here under a lock.
func (t *Tenures) Lend(id string) error {
	who, err := ThisProcess()
	if err != nil {
		return err
	}
	text, err := json.Marshal(loanText{id, who})
	if err != nil {
		return err
	}
	path := filepath.Join(t.dir, fmt.Sprintf("%s.%d-%d%s", nameOfLock(id), who.PID, who.Start, loanSuffix))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); err == nil {
		_, err = f.Write(text)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(path))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loans[id] = &loan{f, int64(len(text))}
	return nil
}

// Redeem ends a loan of this process.
func (t *Tenures) Redeem(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.loans[id]; l != nil {
		delete(t.loans, id)
		_ = os.Remove(l.Name()) // who calls it in may have removed it
		_ = l.Close()
	}
}

func (t *Tenures) redeemAll() {
	for _, id := range t.lentHere(func(*loan) bool { return true }) {
		t.Redeem(id)
	}
}

func (t *Tenures) lentHere(such func(*loan) bool) (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, l := range t.loans {
		if such(l) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Lent are the locks that other daemons have lent.
func (t *Tenures) Lent() ([]string, error) { return t.lentBy("") }

// lentBy are those whose files' names begin so.
func (t *Tenures) lentBy(prefix string) (ids []string, err error) {
	err = t.othersLoans(prefix, func(f *os.File, text loanText) {
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.Remove(f.Name())
			return
		}
		ids = append(ids, text.ID)
	})
	return ids, err
}

// CallIn returns when no other daemon has anything in flight under a lock, and none will have.
func (t *Tenures) CallIn(id string) {
	_ = t.othersLoans(nameOfLock(id), func(f *os.File, text loanText) { // a directory that cannot be read has none
		_, _ = f.WriteAt([]byte("\n"), maxLoan) // without a descriptor of its own for appending; it is seen as a longer file
		awaitLoan(f, text.Daemon)
		_ = os.Remove(f.Name())
	})
}

// returnedPause is how late it may be seen that a lock was returned.
const returnedPause = 50 * time.Millisecond

// Returned waits until no other daemon has lent a lock any more. It is false if ctx ends before.
func (t *Tenures) Returned(ctx context.Context, id string) bool {
	for {
		if ids, err := t.lentBy(nameOfLock(id)); err == nil && len(ids) == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(returnedPause):
		}
	}
}

const (
	// maxLoan is more than the text of a loan, in bytes: an id has two paths at most.
	maxLoan = 64 << 10
	// loanPatience is how long a daemon may take to return a lock. One that was stopped never does: it is ended, and what it
	// has in flight with it.
	loanPatience = 10 * time.Second
	loanPause    = time.Millisecond
	loanPauseMax = 50 * time.Millisecond
)

func awaitLoan(f *os.File, of ProcessState) {
	end, pause := time.Now().Add(loanPatience), loanPause
	for unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		if time.Now().After(end) {
			of.kill()
		}
		time.Sleep(pause)
		pause = min(2*pause, loanPauseMax)
	}
}

// kill ends the process, if it still runs.
func (p ProcessState) kill() {
	f, err := process.OpenPidfd(p.PID)
	if err != nil {
		return
	}
	defer CloseFile(f)
	if is := p.Liveness(); is == lease.Alive || is == lease.Stopped { // asked after the descriptor was opened
		_ = unix.PidfdSendSignal(int(f.Fd()), unix.SIGKILL, nil, 0)
	}
}

// othersLoans opens the loans of other daemons.
func (t *Tenures) othersLoans(prefix string, do func(*os.File, loanText)) error {
	entries, err := os.ReadDir(t.dir)
	for _, e := range entries {
		path := filepath.Join(t.dir, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), loanSuffix) || t.isOwn(path) {
			continue
		}
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue // it was returned just now
		}
		var text loanText
		_ = json.NewDecoder(f).Decode(&text) // what a killed daemon has written in part lends nothing
		do(f, text)
		CloseFile(f)
	}
	return err
}

func (t *Tenures) isOwn(path string) bool {
	return len(t.lentHere(func(l *loan) bool { return l.Name() == path })) > 0
}

// Called tells which loans of this process are called in, until ctx ends.
func (t *Tenures) Called(ctx context.Context, calls func(id string)) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return os.NewSyscallError("inotify_init1", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	stop := context.AfterFunc(ctx, func() { CloseFile(f) })
	defer stop()
	if _, err := unix.InotifyAddWatch(fd, t.dir, unix.IN_MODIFY); err != nil {
		return errors.Join(os.NewSyscallError("inotify_add_watch", err), f.Close())
	}
	for buf := make([]byte, 4096); ; {
		for _, id := range t.lentHere((*loan).isCalled) {
			calls(id)
		}
		if _, err := f.Read(buf); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return errors.Join(err, f.Close())
		}
	}
}

func (l *loan) isCalled() bool {
	st, err := l.Stat()
	return err != nil || st.Size() > l.size
}
