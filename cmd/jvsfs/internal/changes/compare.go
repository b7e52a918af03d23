package changes

import (
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Kind is what happened to a name.
type Kind byte

// The kinds, by the letters of git status.
const (
	Added   Kind = 'A'
	Changed Kind = 'M'
	Removed Kind = 'D'
	Renamed Kind = 'R'
)

// Change is what happened to one name.
type Change struct {
	Kind   Kind
	Path   string
	From   string // of a rename
	Dir    bool
	Within int // how many names below it were added or removed with it
}

// Report is what happened to a tree.
type Report struct {
	Counts  map[Kind]int
	Changes []Change // in the order of paths; what is below a directory of the same kind is counted there
	Left    int      // how many names there was no room for in Changes
}

// held bounds the names in memory. Beyond it, names are counted alone, and no rename is found.
const held = 50_000

// Since compares the tree with the one of now.
func (t *Tree) Since(seen func(int)) (Report, error) { return t.since(held, seen) }

func (t *Tree) since(most int, seen func(int)) (Report, error) {
	was, err := t.entries()
	if err != nil {
		return Report{}, err
	}
	c := comparison{most: most, above: map[Kind]int{}, report: Report{Counts: map[Kind]int{}}}
	before, more := was.next()
	err = walk(t.root, counted(seen, func(now Entry) error {
		for ; more == nil && comparePaths(before.Path, now.Path) < 0; before, more = was.next() {
			c.note(Removed, before, Entry{})
		}
		switch {
		case more == nil && before.Path == now.Path:
			if differ(before, now) {
				c.note(Changed, before, now)
			}
			before, more = was.next()
		default:
			c.note(Added, Entry{}, now)
		}
		return nil
	}))
	for ; err == nil && more == nil; before, more = was.next() {
		c.note(Removed, before, Entry{})
	}
	if err == nil && !errors.Is(more, io.EOF) {
		err = more
	}
	return c.result(), err
}

// differ reports whether a name has something else now. The times of a directory tell of names in it.
func differ(a, b Entry) bool {
	if a.IsDir() && b.IsDir() {
		return a.Mode != b.Mode || a.UID != b.UID || a.GID != b.GID
	}
	a.Path, b.Path, a.BTime, b.BTime = "", "", 0, 0
	return a != b
}

// noted is a change with the entries that tell a rename.
type noted struct {
	kind        Kind
	before, now Entry
}

func (n noted) path() string {
	if n.kind == Removed {
		return n.before.Path
	}
	return n.now.Path
}

type comparison struct {
	most   int
	noted  []noted
	above  map[Kind]int // the latest directory that came or went as a whole, in the report
	report Report
}

func (c *comparison) note(kind Kind, before, now Entry) {
	c.report.Counts[kind]++
	if len(c.noted) >= c.most {
		c.report.Left++
		return
	}
	c.noted = append(c.noted, noted{kind, before, now})
}

func (c *comparison) result() Report {
	from := map[string]string{} // of each name that another name became
	if c.report.Left == 0 {
		from = c.renames()
	}
	gone := map[string]bool{}
	for _, old := range from {
		gone[old] = true
	}
	for _, n := range c.noted {
		old, renamed := from[n.path()]
		switch {
		case n.kind == Removed && gone[n.path()]: // it is told with its new name
		case n.kind != Removed && renamed:
			c.tell(Change{Kind: Renamed, Path: n.path(), From: old, Dir: n.now.IsDir()}, from)
		case n.kind == Removed:
			c.tell(Change{Kind: Removed, Path: n.path(), Dir: n.before.IsDir()}, from)
		default:
			c.tell(Change{Kind: n.kind, Path: n.path(), Dir: n.now.IsDir()}, from)
		}
	}
	return c.report
}

// renames finds names that have the file of a name that is gone, and counts them anew.
func (c *comparison) renames() map[string]string {
	lost := map[uint64][]Entry{}
	for _, n := range c.noted {
		if n.kind == Removed {
			lost[n.before.Inode] = append(lost[n.before.Inode], n.before)
		}
	}
	from := map[string]string{}
	for _, n := range c.noted {
		if n.kind == Removed || n.kind == Changed && n.before.Inode == n.now.Inode {
			continue
		}
		was := lost[n.now.Inode]
		i := slices.IndexFunc(was, func(e Entry) bool { return sameFile(e, n.now) })
		if i < 0 {
			continue
		}
		from[n.now.Path] = was[i].Path
		lost[n.now.Inode] = slices.Delete(was, i, i+1)
		c.report.Counts[Removed]--
		c.report.Counts[n.kind]--
		if !c.movedAlong(n.now.Path, from) {
			c.report.Counts[Renamed]++
		}
	}
	return from
}

// movedAlong reports whether a name was renamed only as a part of its directory. Directories come first.
func (c *comparison) movedAlong(name string, from map[string]string) bool {
	old, is := from[path.Dir(name)]
	return is && from[name] == path.Join(old, path.Base(name))
}

// sameFile tells a file with a new name from a new file that has got the inode of an old one.
func sameFile(a, b Entry) bool {
	switch {
	case (a.Mode^b.Mode)&unix.S_IFMT != 0:
		return false
	case a.BTime != 0 && b.BTime != 0:
		return a.BTime == b.BTime
	}
	return a.IsDir() || a.Size == b.Size && a.MTime == b.MTime
}

// tell adds a change to the report, or counts it with its directory.
func (c *comparison) tell(change Change, from map[string]string) {
	if change.Kind == Renamed && c.movedAlong(change.Path, from) {
		return
	}
	if i, is := c.above[change.Kind]; is && strings.HasPrefix(change.Path, c.report.Changes[i].Path+"/") {
		c.report.Changes[i].Within++
		return
	}
	if change.Dir && (change.Kind == Added || change.Kind == Removed) {
		c.above[change.Kind] = len(c.report.Changes)
	}
	c.report.Changes = append(c.report.Changes, change)
}
