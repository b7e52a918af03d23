package fusefs

import (
	"errors"
	"path"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
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
func (f *rawFS) locate(l layout.Layout, admin string) (at located, ok bool) {
	note, _ := f.source.Read(path.Join(l.AdminOf(admin), "gitdir"), noteMax)
	root, ok := layout.CheckoutRoot(string(note), admin, l.Repository().Common, f.git.bases...)
	if !ok || !l.MayBeCheckout(root) {
		return at, false
	}
	at, ok = f.open(root)
	at.admin = admin
	return at, ok
}

// open opens the root of a checkout.
func (f *rawFS) open(root string) (at located, ok bool) {
	dir, err := f.source.Open(path.Dir(root), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return at, false
	}
	defer func() { _ = unix.Close(dir) }()
	fd, st, err := lookupAt(&node{fd: dir}, path.Base(root))
	if err != nil {
		return at, false
	}
	above, ok := statOf(dir)
	if !ok || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Dev != above.Dev {
		_ = unix.Close(fd)
		return at, false
	}
	return located{"", root, fd, tree.KeyOf(&st), nameKey{tree.KeyOf(&above), path.Base(root)}}, true
}

// believed reports whether a note counts.
func (f *rawFS) believed(old, now *gitFacts, at located, by consent) bool {
	id := old.layout.LinkedID(at.admin)
	if other, taken := now.roots[at.key]; taken && other.id != id {
		return false
	}
	if was, known := old.roots[at.key]; known && (was.id == id || f.stillThere(old.layout, was.id)) {
		return was.id == id
	}
	dotGit, _ := f.note(path.Join(at.root, ".git"))
	return old.layout.PointsTo(dotGit, at.root, at.admin, f.git.bases...) ||
		f.isPlace(old.layout, parentOf(at.root)) && f.isEmpty(at.fd) ||
		by == consent{at.admin, at.key}
}

// isPlace reports whether anybody may make checkouts in a directory, by its path below the source: in a place, and in
// plain directories below it, as git worktree add .worktrees/feature/x makes them. What has a .git, and what lies in
// it, is a clone or a checkout.
func (f *rawFS) isPlace(l layout.Layout, dir string) bool {
	place, ok := l.PlaceOver(dir)
	for ; ok && dir != place; dir = parentOf(dir) {
		fd, err := f.source.Open(path.Join(dir, ".git"), unix.O_PATH)
		if err == nil {
			_ = unix.Close(fd)
		}
		ok = errors.Is(err, unix.ENOENT)
	}
	return ok
}

// stillThere reports whether the administration of a checkout exists.
func (f *rawFS) stillThere(l layout.Layout, id lease.WorktreeID) bool {
	for _, c := range l.Repository().Linked {
		if c.ID != id {
			continue
		}
		fd, err := f.source.Open(l.AdminOf(c.Name), unix.O_PATH|unix.O_DIRECTORY)
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
func (f *rawFS) isEmpty(dir int) bool {
	fd, err := f.source.Reopen(dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, 4<<10)
	for {
		n, err := retryInt(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil || n == 0 {
			return err == nil
		}
		for rest := buf[:n]; len(rest) > 0; {
			e, l := parseDirent(rest)
			if l == 0 || e.Name != "." && e.Name != ".." {
				return false
			}
			rest = rest[l:]
		}
	}
}

// noted reads the notes again after a request has changed what may be one. Nothing may be held.
func (f *rawFS) noted(cancel <-chan struct{}, h *fuse.InHeader, admin string) {
	f.reread(f.consentTo(cancel, h, admin))
}

// notedBy is noted of a file in an administration.
func (f *rawFS) notedBy(cancel <-chan struct{}, h *fuse.InHeader, n *node) {
	rel, ok := f.source.Path(n.fd)
	if ok {
		f.noted(cancel, h, path.Base(path.Dir(rel)))
	}
}

// consentTo asks the guards of the place where a note leads whether its writer may make a checkout there.
func (f *rawFS) consentTo(cancel <-chan struct{}, h *fuse.InHeader, admin string) (by consent) {
	old := f.git.now.Load()
	at, ok := f.locate(old.layout, admin)
	if !ok {
		return by
	}
	defer func() { _ = unix.Close(at.fd) }()
	if f.believed(old, &gitFacts{}, at, by) {
		return by
	}
	dir := f.nodes.find(at.name.dir)
	as := callerOf(h, 0, 0)
	as.strict = true
	mayWrite := func() error { return unix.Faccessat2(at.fd, "", unix.W_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH) }
	if dir == nil || h.Pid == 0 || old.roots[at.key].id != "" || as.as(mayWrite) != nil {
		return by
	}
	p, st := f.admitEntry(cancel, gate.OpMkdir, h, f.targetOf(dir, at.name.name))
	if st != fuse.OK {
		f.opts.Log.Info("a note of git makes no checkout: its writer may not write where it leads", zap.String("checkout", at.root), zap.String("note", admin))
		return by
	}
	p.abandon()
	return consent{admin, at.key}
}

// noteGitdir notes that a file is the note of a checkout.
func (f *rawFS) noteGitdir(n, dir *node, name string) {
	if f.isNote(dir, name) {
		n.gitdir.Store(true)
	}
}

// isNote reports whether a name is that of the note of a checkout.
func (f *rawFS) isNote(dir *node, name string) bool {
	return f.git.on && name == "gitdir" && dir.Role().IsAdmin()
}

// changesNotes reports whether a change of a name may make a checkout, or end one, and of which
// administration.
func (f *rawFS) changesNotes(dir *node, name string) (admin string, ok bool) {
	switch {
	case dir.Role().NamesCheckouts():
		return name, true
	case f.isNote(dir, name):
		rel, ok := f.source.Path(dir.fd)
		return path.Base(rel), ok
	}
	return "", false
}
