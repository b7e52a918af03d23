// Package exempt finds out where a mutation takes place, for the rules that let anybody write in some places of a worktree ([gate.Exempt]), and
// keeps what is guarded and what is not apart while names move between them.
//
// It promises that what was admitted for its place has taken effect before its inode gets another place, through any mount that shares the lock
// directory. It does not promise that for a rename behind the mounts.
package exempt

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// The rules that exempt places need to know where something is. The backing file system is asked
// each time; a path of the caller is never used. The kernel tells the current name by which a
// descriptor was opened (d_path), even if somebody has renamed a directory above it, through any
// mount. A directory has no other name, and a file with more names is exempt nowhere. If that name
// is gone but the file got another one, as after link(2) and unlink(2), the name under which it was
// last seen counts, if the file is still there.

// Inodes is what is asked of those that the kernel knows.
type Inodes interface {
	// Seen is the directory and the name where a file was seen last, while the kernel knows the directory.
	Seen(tree.Inode) (dir int, name string, ok bool)
	// Nameless is the place of a file that has no name any more.
	Nameless(tree.Inode) gate.Where
	// Find is the inode with a key; nil: the kernel does not know it.
	Find(tree.Key) tree.Inode
}

// Places finds the places of mutations. Without rules there are none, which costs nothing.
type Places struct {
	Lock   *MoveLock
	Tree   *tree.Tree
	Layout func() layout.Layout // as it is now
	Inodes Inodes
}

func (p *Places) place(alone bool, find func(*Place) gate.Where) *Place {
	return &Place{lock: p.Lock, alone: alone, find: find}
}

// anyName stands for the missing name of a nameless file. No file has this name.
const anyName = "\x00"

// whereInode returns the place of an inode.
func (p *Places) whereInode(n tree.Inode) gate.Where {
	if n.IsDir() {
		path, ok := p.Tree.Place(n.FD())
		return p.Where(path, ok)
	}
	var st unix.Stat_t
	if unix.Fstat(n.FD(), &st) != nil {
		return gate.Where{}
	}
	switch st.Nlink {
	case 0:
		return p.Inodes.Nameless(n)
	case 1:
		if path, ok := p.Tree.Place(n.FD()); ok {
			return p.Where(path, true)
		}
		return p.whereSeen(n)
	}
	return gate.Where{Linked: true}
}

// whereSeen returns the place of a file with one name, by the directory in which it was seen.
func (p *Places) whereSeen(n tree.Inode) gate.Where {
	dir, name, ok := p.Inodes.Seen(n)
	if !ok {
		return gate.Where{}
	}
	path, ok := p.Tree.Place(dir)
	var st unix.Stat_t
	if !ok || unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || tree.KeyOf(&st) != n.Key() {
		return gate.Where{}
	}
	if again, called, ok := p.Inodes.Seen(n); !ok || again != dir || called != name { // its descriptor number may have been reused meanwhile
		return gate.Where{}
	}
	return p.Where(tree.Join(path, name), true)
}

// Of returns the place of a name in a directory.
func (p *Places) Of(dirfd int, name string) gate.Where {
	path, ok := p.Tree.Place(dirfd)
	return p.Where(tree.Join(path, name), ok)
}

// Where splits a path below the source into the worktree and the name in it.
func (p *Places) Where(path string, ok bool) gate.Where {
	if !ok {
		return gate.Where{}
	}
	id, name, ok := p.Layout().Split(strings.TrimPrefix(path, "/"))
	if !ok {
		return gate.Where{}
	}
	return gate.Where{Worktree: id, Names: []string{name}}
}

// OfInode returns the place of a mutation of an inode. Without rules it is nil and costs nothing,
// like the others.
func (p *Places) OfInode(op gate.Op, n tree.Inode) *Place {
	if !p.Lock.On {
		return nil
	}
	if op == gate.OpTmpfile {
		return p.place(false, func(*Place) gate.Where { return p.Of(n.FD(), anyName) })
	}
	return p.place(false, func(*Place) gate.Where { return p.whereInode(n) })
}

// OfEntry returns the place of a mutation that adds or removes a name.
func (p *Places) OfEntry(op gate.Op, dir tree.Inode, name string) *Place {
	if !p.Lock.On {
		return nil
	}
	return p.place(false, func(s *Place) gate.Where {
		w := p.Of(dir.FD(), name)
		if op == gate.OpUnlink {
			p.touch(s, &w, dir, name)
		}
		return w
	})
}

// touch notes that the mutation also changes the inode of a name: it removes its last name, or one
// of several. A directory needs no look: it has one name and must be empty.
func (p *Places) touch(s *Place, w *gate.Where, dir tree.Inode, name string) (isDir bool) {
	var st unix.Stat_t
	if unix.Fstatat(dir.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return true
	}
	w.Linked = w.Linked || st.Nlink > 1
	s.dies = p.Inodes.Find(tree.KeyOf(&st))
	return false
}

// OfRename returns the place of both names of a rename, and of names below that stay guarded
// everywhere.
func (p *Places) OfRename(from tree.Inode, oldName string, to tree.Inode, newName string, flags uint32) *Place {
	if !p.Lock.On {
		return nil
	}
	return p.place(true, func(s *Place) gate.Where {
		w, target := p.Of(from.FD(), oldName), p.Of(to.FD(), newName)
		if w.Worktree != target.Worktree || len(w.Names) == 0 || len(target.Names) == 0 {
			return gate.Where{}
		}
		w.Names = slices.Concat(w.Names, target.Names)
		exchange := flags&unix.RENAME_EXCHANGE != 0
		for i, e := range []engine.Name{{Dir: from, Name: oldName}, {Dir: to, Name: newName}} {
			s.dies = nil // of the second name, if any
			if p.touch(s, &w, e.Dir, e.Name) && (i == 0 || exchange) {
				if err := reservedBelow(&w, e.Dir.FD(), e.Name, w.Names[i], w.Names[1-i]); err != nil {
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

// OfLink returns the place of an inode and of its new name.
func (p *Places) OfLink(n, dir tree.Inode, name string) *Place {
	if !p.Lock.On {
		return nil
	}
	return p.place(true, func(*Place) gate.Where {
		w, target := p.whereInode(n), p.Of(dir.FD(), name)
		if w.Worktree != target.Worktree || len(w.Names) == 0 {
			return gate.Where{Linked: w.Linked}
		}
		w.Names = slices.Concat(w.Names, target.Names)
		return w
	})
}
