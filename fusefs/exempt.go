package fusefs

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// The rules that exempt places need to know where something is. The backing file system is asked
// each time; a path of the caller is never used. The kernel tells the current name by which a
// descriptor was opened (d_path), even if somebody has renamed a directory above it, through any
// mount. A directory has no other name, and a file with more names is exempt nowhere. If that name
// is gone but the file got another one, as after link(2) and unlink(2), the name under which it was
// last seen counts, if the file is still there.

// called is the name under which a file was last seen.
type called struct {
	dir  *node
	name string
}

// whereNode returns the place of an inode.
func (f *rawFS) whereNode(n *node) gate.Where {
	if n.IsDir() {
		path, ok := f.source.Place(n.fd)
		return f.where(path, ok)
	}
	var st unix.Stat_t
	if unix.Fstat(n.fd, &st) != nil {
		return gate.Where{}
	}
	switch st.Nlink {
	case 0:
		return n.nameless.where()
	case 1:
		if path, ok := f.source.Place(n.fd); ok {
			return f.where(path, true)
		}
		return f.whereCalled(n)
	}
	return gate.Where{Linked: true}
}

// whereCalled returns the place of a file with one name, by the directory in which it was seen.
func (f *rawFS) whereCalled(n *node) gate.Where {
	c := n.called.Load()
	if c == nil {
		return gate.Where{}
	}
	path, ok := f.source.Place(c.dir.fd)
	var st unix.Stat_t
	if !ok || unix.Fstatat(c.dir.fd, c.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || tree.KeyOf(&st) != n.key {
		return gate.Where{}
	}
	if f.nodes.get(c.dir.id) != c.dir { // its descriptor number may have been reused meanwhile
		return gate.Where{}
	}
	return f.where(tree.Join(path, c.name), true)
}

// whereEntry returns the place of a name in a directory.
func (f *rawFS) whereEntry(dirfd int, name string) gate.Where {
	path, ok := f.source.Place(dirfd)
	return f.where(tree.Join(path, name), ok)
}

// where splits a path below the source into the worktree and the name in it.
func (f *rawFS) where(path string, ok bool) gate.Where {
	if !ok {
		return gate.Where{}
	}
	id, name, ok := f.layout().Split(strings.TrimPrefix(path, "/"))
	if !ok {
		return gate.Where{}
	}
	return gate.Where{Worktree: id, Names: []string{name}}
}

// anyName stands for the missing name of a nameless file. No file has this name.
const anyName = "\x00"

// exemptPlaceOf returns the place of a mutation of an inode. Without rules it is nil and costs nothing,
// like the others.
func (f *rawFS) exemptPlaceOf(op gate.Op, n *node) *exemptPlace {
	if !f.moveLock.on {
		return nil
	}
	if op == gate.OpTmpfile {
		return newExemptPlace(f, false, func(*exemptPlace) gate.Where { return f.whereEntry(n.fd, anyName) })
	}
	return newExemptPlace(f, false, func(*exemptPlace) gate.Where { return f.whereNode(n) })
}

// exemptPlaceOfEntry returns the place of a mutation that adds or removes a name.
func (f *rawFS) exemptPlaceOfEntry(op gate.Op, dir *node, name string) *exemptPlace {
	if !f.moveLock.on {
		return nil
	}
	return newExemptPlace(f, false, func(s *exemptPlace) gate.Where {
		w := f.whereEntry(dir.fd, name)
		if op == gate.OpUnlink {
			f.touch(s, &w, dir, name)
		}
		return w
	})
}

// touch notes that the mutation also changes the inode of a name: it removes its last name, or one
// of several. A directory needs no look: it has one name and must be empty.
func (f *rawFS) touch(s *exemptPlace, w *gate.Where, dir *node, name string) (isDir bool) {
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return true
	}
	w.Linked = w.Linked || st.Nlink > 1
	s.dies = f.nodes.find(tree.KeyOf(&st))
	return false
}

// exemptPlaceOfRename returns the place of both names of a rename, and of names below that stay guarded
// everywhere.
func (f *rawFS) exemptPlaceOfRename(from *node, oldName string, to *node, newName string, flags uint32) *exemptPlace {
	if !f.moveLock.on {
		return nil
	}
	return newExemptPlace(f, true, func(s *exemptPlace) gate.Where {
		w, target := f.whereEntry(from.fd, oldName), f.whereEntry(to.fd, newName)
		if w.Worktree != target.Worktree || len(w.Names) == 0 || len(target.Names) == 0 {
			return gate.Where{}
		}
		w.Names = slices.Concat(w.Names, target.Names)
		exchange := flags&unix.RENAME_EXCHANGE != 0
		for i, e := range []called{{from, oldName}, {to, newName}} {
			s.dies = nil // of the second name, if any
			if f.touch(s, &w, e.dir, e.name) && (i == 0 || exchange) {
				if err := f.reservedBelow(&w, e.dir, e.name, w.Names[i], w.Names[1-i]); err != nil {
					return gate.Where{}
				}
			}
		}
		if exchange {
			s.dies = nil
		}
		return w
	})
}

// exemptPlaceOfLink returns the place of an inode and of its new name.
func (f *rawFS) exemptPlaceOfLink(n, dir *node, name string) *exemptPlace {
	if !f.moveLock.on {
		return nil
	}
	return newExemptPlace(f, true, func(*exemptPlace) gate.Where {
		w, target := f.whereNode(n), f.whereEntry(dir.fd, name)
		if w.Worktree != target.Worktree || len(w.Names) == 0 {
			return gate.Where{Linked: w.Linked}
		}
		w.Names = slices.Concat(w.Names, target.Names)
		return w
	})
}

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
	w := f.where(path, ok)
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
		return s.fs.whereEntry(fd, name)
	}
	if err != nil {
		return gate.Where{}
	}
	defer func() { _ = unix.Close(fd) }()
	path, ok := s.fs.source.Place(fd)
	w := s.fs.where(path, ok)
	var st unix.Stat_t
	w.Linked = unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1
	return w
}
