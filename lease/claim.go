package lease

import (
	"crypto/sha256"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// claim is a record that this process has made. Its inode stays open, and is the only one that we ever write (rule 3).
type claim struct {
	store *Store
	rec   *record.Record
	fd    int
	file  fileID
	tmp   string // temporary name, "" once removed
	brief bool   // writes are not waited for on the disk (ending.unwaited)
	above stillness
}

// newRecord is the record of the token after prev. The clocks were read as in before anything of it is written.
func (s *Store) newRecord(p record.Policy, h Holder, prev Head, in instant) *record.Record {
	return record.New(s.id, p, h, prev.Token, prev.Record, in.wall)
}

// bear writes and fsyncs rec under a temporary name. The caller must end the claim with discard or close.
func (s *Store) bear(rec *record.Record) (*claim, error) {
	b, err := rec.Encode()
	if err != nil {
		return nil, s.failed("the record cannot be encoded", s.viewName(), err)
	}
	tmp := s.tmpName(rec.HolderNonce)
	fd, err := openat(s.dir.fd, tmp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, s.failed("a record cannot be created", tmp, err)
	}
	c := &claim{store: s, rec: rec, fd: fd, tmp: tmp}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		c.file = idOf(&st)
		err = c.write(b)
	}
	if err != nil {
		c.discard()
		return nil, s.failed("a record cannot be written", tmp, err)
	}
	return c, nil
}

// write replaces the record in place and makes it durable, unless it is brief.
func (c *claim) write(b []byte) error {
	for off, n := 0, 0; off < len(b); {
		err := disk("record.write", func() (err error) {
			n, err = unix.Pwrite(c.fd, b[off:], int64(off))
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("nothing was written")
		}
		off += n
	}
	if c.brief {
		_ = unix.SyncFileRange(c.fd, 0, record.Size, unix.SYNC_FILE_RANGE_WRITE) // the kernel begins to write
		return nil
	}
	return disk("record.fsync", func() error { return unix.Fsync(c.fd) })
}

// rewrite writes a changed record. c.rec changes only if that worked.
func (c *claim) rewrite(rec *record.Record) error {
	b, err := rec.Encode()
	if err == nil {
		err = c.write(b)
	}
	if err != nil {
		return c.store.failed("the own record cannot be written", c.name(), err)
	}
	c.rec = rec
	return nil
}

func (c *claim) name() string { return c.store.claimName(c.rec.FencingToken) }

// stamp is when the store says the record was last written (rule 7).
func (c *claim) stamp() (time.Time, error) {
	var st unix.Stat_t
	err := unix.Fstat(c.fd, &st)
	return time.Unix(st.Mtim.Sec, st.Mtim.Nsec), err
}

// link gives the record its token's name. The answer of link(2) only goes into a message: a reply can be lost, a name cannot
// (rule 2). won is false if another's record has the name.
func (c *claim) link() (won bool, err error) {
	s, name := c.store, c.name()
	linked := disk("claim.link", func() error { return unix.Linkat(s.dir.fd, c.tmp, s.dir.fd, name, 0) })
	h := s.readRecordFile(name)
	switch {
	case h.Record != nil && h.Record.HolderNonce == c.rec.HolderNonce && h.file == c.file:
		return true, nil
	case errors.Is(h.Unreadable, os.ErrNotExist):
		return false, s.failedOrUnfit("hard links", "the claim cannot be linked", name, linked)
	}
	return false, nil
}

// check reads the own inode back. It must still have the claim's name, carry our record, and not be marked released by others. The
// result is the record on disk, with fields that others added.
func (c *claim) check() (*record.Record, error) {
	id, err := c.store.lookup(c.name())
	if err != nil {
		return nil, c.lost("the own claim is gone", err)
	}
	if id != c.file {
		return nil, c.lost("the own claim was replaced", nil)
	}
	b, _, err := readFD(c.fd)
	if err != nil {
		return nil, c.store.failed("the own claim cannot be read", c.name(), err)
	}
	r, err := c.store.parsed.Parse(b, sha256.Sum256(b), c.store.id)
	if err != nil {
		// Our own renewal may have failed half way. The record that we know is still right, and the next write repairs the file.
		return c.rec.Clone(), nil //nolint:nilerr // as the comment says
	}
	switch {
	case r.HolderNonce != c.rec.HolderNonce || r.SessionID != c.rec.SessionID || r.FencingToken != c.rec.FencingToken:
		return nil, c.lost("the own claim carries another holder's record", nil)
	case r.Released && !c.rec.Released:
		return nil, c.lost("the own claim was marked released by somebody else", nil)
	}
	return r, nil
}

func (c *claim) lost(what string, err error) error {
	return &Error{Class: ClassLockNotHeld, Worktree: c.store.id, File: c.store.display(c.name()), Message: what, Err: err,
		Next: "acquire the lease again"}
}

// discard removes the temporary name and closes.
func (c *claim) discard() {
	c.dropTmp()
	c.close()
}

// dropTmp ignores errors: the name is ours alone and harmless, and doctor removes it.
func (c *claim) dropTmp() {
	if c.tmp != "" {
		_ = unix.Unlinkat(c.store.dir.fd, c.tmp, 0)
		c.tmp = ""
	}
}

func (c *claim) close() {
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
}
