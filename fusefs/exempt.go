package fusefs

import (
	"cmp"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/exempt"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// called is the name under which a file was last seen.
type called struct {
	dir  *node
	name string
}

// exemptInodes are the kernel's inodes, for their places.
type exemptInodes struct{ *rawFS }

// Seen implements [exempt.Inodes].
func (f exemptInodes) Seen(i tree.Inode) (dir int, name string, ok bool) {
	c := i.(*node).called.Load()
	if c == nil || f.nodes.get(c.dir.id) != c.dir {
		return -1, "", false
	}
	return c.dir.fd, c.name, true
}

// Nameless implements [exempt.Inodes].
func (f exemptInodes) Nameless(i tree.Inode) gate.Where { return i.(*node).nameless.where() }

// Find implements [exempt.Inodes].
func (f exemptInodes) Find(k tree.Key) tree.Inode {
	if n := f.nodes.find(k); n != nil {
		return n
	}
	return nil
}

// ErrMixed says that mounts of one worktree disagree whether there are exempt paths.
var ErrMixed = exempt.ErrMixed

// ShareBorder has all mounts of a worktree agree by a directory that they have in common ([exempt.MoveLock.Share]). It must be called before Mount.
func (s *Server) ShareBorder(dirfd int) error { return s.fs.moveLock.Share(dirfd) }

// openToAll reports whether others than the holder may change a node, or the entries of a
// directory: then it is not cached for long. The answer is kept until a name moves or a lease ends.
// No decision about a write depends on it.
func (f *rawFS) openToAll(n *node) bool {
	if !n.IsDir() {
		for _, p := range n.parentList() {
			if f.openToAll(p) {
				return true
			}
		}
		return false
	}
	now := (f.renames.Load()+f.losses.Load()+1)<<1 | 1
	if kept := n.open.Load(); kept|1 == now {
		return kept&1 != 0
	}
	open := f.mayHoldExempt(n)
	if open {
		n.open.Store(now)
	} else {
		n.open.Store(now &^ 1)
	}
	return open
}

func (f *rawFS) mayHoldExempt(dir *node) bool {
	path, ok := f.source.Place(dir.fd)
	w := f.exempt.Where(path, ok)
	if len(w.Names) == 0 {
		return true
	}
	g, err := f.guard(&layout.Rule{Kind: layout.Guarded, Worktree: w.Worktree})
	return err != nil || g.MayHoldExempt(w.Names[0])
}

// Where finds the place of a path below the mount's root, for a person. Symbolic links are followed
// while they stay below it.
func (s *Server) Where(rel string) gate.Where {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	rel = cmp.Or(strings.Trim(rel, "/"), ".")
	fd, err := unix.Openat2(s.source, rel, &how)
	if err == unix.ENOENT {
		dir, name := ".", rel
		if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			dir, name = rel[:i], rel[i+1:]
		}
		if fd, err = unix.Openat2(s.source, dir, &how); err != nil {
			return gate.Where{}
		}
		defer func() { _ = unix.Close(fd) }()
		return s.fs.exempt.Of(fd, name)
	}
	if err != nil {
		return gate.Where{}
	}
	defer func() { _ = unix.Close(fd) }()
	path, ok := s.fs.source.Place(fd)
	w := s.fs.exempt.Where(path, ok)
	var st unix.Stat_t
	w.Linked = unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1
	return w
}
