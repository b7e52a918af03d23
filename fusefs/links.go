package fusefs

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// linkAreas are the rules that a file with several names is under, found by
// looking for all of them.
type linkAreas struct {
	nlink uint64 // when they were looked for
	moves uint64
	rules []*rule
}

// linkSearch bounds the search for the names of one file.
const linkSearch = 10 * time.Second

// learnLinks makes sure that every name of a file is known before the file is
// judged. In a repository a hard link that was made behind the mount may put one
// inode into two worktrees, or into one and beside it; then all its guards must
// agree. The search is made once for a file and number of links. Names outside of
// the source are no concern: whoever uses them does not come through the mount.
func (f *rawFS) learnLinks(n *node) fuse.Status {
	if f.opts.Shape != ShapeRepository || n.isDir() {
		return fuse.OK
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(n.fd, &st) }); err != nil {
		return status(err)
	}
	if st.Nlink <= 1 {
		n.links.Store(nil)
		return fuse.OK
	}
	moves := f.moves.Load()
	if l := n.links.Load(); l != nil && l.nlink == st.Nlink && l.moves == moves {
		return fuse.OK
	}
	s := linkFinder{f: f, key: n.key, left: st.Nlink, until: time.Now().Add(linkSearch)}
	if err := s.descend(f.root.fd, f.root, nil); err != nil {
		f.opts.Log.Warn("a file has names that could not be looked for, so it is not written", zap.Uint64("inode", n.key.ino), zap.Error(err))
		return f.refused()
	}
	n.links.Store(&linkAreas{nlink: st.Nlink, moves: moves, rules: s.rules})
	return fuse.OK
}

// linkFinder walks the source for the names of one inode.
type linkFinder struct {
	f     *rawFS
	key   inodeKey
	left  uint64 // names not found yet
	until time.Time
	rules []*rule
}

var errLinkSearch = errors.New("the search took too long")

// descend looks through one directory. at is its node where its entries have
// rules of their own, by is the rule of everything below otherwise.
func (s *linkFinder) descend(dir int, at *node, by *rule) error {
	fd, err := s.f.openAgain(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 32<<10)
	for s.left > 0 {
		if time.Now().After(s.until) {
			return errLinkSearch
		}
		n, err := retryInt(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil || n == 0 {
			return err
		}
		if err := s.entries(fd, buf[:n], at, by); err != nil {
			return err
		}
	}
	return nil
}

func (s *linkFinder) entries(fd int, buf []byte, at *node, by *rule) error {
	for len(buf) > 0 && s.left > 0 {
		e, l := parseDirent(buf)
		if l == 0 {
			return nil
		}
		ino := binary.NativeEndian.Uint64(buf)
		buf = buf[l:]
		if e.Name == "." || e.Name == ".." {
			continue
		}
		r := by
		if at != nil {
			if r = entryRule(at, e.Name); r == nil {
				r = openRule
			}
		}
		switch {
		case ino == s.key.ino && e.Mode != unix.S_IFDIR && s.is(fd, e.Name):
			s.rules = addRule(s.rules, r)
			s.left--
		case e.Mode == unix.S_IFDIR:
			if err := s.enter(fd, at, e.Name, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// is makes sure of a match: inode numbers repeat between subvolumes.
func (s *linkFinder) is(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && keyOf(&st) == s.key
}

// enter goes down into a directory, unless it has just gone.
func (s *linkFinder) enter(fd int, at *node, name string, by *rule) error {
	sub, st, err := lookupAt(&node{fd: fd}, name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(sub) }()
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	return s.descend(sub, s.special(at, name), by)
}

// special returns a directory whose entries have rules of their own, as a node
// that the kernel need not know.
func (s *linkFinder) special(at *node, name string) *node {
	if at == nil || role(at.role.Load()) != roleRoot || (name != "worktrees" && name != ".jvs") {
		return nil
	}
	n := &node{kind: unix.S_IFDIR}
	s.f.takeRole(n, at, name)
	return n
}
