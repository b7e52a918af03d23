package layout

import (
	"strings"

	"github.com/jvsfs/jvsfs/lease"
)

// Tree is the worktree of the one guard; "" where there are several.
func (l Layout) Tree() lease.WorktreeID { return l.tree }

// Of is what the layout says of a path below the root, "" for the root itself. Every part of
// the path but the last is taken for a directory; isDir tells of the last. Change and Own of
// the answer are never nil.
func (l Layout) Of(path string, isDir bool) Entry {
	at, roots := l.Root(), l.Roots()
	at.Change = Sealed // no file system lets its root be renamed
	for rest := path; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		there, isRoot := roots[strings.TrimSuffix(strings.TrimSuffix(path, rest), "/")]
		if !isRoot {
			there = l.Entry(at.Role, name)
		}
		own := there.Inode(isDir || rest != "")
		if there.Change == nil {
			there.Change = at.Own
		}
		if there.Own = own; own == nil {
			there.Own = at.Own
		}
		at = there
	}
	return at
}

// Split divides a path below the root, "" for the root itself, into the worktree that guards
// it and the path below that worktree's root. ok is false where no worktree does.
func (l Layout) Split(path string) (id lease.WorktreeID, rest string, ok bool) {
	own := l.Of(path, true).Own
	if own.Kind != Guarded {
		return "", "", false
	}
	root := l.RootOf(own.Worktree)
	if l.HasParts() && own.Worktree != l.tree {
		root = own.Name
	}
	if root == "." {
		return own.Worktree, path, true
	}
	if path != root && !strings.HasPrefix(path, root+"/") { // what is git's own of a linked checkout
		return "", "", false
	}
	return own.Worktree, strings.TrimPrefix(strings.TrimPrefix(path, root), "/"), true
}

// RootOf is where the root of a worktree lies below the source; "." is the source itself, "" what the id does not tell.
func (l Layout) RootOf(id lease.WorktreeID) string {
	if l.git != nil {
		for _, c := range l.git.Linked {
			if c.ID == id {
				return c.Root
			}
		}
	}
	switch {
	case l.HasParts() && id != l.tree:
		return l.rootOfPart(id)
	case l.git != nil && l.git.Main != "" && id == l.tree:
		return l.git.Main
	case l.name != JVS:
		return "."
	case id == mainName:
		return mainName
	}
	return worktreesName + "/" + string(id)
}

// WorktreeOf is the worktree that a person means who names a path below the root.
func (l Layout) WorktreeOf(path string) (lease.WorktreeID, bool) {
	if l.name == Tree && !l.HasParts() || l.name == Folder {
		return l.tree, true
	}
	own := l.Of(path, true).Own
	if l.name == Git && own.Kind != Guarded { // what is everybody's is judged with the repository
		return l.tree, true
	}
	return own.Worktree, own.Kind == Guarded
}
