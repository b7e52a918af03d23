package lease

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// maxRead bounds what is read of a file that somebody else may have written.
const maxRead = 64 << 10

// Store is the files of one worktree. It has no descriptor, and remembers only parsed records. Every change is one of the three safe
// steps of the package comment. Safe for concurrent use.
type Store struct {
	dir *Dir
	id  WorktreeID

	parsed record.Cache
}

// Worktree is the worktree of these files.
func (s *Store) Worktree() WorktreeID { return s.id }

// Head is the highest claim as it was read.
type Head struct {
	Token      Token          // 0: never claimed
	Record     *record.Record // nil when Token is 0 or Unreadable is set
	Unreadable error          // why nothing may be concluded; an *Error that names the file and what to do
	File       string         // the file of Record
	ModTime    time.Time
	Sum        [32]byte // SHA-256 of the bytes read
	Foreign    bool     // Record is from <id>.lock, and a foreign tool wrote it
	ViewToken  Token    // the token in <id>.lock, 0 if that is absent or unreadable

	Seen any // what an authority outside of this package remembers of its read

	file fileID
	uid  uint32 // whom the file belongs to
}

// fileID identifies an inode.
type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID {
	return fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // 32 bits on other processors
}

func (s *Store) viewName() string            { return record.ViewFile(s.id) }
func (s *Store) claimName(t Token) string    { return record.ClaimFile(s.id, t) }
func (s *Store) tmpName(nonce string) string { return record.TmpFile(s.id, nonce) }

// lockNames are the flock files.
func (s *Store) lockNames() []string { return []string{record.GateFile(s.id), record.TurnFile(s.id)} }

func (s *Store) display(name string) string { return filepath.Join(s.dir.path, name) }

func (s *Store) failed(what, name string, err error) *Error {
	e := &Error{Class: ClassStoreFailed, Worktree: s.id, File: s.display(name), Message: what, Err: err,
		Next: "look at the lock directory's disk and permissions; nothing was granted"}
	nameCutOff(e)
	return e
}

// CutOffStore is whether a call failed because the client of the store does not serve this process any more: it is dead, evicted or
// without its server (ENOTCONN: FUSE, GlusterFS; ESHUTDOWN: CephFS, of a client on the OSDs' blocklist), or it came back and does not know
// what was opened before (EBADF, EBADFD: CephFS, GlusterFS). Of a descriptor of ours, which is open, the kernel does not say that.
func CutOffStore(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOTCONN, unix.ESHUTDOWN, unix.EBADF, unix.EBADFD}, func(e error) bool { return errors.Is(err, e) })
}

// nameCutOff says so. It passes by itself only after a network failure.
func nameCutOff(e *Error) {
	if CutOffStore(e.Err) {
		e.Message += ": this host is cut off the store, or its client has ended or was started again, and does not know what is open here"
		e.Next = "look at the network and the servers; if they are well: umount and mount the store (umount -l), and the mount of jvsfs comes back by itself, or after jvsfs umount --bare and mount; nothing was granted"
	}
}

// unreadable gives err its class. It returns an [*Error] as it is.
func (s *Store) unreadable(name string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	e := &Error{Class: ClassRecordUnreadable, Worktree: s.id, File: s.display(name), Err: err,
		Message: "the lock record cannot be read, so nobody can know who holds the worktree",
		Next:    "make sure that no writer is left, then run: jvsfs doctor; do not remove a claim by hand, its name is the token"}
	nameCutOff(e)
	return e
}

// check refuses an id that could lead out of the directory.
func (s *Store) check() error {
	_, err := record.ParseWorktreeID(string(s.id))
	return err
}

// Head reads the highest claim, and the view if a foreign tool may have written it. The error is about the directory alone. What is
// wrong with a record is in Head.Unreadable.
func (s *Store) Head() (Head, error) {
	if err := s.check(); err != nil {
		return Head{}, err
	}
	for range 8 {
		before := s.stamp(".")
		t, err := s.highest()
		if err != nil {
			return Head{}, err
		}
		h := s.readHead(t)
		// If a claim was born meanwhile, h is an old head.
		if still, err := s.stillHighest(t, before); err != nil || still {
			return h, err
		}
	}
	return Head{}, s.failed("the head does not hold still", s.viewName(), nil)
}

// stillHighest is whether t is still the highest claim. A listing found t; before is the directory's stamp from before that listing.
// The next token's name, which takers make, is looked at. A name further up (see successor) may come unseen within one tick of the
// stamp, or one second (window); link decides in the end.
func (s *Store) stillHighest(t Token, before stampOf) (bool, error) {
	if _, err := s.lookup(s.claimName(t + 1)); err == nil {
		return false, nil
	}
	if before != (stampOf{}) && s.stamp(".") == before {
		return true, nil
	}
	later, err := s.highest()
	return later == t, err
}

// highest is the largest number in the claims' names. The file need not be readable.
func (s *Store) highest() (Token, error) {
	var top Token
	prefix := []byte(string(s.id) + ".claim.")
	err := s.dir.each(func(name []byte) {
		if rest, ok := bytes.CutPrefix(name, prefix); ok {
			if t, ok := record.ParseDigits(string(rest)); ok {
				top = max(top, t)
			}
		}
	})
	if err != nil {
		return 0, s.failed("the lock directory cannot be listed", "", err)
	}
	return top, nil
}

func (s *Store) readHead(t Token) Head {
	h := Head{Token: t}
	if t > record.MostToken {
		h = s.beyond(t)
	} else if t > 0 {
		h = s.readRecordFile(s.claimName(t))
		h.Token = t
		if h.Record != nil && h.Record.FencingToken != t {
			h.Unreadable = s.unreadable(s.claimName(t), fmt.Errorf("it carries token %d", h.Record.FencingToken))
			h.Record = nil
		}
	}
	return s.overlayView(h)
}

// overlayView returns a foreign view instead of h if its token is above the head, or if the head was released.
func (s *Store) overlayView(h Head) Head {
	v := s.readView()
	switch {
	case errors.Is(v.Unreadable, os.ErrNotExist):
		return h
	case h.Unreadable != nil:
		return h
	case v.Unreadable != nil:
		v.Token = h.Token
		return v
	}
	h.ViewToken = v.Record.FencingToken
	if v.file == h.file || s.isOldClaim(v) {
		return h
	}
	free := h.Record == nil || h.Record.Released
	if h.ViewToken > h.Token || (free && !v.Record.Released) {
		v.Foreign, v.ViewToken, v.Token = true, h.ViewToken, max(h.Token, h.ViewToken)
		return v
	}
	return h
}

// isOldClaim is whether the view is a claim of ours, left by a late publisher. Otherwise it is foreign.
func (s *Store) isOldClaim(v Head) bool {
	id, err := s.lookup(s.claimName(v.Record.FencingToken))
	return err == nil && id == v.file
}

// readRecordFile reads and parses one file. Head.Token is not set. It tries several times, for it may see a rewrite half done.
func (s *Store) readRecordFile(name string) (h Head) {
	for range 5 {
		b, st, err := s.readFile(name)
		h = Head{File: s.display(name)}
		if err == nil {
			h.file, h.uid, h.Sum = idOf(st), st.Uid, sha256.Sum256(b)
			h.ModTime = time.Unix(st.Mtim.Sec, st.Mtim.Nsec)
			h.Record, err = s.parsed.Parse(b, h.Sum, s.id)
		}
		if err == nil {
			return h
		}
		h.Unreadable = s.unreadable(name, err)
		if errors.Is(err, os.ErrNotExist) {
			return h
		}
	}
	return h
}

// readFile reads at most maxRead bytes of a regular file. It never follows a link, and never waits for a FIFO's writer.
func (s *Store) readFile(name string) ([]byte, *unix.Stat_t, error) {
	fd, err := openat(s.dir.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if errors.Is(err, unix.ELOOP) {
		return nil, nil, fmt.Errorf("it is a symbolic link: %w", err)
	} else if err != nil {
		return nil, nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // only read from
	return readFD(fd)
}

func readFD(fd int) ([]byte, *unix.Stat_t, error) {
	st := new(unix.Stat_t)
	if err := unix.Fstat(fd, st); err != nil {
		return nil, nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, nil, errors.New("it is not a regular file")
	}
	if st.Size > maxRead {
		return nil, nil, fmt.Errorf("it has %d bytes, more than %d", st.Size, maxRead)
	}
	b := make([]byte, max(st.Size, record.Size)+1)
	n := 0
	for n <= maxRead {
		if n == len(b) { // it has grown
			b = append(b, make([]byte, maxRead+1-n)...)
		}
		m, err := unix.Pread(fd, b[n:], int64(n))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if m == 0 {
			return b[:n], st, nil
		}
		n += m
	}
	return nil, nil, fmt.Errorf("it grew beyond %d bytes", maxRead)
}

// lookup is the inode of a name. It does not open the file.
func (s *Store) lookup(name string) (fileID, error) {
	var st unix.Stat_t
	err := look(func() error { return unix.Fstatat(s.dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return idOf(&st), err
}
