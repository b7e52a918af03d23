package lease

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// What an authority outside of this package needs of it. The lock directory then keeps the gate, taints and the view, and no claims.

// governedTier is a tier whose claims another authority keeps. That one says when a lease is over, by its own clock, and decides who
// takes it. The gate is that of the tier below.
type governedTier struct{ below tier }

func (t governedTier) locksGetLost() bool                                 { return t.below.locksGetLost() }
func (governedTier) gateProvesEnd() bool                                  { return false } // a holder may be on a host whose flock is not seen here
func (governedTier) unwatched(record.Policy, time.Duration) time.Duration { return 0 }
func (governedTier) watchesIdle() bool                                    { return false }
func (governedTier) storeHasOwnClock() bool                               { return false }
func (governedTier) looksAgain() bool                                     { return true }
func (governedTier) endsWithKernel() bool                                 { return false }
func (governedTier) takersUnseen() bool                                   { return false } // it has one winner, and says at once who
func (governedTier) sweeps() bool                                         { return false }
func (governedTier) resumes() bool                                        { return false }
func (governedTier) asksWallClock() bool                                  { return false }
func (governedTier) followers() bool                                      { return false }

// Govern says that another authority decides whose turn it is in all worktrees of the directory. It is called before anything is asked
// of a store.
func (d *Dir) Govern() { d.tier = governedTier{d.tier} }

// HeadOf is the head that an authority has read: a record in these bytes, which its file for people names. seen is the authority's own.
func HeadOf(r *record.Record, b []byte, file string, seen any) Head {
	return Head{Token: r.FencingToken, Record: r, File: file, Sum: sha256.Sum256(b), Seen: seen, uid: uint32(os.Geteuid())}
}

// PastOf is [Authority.Past] of records in the order of their tokens. The last one is the head if head is its token.
func PastOf(all []*record.Record, head Token) (past []Past) {
	var next *record.Record
	for _, rec := range slices.Backward(all) {
		past = append(past, Past{Token: rec.FencingToken, Holder: rec.Holder(), End: endOf(rec, next, rec.FencingToken == head), Expires: rec.LeaseExpiresAt})
		next = rec
	}
	slices.Reverse(past)
	return past
}

// HighWater is the highest token that the lock directory shows, in the view or in a claim's name, and the lock id of the view if that
// shows it. An authority whose head is below it has forgotten tokens.
func (s *Store) HighWater() (t Token, lockID string, err error) {
	if err := s.check(); err != nil {
		return 0, "", err
	}
	if t, err = s.highest(); err != nil {
		return 0, "", err
	}
	switch v := s.readRecordFile(s.viewName()); {
	case errors.Is(v.Unreadable, os.ErrNotExist):
	case v.Unreadable != nil:
		return 0, "", v.Unreadable
	case v.Record.FencingToken >= t:
		return v.Record.FencingToken, v.Record.LockID, nil
	}
	return t, "", nil
}

// ShowView makes <id>.lock show rec. Where it must outlast a crash, sure waits for the disk.
func (s *Store) ShowView(rec *record.Record, sure bool) error {
	c, err := s.bear(rec)
	if err != nil {
		return err
	}
	defer c.discard()
	if !sure {
		if err := unix.Renameat(s.dir.fd, c.tmp, s.dir.fd, s.viewName()); err != nil {
			return s.failed("the view cannot be published", s.viewName(), err)
		}
		return nil
	}
	tmp := c.tmp
	c.tmp = ""
	return s.moveToView(tmp)
}

// Display is the path of the view, for people.
func (s *Store) Display() string { return s.display(s.viewName()) }

// authorityName is the file of the lock directory that names its authority. Absent: the claims.
const authorityName = "authority"

// Authority is the text that names the authority of the directory; "" if that is its claims.
func (d *Dir) Authority() (string, error) {
	fd, err := openat(d.fd, authorityName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err == nil {
		defer unix.Close(fd) //nolint:errcheck // only read from
		var b []byte
		if b, _, err = readFD(fd); err == nil {
			return string(b), nil
		}
	}
	return "", d.authorityFailed("it cannot be read whose turn it is here", err)
}

// Name makes the file that names the authority, unless there is one. It returns what the directory says then.
func (d *Dir) Name(text string) (string, error) {
	fd, err := openat(d.fd, authorityName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EEXIST) {
		return d.Authority()
	}
	if err == nil {
		_, err = unix.Write(fd, []byte(text))
		err = errors.Join(err, unix.Fsync(fd), unix.Close(fd), d.sync())
	}
	if err != nil {
		return "", d.authorityFailed("it cannot be noted whose turn it is here", err)
	}
	return text, nil
}

func (d *Dir) authorityFailed(what string, err error) error {
	return &Error{Class: ClassStoreFailed, File: fmt.Sprintf("%s/%s", d.path, authorityName), Message: what, Err: err, Next: "look at the lock directory's disk and permissions"}
}
