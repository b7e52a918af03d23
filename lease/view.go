package lease

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// publish makes <id>.lock a hard link to the own claim, durably. If there is a higher claim it links that one instead (rule 2).
func (c *claim) publish() error {
	s := c.store
	if err := c.putOwnView(); err != nil {
		return err
	}
	t := c.rec.FencingToken
	for range 64 {
		top, err := s.highest()
		if err != nil || top <= t {
			return err
		}
		if err := s.putView(top); err != nil {
			return err
		}
		t = top
	}
	return s.failed("the view cannot keep up with the claims", s.viewName(), nil)
}

// putView links claim t to a temporary name and renames that over the view: the view is never absent or half written.
func (s *Store) putView(t Token) error {
	tmp := s.tmpName(record.NewNonce())
	if err := disk("publish.link", func() error { return unix.Linkat(s.dir.fd, s.claimName(t), s.dir.fd, tmp, 0) }); err != nil {
		return s.failed("the view cannot be prepared", tmp, err)
	}
	return s.moveToView(tmp)
}

// putOwnView is putView of the own claim. It uses the temporary name of the claim's birth, if that is still there: a repair on another
// host may have removed it as a leftover.
func (c *claim) putOwnView() error {
	tmp := c.tmp
	if c.tmp = ""; tmp != "" {
		if err := c.store.moveToView(tmp); !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return c.store.putView(c.rec.FencingToken)
}

// moveToView renames a claim's temporary name over the view, durably.
func (s *Store) moveToView(tmp string) error {
	err := disk("publish.rename", func() error { return unix.Renameat(s.dir.fd, tmp, s.dir.fd, s.viewName()) })
	// rename(2) does nothing if both names are one inode already, so the temporary name may be left.
	_ = unix.Unlinkat(s.dir.fd, tmp, 0)
	if err != nil {
		return s.failed("the view cannot be published", s.viewName(), err)
	}
	if err := s.dir.sync(); err != nil {
		return s.failed("the lock directory cannot be made durable", "", err)
	}
	return nil
}

// repairView puts the own view back if the view is absent or another's. The caller has found no successor.
func (c *claim) repairView() error {
	id, err := c.store.lookup(c.store.viewName())
	if err == nil && id == c.file {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return c.store.failed("the view cannot be looked at", c.store.viewName(), err)
	}
	return c.publish()
}

// withdraw takes the own view away: it renames the view aside, looks at it, and puts it back if it is another's (rule 11).
func (c *claim) withdraw(pause func(string)) error {
	s := c.store
	if id, err := s.lookup(s.viewName()); err != nil || id != c.file {
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return s.failed("the view cannot be looked at", s.viewName(), err)
	}
	pause("withdraw.before_rename")
	aside := s.tmpName(record.NewNonce())
	err := disk("withdraw.rename", func() error { return unix.Renameat(s.dir.fd, s.viewName(), s.dir.fd, aside) })
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return s.failed("the view cannot be withdrawn", s.viewName(), err)
	}
	pause("withdraw.after_rename")
	if id, err := s.lookup(aside); err != nil || id != c.file {
		// Somebody published between the look and the rename. It is link, not rename: a still newer view must stay.
		err := disk("withdraw.link", func() error { return unix.Linkat(s.dir.fd, aside, s.dir.fd, s.viewName(), 0) })
		if err != nil && !errors.Is(err, os.ErrExist) {
			return s.failed("a view that is not ours cannot be put back", aside, err)
		}
	}
	_ = unix.Unlinkat(s.dir.fd, aside, 0)
	if c.brief {
		return nil // if the view comes back after a crash, it shows a record that is released or has run out
	}
	if err := s.dir.sync(); err != nil {
		return s.failed("the lock directory cannot be made durable", "", err)
	}
	return nil
}
