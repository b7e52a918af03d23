package lockfiles

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/lockfile"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tenure"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Name is what the rules say of a name, and what lies there. The zero value says nothing. A request looks once: the kernel holds the
// directory's lock from before it asks until it has the answer (do_unlinkat, do_renameat2, lookup_open), so through this mount nobody
// changes the name meanwhile, and a mount with rules is the only one of its directory.
type Name struct {
	path   string // below the source
	place  lockfile.Place
	exists bool // exists and isDir are looked at where the rules say something of the place, and of a name that is moved
	isDir  bool
	gets   tenure.File // the lock file that gets the name by a link
	// unknown says that nothing can be said of it, so it is not changed.
	unknown bool
}

// Name finds out what the rules say of a name.
func (p *Policy) Name(n engine.Name) Name {
	if p == nil {
		return Name{}
	}
	in, ok := p.fs.PathOf(n.Dir)
	return p.nameIn(in, ok, n)
}

// nameIn is Name in a directory whose path is known.
func (p *Policy) nameIn(in string, ok bool, n engine.Name) (s Name) {
	if !ok {
		return Name{unknown: p.unknown(n.Dir)}
	}
	s.path = tree.Relative(tree.Join(in, n.Name))
	if s.place = p.book.Rules().At(s.path); !s.place.Free() {
		s.lookAt(n)
	}
	return s
}

// lookAt tells whether something lies at a name, and whether it is a directory.
func (s *Name) lookAt(n engine.Name) {
	var st unix.Stat_t
	s.exists = unix.Fstatat(n.Dir.FD(), n.Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
	s.isDir = s.exists && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// Names looks at the two names of a rename. A directory can only replace a directory, so what lies at the new name
// of a file matters where a rule says something of it.
func (p *Policy) Names(old, next engine.Name, exchange bool) (seen [2]Name) {
	if p == nil {
		return seen
	}
	from, ok := p.fs.PathOf(old.Dir)
	to, okTo := from, ok
	if next.Dir != old.Dir {
		to, okTo = p.fs.PathOf(next.Dir)
	}
	seen = [2]Name{p.nameIn(from, ok, old), p.nameIn(to, okTo, next)}
	if seen[0].place.Free() {
		seen[0].lookAt(old)
	}
	if seen[1].place.Free() && (seen[0].isDir || exchange) {
		seen[1].lookAt(next)
	}
	return seen
}

// IsFile reports whether it was looked at, and is no directory's.
func (s Name) IsFile() bool { return s.exists && !s.isDir }

// Gets notes which inode gets the name by a link, if that matters.
func (s *Name) Gets(i tree.Inode) {
	if len(s.place.Locks) > 0 {
		s.gets, _ = fileAt(i.FD(), "")
	}
}

// Guards are the locks that guard a name. Of a directory, those of all right below it count as well.
func (p *Policy) Guards(op gate.Op, s Name) Guards {
	if s.path == "" {
		return nil
	}
	all := p.by(nil, s.place.Guards, !s.exists)
	if op == gate.OpRmdir || op == gate.OpRename && s.isDir {
		all = p.by(all, p.book.Rules().Below(s.path), false)
	}
	if !s.exists && len(s.place.Once) > 0 {
		for _, g := range all {
			g.Lock.Bore(s.path)
		}
	}
	return all
}

// GuardsOfRename adds the locks that guard either name of a rename.
func (p *Policy) GuardsOfRename(over Guards, seen [2]Name) Guards {
	all := append(over, p.Guards(gate.OpRename, seen[0])...)
	for _, g := range p.Guards(gate.OpRename, seen[1]) {
		all = all.with(g)
	}
	return all
}

// GuardsOfLink are the locks that guard a further name of an inode. It must be under the same locks, and as fixed, as
// the inode is: otherwise it could be written by the other name. A name that is a lock itself guards nothing.
func (p *Policy) GuardsOfLink(i tree.Inode, s Name) (Guards, error) {
	if p == nil {
		return nil, nil
	}
	if s.unknown || p.unknown(i) {
		return nil, unix.ENAMETOOLONG
	}
	if path, ok := p.fs.PathOf(i); ok && len(s.place.Locks) == 0 {
		of := p.book.Rules().At(path)
		// A name under once may be the last of a file that is made elsewhere, as git makes its objects.
		if len(of.Once) > 0 && len(s.place.Once) == 0 || len(of.Append) > 0 != (len(s.place.Append) > 0) || !sameLocks(of.Guards, s.place.Guards) {
			return nil, unix.EXDEV
		}
	}
	return append(p.over(s.path, s.place), p.Guards(gate.OpLink, s)...), nil
}

func sameLocks(a, b []lockfile.Instance) bool {
	return slices.EqualFunc(a, b, func(x, y lockfile.Instance) bool { return x.Rule == y.Rule && x.Path == y.Path })
}

// Rules may fix what is made: once (never changed), keep (never removed), append (only grows).

// FixedName refuses a change of the name of something that a rule fixes. Where a window is open, that decides, and is in the guards.
func (p *Policy) FixedName(op gate.Op, c process.Caller, s Name) (Guards, error) {
	if s.unknown {
		return nil, unix.ENAMETOOLONG
	}
	over := p.over(s.path, s.place)
	if len(over) == 0 || over.InWindow() || p.born(s.path, s.place) || !s.exists {
		return over, nil
	}
	return over, refuseFixedName(op, c, s)
}

func refuseFixedName(op gate.Op, c process.Caller, s Name) error {
	p := s.place
	switch {
	case len(p.Keep) > 0:
		return fixed(gate.ReasonKeep, op, c, p.Keep[0], s.path)
	case len(p.Append) > 0:
		return fixed(gate.ReasonAppend, op, c, p.Append[0], s.path)
	case op == gate.OpUnlink || op == gate.OpRmdir: // who collects garbage may remove what is there once
		return nil
	}
	return fixed(gate.ReasonOnce, op, c, p.Once[0], s.path)
}

// born reports whether a path was made in a tenure that still lasts.
func (p *Policy) born(path string, place lockfile.Place) bool {
	for _, i := range place.Guards {
		l := p.book.Use(i)
		born := l.HasBorn(path)
		l.Done()
		if born {
			return true
		}
	}
	return false
}
