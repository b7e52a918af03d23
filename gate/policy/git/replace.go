package git

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// Rename is a change of a name, or an exchange of two.
type Rename struct {
	Caller           process.Caller
	From, To         tree.Inode
	OldName, NewName string
	Flags            uint32 // of renameat2(2)
	// Free says that nobody was to be asked for the new name when the request came, see MovesCheckout.
	Free bool
}

// RulesOfRename are the rules of both names, whether the content of files decided, and whether a rename between them is allowed.
func (g *Repository) RulesOfRename(r Rename) (rules []*layout.Rule, content, ok bool) {
	rules = g.RulesOfEntry(make([]*layout.Rule, 0, 4), r.From, r.OldName)
	n := len(rules)
	if !r.Free || !g.MovesCheckout(r) {
		rules = g.RulesOfEntry(rules, r.To, r.NewName)
	}
	ok = n == 1 && (len(rules) == 1 || oneRepository(rules) || g.MovesRoot(r))
	rules, content = g.replaceRules(rules, r)
	for _, at := range []engine.Name{{Dir: r.From, Name: r.OldName}, {Dir: r.To, Name: r.NewName}} {
		var foreign bool
		rules, foreign = g.keepLock(rules, r.Caller, at.Dir, at.Name)
		content = content || foreign
	}
	return rules, content, ok
}

// MovesRoot reports whether a rename gives the root of a checkout another name, or something in its
// place. Files have rules of their own, and are no roots.
func (g *Repository) MovesRoot(r Rename) bool {
	return (g.Entry(r.From, r.OldName).HasRule() || g.Entry(r.To, r.NewName).HasRule()) && (isDirAt(r.From, r.OldName) || isDirAt(r.To, r.NewName))
}

// replaceRules are the rules for a rename in a git repository, by those of both names: a log that only
// lost lines may be anybody's, packed-refs must keep what other checkouts have only there, and an object
// is replaced by the same bytes only. content says that the content of files decided.
func (g *Repository) replaceRules(rules []*layout.Rule, r Rename) (_ []*layout.Rule, content bool) {
	rules = g.keepDirs(g.keepDirs(rules, r.From, r.OldName), r.To, r.NewName)
	if !inRepository(r.To) && !inRepository(r.From) && !g.isFrame(r.To, r.NewName) {
		return rules, false
	}
	was, ok := g.tree.PathOf(r.From.FD(), r.OldName)
	is, ok2 := g.tree.PathOf(r.To.FD(), r.NewName)
	if l := g.Layout(); !ok || !ok2 || l.IsFrame(is) || l.Unmovable(is) && isDirAt(r.From, r.OldName) || l.IsRef(is) && linksOf(r.From, r.OldName) > 1 {
		return layout.AddRule(rules, layout.Fixed), false
	}
	rules, kept := g.keepReplaced(g.keepObject(rules, r.Caller, r.From, r.OldName), r, was, is)
	if r.Flags&unix.RENAME_EXCHANGE != 0 {
		rules, _ = g.placeRules(rules, was, is, false, false)
		rules, _ = g.placeRules(rules, is, was, false, false)
		return rules, true
	}
	rules, content = g.placeRules(rules, was, is, true, isGit(r.Caller))
	return rules, content || kept
}

// keepReplaced is keepObject for what a rename replaces, but for an object, whose bytes placeRules compares, and for what
// its writer has locked in git's way: libgit2 writes a multi-pack-index so. looked says that it was looked whether there is something
// to replace: somebody may make it meanwhile.
func (g *Repository) keepReplaced(rules []*layout.Rule, r Rename, was, is string) (_ []*layout.Rule, looked bool) {
	object, in := strings.CutPrefix(g.inCommon(is), "objects/")
	locked := was == is+".lock" && r.Flags&unix.RENAME_EXCHANGE == 0
	if !in || locked || !layout.IsKept(object) || layout.IsObject(object) {
		return rules, false
	}
	if _, there := tree.Stat(r.To.FD(), r.NewName); there {
		rules = g.keepObject(rules, r.Caller, r.To, r.NewName)
	}
	return rules, true
}

// placeRules are the rules for putting a file in the place of another one; relax says that anybody may do
// what changes nothing, and git that the caller is git, which expires logs.
func (g *Repository) placeRules(rules []*layout.Rule, was, is string, relax, git bool) (_ []*layout.Rule, content bool) {
	old, now := g.inCommon(was), g.inCommon(is)
	object, inObjects := strings.CutPrefix(now, "objects/")
	switch {
	case old == packedRefs:
		return g.packedRules(rules, nil), true
	case now == packedRefs:
		text, err := g.tree.Read(was, packedMax)
		if err != nil {
			return layout.AddRule(rules, layout.Fixed), true
		}
		if !layout.Canonical(text) {
			return g.packedRules(layout.AddRule(rules, layout.LinkedRoot(g.Layout().Tree()).Own), nil), true
		}
		if relax && layout.Replaces(old, now) {
			rules = []*layout.Rule{layout.Common}
		}
		return g.packedRules(rules, text), true
	case relax && layout.Replaces(old, now):
		return []*layout.Rule{layout.Common}, false
	case git && was == is+".lock" && layout.IsLog(now):
		if g.source.expires(was, is) {
			return []*layout.Rule{layout.Common}, true
		}
		return rules, true
	case layout.IsHead(now):
		return g.headRules(rules, was), true
	case inObjects && layout.IsObject(object):
		if !g.source.sameBytes(was, is) {
			rules = layout.AddRule(rules, layout.Fixed)
		}
		return rules, true
	}
	return rules, false
}

// headRules adds the guards of the checkouts that have in use what a HEAD is about to name. Otherwise
// whoever moves its own HEAD there (git symbolic-ref, git worktree add --force) would have a say in
// their branch.
func (g *Repository) headRules(rules []*layout.Rule, next string) []*layout.Rule {
	text, ok := g.source.note(next)
	branch, onBranch := layout.BranchIn("HEAD", text)
	if !ok || !onBranch {
		return rules
	}
	l := g.Layout()
	for _, r := range g.rulesOfRef(path.Join(l.Repository().Common, "refs/heads", branch)) {
		if r.Kind != layout.Everybodys {
			rules = layout.AddRule(rules, r)
		}
	}
	return rules
}

// keepDirs adds to the rules for another name of a directory what must stay, and the guards of the
// checkouts that lie below it.
func (g *Repository) keepDirs(rules []*layout.Rule, dir tree.Inode, name string) []*layout.Rule {
	if !isDirAt(dir, name) {
		return rules
	}
	rel, ok := g.tree.PathOf(dir.FD(), name)
	if l := g.Layout(); !ok || l.Unmovable(rel) {
		return layout.AddRule(rules, layout.Fixed)
	}
	for id := range g.checkoutsBelow(rel) {
		rules = layout.AddRule(rules, layout.LinkedRoot(id).Own)
	}
	if len(rules) > g.opts.MostRules {
		rules = layout.AddRule(rules, layout.Fixed) // too many to ask
	}
	return rules
}

// MovesCheckout reports whether a rename gives a linked checkout a free name where anybody may make one (git worktree
// move). It concerns nobody but its holder, who might as well make a new one there, and remove this one. Without a repository none does.
func (g *Repository) MovesCheckout(r Rename) bool {
	if g == nil || r.Flags&^unix.RENAME_NOREPLACE != 0 || !g.Entry(r.From, r.OldName).Linked() || g.Entry(r.To, r.NewName).HasRule() || r.NewName == ".git" {
		return false
	}
	st, there := tree.Stat(r.From.FD(), r.OldName)
	if !there {
		return false
	}
	is, ok := g.RootAt(tree.KeyOf(&st))
	free := errors.Is(unix.Fstatat(r.To.FD(), r.NewName, &st, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
	return ok && is.Linked() && free && g.inPlace(r.To)
}

// checkoutsBelow are the checkouts below a directory, wherever they are now.
func (g *Repository) checkoutsBelow(rel string) iter.Seq[lease.WorktreeID] {
	return func(yield func(lease.WorktreeID) bool) {
		g.pins.RLock()
		defer g.pins.RUnlock()
		for _, r := range g.now.Load().roots {
			if at, ok := g.tree.Place(r.fd); ok && strings.HasPrefix(at, "/"+rel+"/") && !yield(r.id) {
				return
			}
		}
	}
}

// logMax bounds a log of git that is looked into, in bytes.
const logMax = 64 << 20

func (s files) expires(newer, log string) bool {
	is, err := s.Read(newer, logMax)
	was, err2 := s.Read(log, logMax)
	return err == nil && err2 == nil && layout.OnlyExpires(was, is)
}

// sameBytes reports whether a file that is to be replaced has the bytes of the other one, or is not
// there. What cannot be read is not the same.
func (s files) sameBytes(newer, older string) bool {
	was, err := s.Open(older, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return true
	}
	a := os.NewFile(uintptr(was), older)
	defer a.Close() //nolint:errcheck // only read from; nil after an error
	is, err2 := s.Open(newer, unix.O_RDONLY)
	b := os.NewFile(uintptr(is), newer)
	defer b.Close() //nolint:errcheck // only read from; nil after an error
	return err == nil && err2 == nil && sameContent(a, b)
}

func sameContent(a, b *os.File) bool {
	x, err := a.Stat()
	y, err2 := b.Stat()
	if err != nil || err2 != nil || x.Size() != y.Size() || !x.Mode().IsRegular() || !y.Mode().IsRegular() {
		return false
	}
	p, q := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(a, p)
		m, err2 := io.ReadFull(b, q)
		switch {
		case !bytes.Equal(p[:n], q[:m]), !atEnd(err) && err != nil, !atEnd(err2) && err2 != nil:
			return false
		case err != nil:
			return atEnd(err2)
		}
	}
}

func atEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// isDirAt reports whether a directory has a name.
func isDirAt(dir tree.Inode, name string) bool { return tree.IsDirAt(dir.FD(), name) }

// linksOf is how many names a name's file has; 0 if it is no file.
func linksOf(dir tree.Inode, name string) uint64 {
	st, ok := tree.Stat(dir.FD(), name)
	if !ok || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return 0
	}
	return tree.Nlink(&st)
}
