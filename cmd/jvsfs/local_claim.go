package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jvsfs/jvsfs/lease"
	"golang.org/x/sys/unix"
)

// claimFile is the claim of a lease that an earlier command took, opened for the
// one that renews or releases it. Only the claim's own inode is written (rule 3
// of lease/doc.go), so a successor's record cannot be destroyed however late
// this comes.
type claimFile struct {
	dir  string
	id   lease.WorktreeID
	rec  lease.Record
	file *os.File
}

// openClaim opens the claim of head and makes sure that it is still the record
// that was judged: same token, same nonce.
func openClaim(dir string, id lease.WorktreeID, head lease.Head) (*claimFile, error) {
	name := claimName(dir, id, head.Token)
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, storeFailed(name, "the record cannot be opened", err)
	}
	c := &claimFile{dir: dir, id: id, file: os.NewFile(uintptr(fd), name)}
	buf := make([]byte, 2*lease.RecordSize)
	n, err := c.file.ReadAt(buf, 0)
	if n == 0 {
		return nil, errors.Join(storeFailed(name, "the record cannot be read", err), c.file.Close())
	}
	if err := json.Unmarshal(buf[:n], &c.rec); err != nil || c.rec.HolderNonce != head.Record.HolderNonce {
		return nil, errors.Join(notHeld("the record changed hands", "jvsfs lock status WORKTREE"), c.file.Close())
	}
	return c, nil
}

func claimName(dir string, id lease.WorktreeID, t lease.Token) string {
	return filepath.Join(dir, fmt.Sprintf("%s.claim.%020d", id, uint64(t)))
}

func storeFailed(name, what string, err error) *failure {
	return &failure{Class: "E_STORE_FAILED", File: name, Message: fmt.Sprintf("%s: %v", what, err), Next: "see jvsfs doctor", err: err}
}

// write replaces the record in place: padded, so that it takes no new space.
func (c *claimFile) write() error {
	raw, err := json.Marshal(&c.rec)
	if err != nil {
		return err
	}
	if len(raw) >= lease.RecordSize {
		return storeFailed(c.file.Name(), "the record does not fit", fmt.Errorf("%d bytes", len(raw)))
	}
	padded := make([]byte, lease.RecordSize)
	for i := copy(padded, raw); i < len(padded); i++ {
		padded[i] = ' '
	}
	padded[len(padded)-1] = '\n'
	if _, err = c.file.WriteAt(padded, 0); err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		return storeFailed(c.file.Name(), "the record cannot be written", err)
	}
	return nil
}

// superseded tells whether somebody holds a higher token (rule 8).
func (c *claimFile) superseded() bool { return exists(claimName(c.dir, c.id, c.rec.FencingToken+1)) }

// renew extends the lease. It counts only if it was not over before the record
// was on disk (rule 8).
func (c *claimFile) renew(now func() time.Time) error {
	old := c.rec.ExpiresAt()
	began := now()
	c.rec.LastRenewedAt = began.UTC()
	c.rec.LeaseExpiresAt = began.Add(c.rec.Policy().LeaseDuration).UTC()
	c.rec.RenewCount++
	if began.After(old) {
		return c.expired(old)
	}
	if err := c.write(); err != nil {
		return err
	}
	switch {
	case c.superseded():
		return notHeld("the lease was taken over meanwhile", "jvsfs lock acquire WORKTREE")
	case now().After(old):
		return c.expired(old)
	}
	return nil
}

func (c *claimFile) expired(at time.Time) *failure {
	return &failure{
		Class: "E_LOCK_EXPIRED", File: c.file.Name(),
		Message: "the lease ended at " + clockText(at) + " and cannot be renewed", Next: "jvsfs lock acquire WORKTREE",
	}
}

// release marks the lease given back and takes the view away (rule 11).
func (c *claimFile) release(now time.Time) error {
	c.rec.Released = true
	if now.Before(c.rec.LeaseExpiresAt) {
		c.rec.LeaseExpiresAt = now.UTC()
	}
	if err := c.write(); err != nil {
		return err
	}
	return c.withdraw()
}

// withdraw takes <id>.lock away if it shows this claim: aside first, then a look,
// and back with it if it was a successor's.
func (c *claimFile) withdraw() error {
	view := filepath.Join(c.dir, string(c.id)+".lock")
	aside := view + ".tmp." + rand.Text()
	if err := os.Rename(view, aside); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return storeFailed(view, "the view cannot be taken away", err)
	}
	own, err1 := c.file.Stat()
	moved, err2 := os.Lstat(aside)
	if err := errors.Join(err1, err2); err != nil {
		return storeFailed(aside, "the view cannot be looked at", err)
	}
	if !os.SameFile(own, moved) {
		if err := os.Link(aside, view); err != nil && !errors.Is(err, os.ErrExist) {
			return storeFailed(view, "a successor's view cannot be put back", err)
		}
	}
	return os.Remove(aside)
}

// rewrite does what was authorised to the claim of head.
func (l *localLock) rewrite(_ context.Context, op string, head lease.Head) (*lease.Record, error) {
	c, err := openClaim(l.place.LockDir, l.place.ID, head)
	if err != nil {
		return nil, err
	}
	clock := lease.SystemClock()
	if c.superseded() {
		err = notHeld("the lease was taken over", "jvsfs lock status WORKTREE")
	} else if op == opRenew {
		err = c.renew(clock.Wall)
	} else {
		err = c.release(clock.Wall())
	}
	if err = errors.Join(err, c.file.Close()); err != nil {
		return nil, err
	}
	if op == opRelease {
		e := lease.Event{Kind: "release", Worktree: l.place.ID, Token: head.Token, Previous: head.Token, Holder: c.rec.Holder(), At: clock.Wall()}
		err = l.auditEvent(e)
	}
	return &c.rec, err
}
