package fusefs

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// entryName is a name in a directory.
type entryName struct {
	dir  *node
	name string
}

// target is a name, what the rules say of it, and what lies there. A request looks once: the kernel holds the directory's lock
// from before it asks until it has the answer (do_unlinkat, do_renameat2, lookup_open), so through this mount nobody changes
// the name meanwhile, and a mount with rules is the only one of its directory.
type target struct {
	entryName
	path   string // below the source
	place  lockfile.Place
	exists bool // exists and isDir are looked at where the rules say something of the place, and of a name that is moved
	isDir  bool
	gets   tenure.File // the lock file that gets the name by a link
}

// targetOf finds out what the rules say of a name.
func (f *rawFS) targetOf(dir *node, name string) target {
	if !f.ruled() {
		return target{entryName: entryName{dir, name}}
	}
	in, ok := f.dirPath(dir)
	return f.targetIn(dir, in, ok, name)
}

// targetIn is targetOf in a directory whose path is known.
func (f *rawFS) targetIn(dir *node, in string, ok bool, name string) target {
	s := target{entryName: entryName{dir, name}}
	if !ok {
		return s
	}
	s.path = tree.Relative(tree.Join(in, name))
	if s.place = f.opts.Locks.Rules().At(s.path); !s.place.Free() {
		s.exists, s.isDir = kindAt(s.entryName)
	}
	return s
}

// targetsOf looks at the two names of a rename. A directory can only replace a directory, so what lies at the new name
// of a file matters where a rule says something of it.
func (f *rawFS) targetsOf(r renaming) (seen [2]target) {
	if !f.ruled() {
		return [2]target{{entryName: entryName{r.from, r.oldName}}, {entryName: entryName{r.to, r.newName}}}
	}
	from, ok := f.dirPath(r.from)
	to, okTo := from, ok
	if r.to != r.from {
		to, okTo = f.dirPath(r.to)
	}
	seen = [2]target{f.targetIn(r.from, from, ok, r.oldName), f.targetIn(r.to, to, okTo, r.newName)}
	if seen[0].place.Free() {
		seen[0].exists, seen[0].isDir = kindAt(seen[0].entryName)
	}
	if seen[1].place.Free() && (seen[0].isDir || r.in.Flags&unix.RENAME_EXCHANGE != 0) {
		seen[1].exists, seen[1].isDir = kindAt(seen[1].entryName)
	}
	return seen
}

// movesFiles reports whether a rename is of files alone.
func (r renaming) movesFiles() bool {
	isFile := func(s target) bool { return s.exists && !s.isDir }
	return isFile(r.seen[0]) && (r.in.Flags&unix.RENAME_EXCHANGE == 0 || isFile(r.seen[1]))
}

// kindAt tells whether something lies at a name, and whether it is a directory.
func kindAt(e entryName) (exists, isDir bool) {
	var st unix.Stat_t
	if unix.Fstatat(e.dir.fd, e.name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false, false
	}
	return true, st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// inodeTarget is an inode's path, and what the rules say of it. The zero value says nothing.
type inodeTarget struct {
	path  string // below the source
	place lockfile.Place
}

// inodeTargetOf finds out what the rules say of an inode.
func (f *rawFS) inodeTargetOf(n *node) (s inodeTarget) {
	if !f.ruled() {
		return s
	}
	if path, ok := f.pathOfFile(n); ok {
		s.path, s.place = path, f.opts.Locks.Rules().At(path)
	}
	return s
}

// pathOfFile is the path of an inode below the source; false if it has no name any more.
func (f *rawFS) pathOfFile(n *node) (string, bool) {
	if n.IsDir() {
		path, ok := f.dirPath(n)
		return tree.Relative(path), ok
	}
	if path, ok := f.source.Path(n.fd); ok {
		return path, ok
	}
	c := n.called.Load()
	if c == nil || f.nodes.get(c.dir.id) != c.dir || f.nodeAt(c.dir, c.name) != n {
		return "", false
	}
	return f.source.PathOf(c.dir.fd, c.name)
}
