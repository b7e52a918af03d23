package fusefs

import (
	"path"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// Parts of a tree are directories with leases of their own (gate/layout). Their roots are found by name, as those of a
// repository's worktrees. To make, remove or rename a root is a change of the directory that it lies in, while nobody
// else holds the part. A directory that parts lie below keeps its name (EXDEV), since all their leases hang on it: tools
// copy instead, and each part asks.

// isDirAt reports whether a directory has a name.
func isDirAt(dir *node, name string) bool { return tree.IsDirAt(dir.fd, name) }

// isDirMoved reports whether a rename gives a directory another name, or something else the name of one.
func isDirMoved(r renaming) bool { return isDirAt(r.from, r.oldName) || isDirAt(r.to, r.newName) }

// movesParts reports whether a rename moves a directory that parts lie below, or puts one in such a place.
func (f *rawFS) movesParts(r renaming) bool {
	above := func(dir *node, name string) bool { return f.entryOf(dir, name).Role.AbovePart() }
	return (above(r.from, r.oldName) || above(r.to, r.newName)) && isDirMoved(r)
}

// partRules adds the rules of the parts whose roots a rename concerns.
func (f *rawFS) partRules(rules []*layout.Rule, r renaming) []*layout.Rule {
	for _, e := range []layout.Entry{f.entryOf(r.from, r.oldName), f.entryOf(r.to, r.newName)} {
		if e.Part != nil && isDirMoved(r) {
			rules = layout.AddRule(rules, e.Part)
		}
	}
	return rules
}

// isFileBelow reports whether something other than a directory lies at a path below the source.
func (f *rawFS) isFileBelow(rel string) bool {
	fd, err := f.source.Open(rel, unix.O_PATH)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR
}

// rootOfPart looks for the root of a part whose id does not tell it. "" is none.
func (f *rawFS) rootOfPart(id lease.WorktreeID) string {
	if !f.opts.Layout.IsPart(id) {
		return ""
	}
	return f.findPart(id, "", f.opts.Layout.Root().Role)
}

func (f *rawFS) findPart(id lease.WorktreeID, dir string, role layout.Role) string {
	fd, err := f.source.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return ""
	}
	names := directoriesIn(fd)
	_ = unix.Close(fd)
	for _, name := range names {
		there, below := f.opts.Layout.Entry(role, name), path.Join(dir, name)
		if there.Part != nil && there.Part.Worktree == id {
			return below
		}
		if !there.Role.AbovePart() {
			continue
		}
		if root := f.findPart(id, below, there.Role); root != "" {
			return root
		}
	}
	return ""
}

// directoriesIn are those that could be read.
func directoriesIn(fd int) (names []string) {
	_ = eachEntry(fd, func(e fuse.DirEntry) {
		if e.Mode == unix.S_IFDIR || e.Mode == 0 {
			names = append(names, e.Name)
		}
	})
	return names
}
