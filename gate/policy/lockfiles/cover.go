package lockfiles

import (
	"slices"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// coverOf names the rule of a place that one covers.
func coverOf(path string, p lockfile.Place) *gate.LockFile {
	for _, i := range slices.Concat(p.Locks, p.Guards) {
		return &gate.LockFile{Rule: i.Rule.Name, Path: path}
	}
	for _, r := range slices.Concat(p.Once, p.Keep, p.Append) {
		return &gate.LockFile{Rule: r.Name, Path: path}
	}
	return nil
}

// CoverOfNames is which rule covers a change of names; nil: none. When another daemon is about to serve them, the locks below a directory are
// its to know, so no directory is renamed.
func (p *Policy) CoverOfNames(op gate.Op, names []Name) *gate.LockFile {
	for _, s := range names {
		if by := coverOf(s.path, s.place); by != nil {
			return by
		}
		if s.path == "" || op != gate.OpRename && op != gate.OpRmdir {
			continue
		}
		if op == gate.OpRename && !s.isDir {
			continue
		}
		rules := p.book.Rules()
		if by := coverOf(s.path, lockfile.Place{Guards: rules.Below(s.path)}); by != nil {
			return by
		}
		if op == gate.OpRename {
			return &gate.LockFile{Rule: rules.All()[0].Name, Path: s.path}
		}
	}
	return nil
}

// CoverOfInode is which rule covers a change of an inode; nil: none.
func (p *Policy) CoverOfInode(op gate.Op, i tree.Inode) *gate.LockFile {
	at := p.Place(i)
	if op == gate.OpTmpfile {
		return nil
	}
	return coverOf(at.path, at.place)
}
