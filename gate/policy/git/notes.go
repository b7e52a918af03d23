package git

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// Anybody may make worktrees/NAME, and write there which directory is its checkout. So a note alone
// gives nobody a directory. It counts if the directory is the checkout's already; if the .git in it
// leads back to NAME, which somebody wrote who might write there; if it is empty and lies where anybody
// may make checkouts; or if the guards of the place agree with the writer of the note.

// located is where a note leads.
type located struct {
	admin string // the name in worktrees/
	root  string // below the source
	fd    int    // of the directory: O_PATH
	key   tree.Key
	name  nameKey
}

// consent is what the guards have said to the writer of a note. The zero value is nobody's.
type consent struct {
	admin string
	root  tree.Key
}

// locate opens the directory that the note of an administration leads to.
func (g *Repository) locate(l layout.Layout, admin string) (at located, ok bool) {
	note, _ := g.tree.Read(path.Join(l.AdminOf(admin), "gitdir"), noteMax)
	root, ok := layout.CheckoutRoot(string(note), admin, l.Repository().Common, g.opts.Bases...)
	if !ok || !l.MayBeCheckout(root) {
		return at, false
	}
	at, ok = g.source.open(root)
	at.admin = admin
	return at, ok
}

// open opens the root of a checkout.
func (s files) open(root string) (at located, ok bool) {
	dir, err := s.Open(path.Dir(root), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return at, false
	}
	defer func() { _ = unix.Close(dir) }()
	fd, st, err := tree.Pin(dir, path.Base(root))
	if err != nil {
		return at, false
	}
	var above unix.Stat_t
	if unix.Fstat(dir, &above) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Dev != above.Dev {
		_ = unix.Close(fd)
		return at, false
	}
	return located{"", root, fd, tree.KeyOf(&st), nameKey{tree.KeyOf(&above), path.Base(root)}}, true
}

// believed reports whether a note counts.
func (g *Repository) believed(old, now *facts, at located, by consent) bool {
	id := old.layout.LinkedID(at.admin)
	if other, taken := now.roots[at.key]; taken && other.id != id {
		return false
	}
	if was, known := old.roots[at.key]; known && (was.id == id || g.source.stillThere(old.layout, was.id)) {
		return was.id == id
	}
	dotGit, _ := g.source.note(path.Join(at.root, ".git"))
	return old.layout.PointsTo(dotGit, at.root, at.admin, g.opts.Bases...) ||
		g.source.isPlace(old.layout, parentOf(at.root)) && g.source.isEmpty(at.fd) ||
		by == consent{at.admin, at.key}
}

// isPlace reports whether anybody may make checkouts in a directory, by its path below the source: in a place, and in
// plain directories below it, as git worktree add .worktrees/feature/x makes them. What has a .git, and what lies in
// it, is a clone or a checkout.
func (s files) isPlace(l layout.Layout, dir string) bool {
	place, ok := l.PlaceOver(dir)
	for ; ok && dir != place; dir = parentOf(dir) {
		fd, err := s.Open(path.Join(dir, ".git"), unix.O_PATH)
		if err == nil {
			_ = unix.Close(fd)
		}
		ok = errors.Is(err, unix.ENOENT)
	}
	return ok
}

// stillThere reports whether the administration of a checkout exists.
func (s files) stillThere(l layout.Layout, id lease.WorktreeID) bool {
	for _, c := range l.Repository().Linked {
		if c.ID != id {
			continue
		}
		fd, err := s.Open(l.AdminOf(c.Name), unix.O_PATH|unix.O_DIRECTORY)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err == nil
	}
	return false
}

// parentOf is path.Dir, but "" for the source itself.
func parentOf(rel string) string {
	if dir := path.Dir(rel); dir != "." {
		return dir
	}
	return ""
}

// isEmpty reports whether a directory has no entries.
func (s files) isEmpty(dir int) bool {
	fd, err := s.Reopen(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 4<<10)
	for {
		n, err := tree.Getdents(fd, buf)
		if err != nil || n == 0 {
			return err == nil
		}
		for rest := buf[:n]; len(rest) > 0; {
			e, l := tree.ParseDirent(rest)
			if l == 0 || e.Name != "." && e.Name != ".." {
				return false
			}
			rest = rest[l:]
		}
	}
}

// Writer asks the file system whether whoever has written a note may make a directory that is open as root: by its permissions, and by the
// guards of its place. asked is false if there is no need to ask the guards.
type Writer func(dir tree.Key, name string, root int) (asked, may bool)

// Noted reads the notes again after a request has changed what may be one. Nothing may be held.
func (g *Repository) Noted(admin string, by Writer) { g.reread(g.consentTo(admin, by)) }

// NotedIn is Noted of a file in an administration.
func (g *Repository) NotedIn(n tree.Inode, by Writer) {
	if rel, ok := g.tree.Path(n.FD()); ok {
		g.Noted(path.Base(path.Dir(rel)), by)
	}
}

// consentTo asks the guards of the place where a note leads whether its writer may make a checkout there.
func (g *Repository) consentTo(admin string, writer Writer) (by consent) {
	old := g.now.Load()
	at, ok := g.locate(old.layout, admin)
	if !ok {
		return by
	}
	defer func() { _ = unix.Close(at.fd) }()
	if g.believed(old, &facts{}, at, by) || old.roots[at.key].id != "" {
		return by
	}
	asked, may := writer(at.name.dir, at.name.name, at.fd)
	switch {
	case may:
		return consent{admin, at.key}
	case asked:
		g.opts.Host.Info("a note of git makes no checkout: its writer may not write where it leads", "checkout", at.root, "note", admin)
	}
	return by
}

// IsNote reports whether a name is that of the note of a checkout. There is none without a repository.
func (g *Repository) IsNote(dir tree.Inode, name string) bool {
	return g != nil && name == "gitdir" && dir.Role().IsAdmin()
}

// ChangesNotes reports whether a change of a name may make a checkout, or end one, and of which
// administration. Without a repository none does.
func (g *Repository) ChangesNotes(dir tree.Inode, name string) (admin string, ok bool) {
	switch {
	case dir.Role().NamesCheckouts():
		return name, g != nil
	case g.IsNote(dir, name):
		rel, ok := g.tree.Path(dir.FD())
		return path.Base(rel), ok
	}
	return "", false
}
