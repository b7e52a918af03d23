package lease

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// maxRead bounds what is read of a file that somebody else may have written.
const maxRead = 64 << 10

// Store is the files of one worktree. It holds no descriptor, and remembers no more than what bytes mean; every change it makes is one of the three safe
// steps of the package comment. Safe for concurrent use.
type Store struct {
	dir *Dir
	id  WorktreeID

	parsed parsedRecords
}

// Worktree is whose files these are.
func (s *Store) Worktree() WorktreeID { return s.id }

// Head is the highest claim as it was read.
type Head struct {
	Token      Token   // 0: never claimed
	Record     *Record // nil when Token is 0 or Unreadable is set
	Unreadable error   // why nothing may be concluded; an *Error that names the file and the way out
	File       string  // the file Record is from
	ModTime    time.Time
	Sum        [32]byte // SHA-256 of the bytes read
	Foreign    bool     // Record is from <id>.lock, written by a tool without these rules
	ViewToken  Token    // what <id>.lock shows, 0 if absent or unreadable

	file fileID
}

// fileID identifies an inode.
type fileID struct{ dev, ino uint64 }

func idOf(st *unix.Stat_t) fileID {
	return fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // 32 bits on other processors
}

func (s *Store) display(name string) string { return filepath.Join(s.dir.path, name) }

func (s *Store) failed(what, name string, err error) *Error {
	return &Error{Class: ClassStoreFailed, Worktree: s.id, File: s.display(name), Message: what, Err: err,
		Next: "look at the lock directory's disk and permissions; nothing was granted"}
}

// unreadable keeps an error that already says everything.
func (s *Store) unreadable(name string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return &Error{Class: ClassRecordUnreadable, Worktree: s.id, File: s.display(name), Err: err,
		Message: "the lock record cannot be read, so nobody can know who holds the worktree",
		Next:    "make sure that no writer is left, then run: jvsfs doctor; do not remove a claim by hand, its name is the token"}
}

// check refuses an id that could leave the directory.
func (s *Store) check() error {
	_, err := ParseWorktreeID(string(s.id))
	return err
}

// Head reads the highest claim, and the view as far as it may be a foreign tool's. The error is about the directory alone;
// whatever is wrong with a record is in Head.Unreadable.
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
		// A claim born meanwhile would make h an old head read as the current one.
		if still, err := s.stillHighest(t, before); err != nil || still {
			return h, err
		}
	}
	return Head{}, s.failed("the head does not hold still", s.viewName(), nil)
}

// stillHighest is whether t, found by a listing begun under the stamp before, is the highest claim yet. The name that takers make
// is looked at; only one further up (see successor) can come within a tick of the stamp unseen, and link decides in the end.
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

// highest is the largest number among the claims' names; the file behind the name need not be sane.
func (s *Store) highest() (Token, error) {
	var top Token
	prefix := []byte(string(s.id) + ".claim.")
	err := s.dir.each(func(name []byte) {
		if rest, ok := bytes.CutPrefix(name, prefix); ok {
			if t, ok := parseDigits(string(rest)); ok {
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
	if t > mostToken {
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

// overlayView lets a foreign view speak where the claims are silent: above the head, or after the head was released.
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

// isOldClaim tells a view that a late publisher of ours left from a foreign one.
func (s *Store) isOldClaim(v Head) bool {
	id, err := s.lookup(s.claimName(v.Record.FencingToken))
	return err == nil && id == v.file
}

// readRecordFile reads and parses one file. Head.Token is not set. A rewrite in place may be seen half done; only what stays
// unreadable is called so.
func (s *Store) readRecordFile(name string) (h Head) {
	for range 5 {
		b, st, err := s.readFile(name)
		h = Head{File: s.display(name)}
		if err == nil {
			h.file, h.Sum = idOf(st), sha256.Sum256(b)
			h.ModTime = time.Unix(st.Mtim.Sec, st.Mtim.Nsec)
			h.Record, err = s.parsed.parse(b, h.Sum, s.id)
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

// readFile reads at most maxRead bytes of a regular file; it never follows a link and never waits for a FIFO's writer.
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
	b := make([]byte, max(st.Size, RecordSize)+1)
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

// lookup says which inode a name is, without opening it.
func (s *Store) lookup(name string) (fileID, error) {
	var st unix.Stat_t
	err := look(func() error { return unix.Fstatat(s.dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return idOf(&st), err
}
