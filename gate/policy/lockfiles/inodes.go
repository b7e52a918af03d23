package lockfiles

import (
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Place is an inode's path, and what the rules say of it. The zero value says nothing.
type Place struct {
	path    string // below the source
	place   lockfile.Place
	unknown bool // nothing can be said of it, so it is not changed
}

// Place finds out what the rules say of an inode.
func (p *Policy) Place(i tree.Inode) (s Place) {
	if p == nil {
		return s
	}
	if path, ok := p.fs.PathOf(i); ok {
		s.path, s.place = path, p.book.Rules().At(path)
		return s
	}
	s.unknown = p.unknown(i)
	return s
}

// unknown reports whether an inode has a place of which no rule can be asked, on a mount that refuses: the path is too long to be told. Of one
// that has lost its name no rule says anything.
func (p *Policy) unknown(i tree.Inode) bool {
	return p.enforcement.Mode() != gate.Observing && p.tree.TooLong(i.FD())
}

// GuardsOfInode are the locks that guard an inode.
func (p *Policy) GuardsOfInode(op gate.Op, at Place) Guards {
	if op == gate.OpTmpfile { // a file without a name is guarded nowhere
		return nil
	}
	return p.by(nil, at.place.Guards, false)
}

// FixedInode refuses a change of the content or the attributes of a file that a rule lets nobody change. Whoever makes
// it may, while it is open. Where a window is open, that decides, as in FixedName.
func (p *Policy) FixedInode(op gate.Op, c process.Caller, i Inode, at Place) (over Guards, err error) {
	switch {
	case op == gate.OpLink: // GuardsOfLink
		return nil, nil
	case at.unknown:
		return nil, unix.ENAMETOOLONG
	case at.place.Free() || i.IsDir():
		return nil, nil
	}
	over = p.over(at.path, at.place)
	switch making := i.BeingMade(); {
	case len(at.place.Once) > 0 && !making && !over.InWindow() && !p.born(at.path, at.place):
		err = fixed(gate.ReasonOnce, op, c, at.place.Once[0], at.path)
	case !making:
		err = p.touch(op, c, at.place)
	}
	return over, err
}

// touch refuses to change what a lock file says that somebody else holds.
func (p *Policy) touch(op gate.Op, c process.Caller, at lockfile.Place) error {
	for _, i := range at.Locks {
		l := p.book.Use(i)
		no := l.Touch(tenure.Change{Op: op, Caller: c})
		l.Done()
		if no != nil {
			return told(no)
		}
	}
	return nil
}

// Growing is the rule by which a file may only grow; nil if there is none.
func (p *Policy) Growing(i tree.Inode) *lockfile.Rule {
	if p == nil || !p.book.Rules().SomeGrow() {
		return nil
	}
	if at := p.Place(i); len(at.place.Append) > 0 {
		return at.place.Append[0]
	}
	return nil
}

// Grows refuses to change what lies at an offset of a file that only grows. The end stays where it is until the call is made: the kernel lets
// one request at a time through that may move it (fuse_dio_wr_exclusive_lock, and the inode's lock for a truncation, fallocate and
// copy_file_range), and a mount with rules is the only one of its directory. fd is open on the file.
func (p *Policy) Grows(op gate.Op, c process.Caller, i tree.Inode, r *lockfile.Rule, fd int, off uint64) error {
	if !p.fs.Replaced() && !belowEnd(fd, off) {
		return nil
	}
	path, _ := p.fs.PathOf(i)
	return fixed(gate.ReasonAppend, op, c, r, path)
}

func belowEnd(fd int, off uint64) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) != nil || off < uint64(max(st.Size, 0))
}

// Windows counts a change through a handle that was opened before, and adds the windows that are open over the file.
func (p *Policy) Windows(i tree.Inode) Guards {
	counted := Guards{{counts: p.book.Pass()}}
	if !p.book.SomeWindow() {
		return counted
	}
	at := p.Place(i)
	if !fixes(at.place) {
		return counted
	}
	return p.windows(counted, at.path, at.place)
}
