package fusefs

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// replaceRules are the rules for a rename in a git repository, by those of both names: a log that only
// lost lines may be anybody's, packed-refs must keep what other checkouts have only there, and an object
// is replaced by the same bytes only. content says that the content of files decided.
func (f *rawFS) replaceRules(rules []*layout.Rule, r renaming) (_ []*layout.Rule, content bool) {
	if !f.git.on {
		return rules, false
	}
	rules = f.keepDirs(f.keepDirs(rules, r.from, r.oldName), r.to, r.newName)
	if !f.inRepository(r.to) && !f.inRepository(r.from) && !f.isFrame(r.to, r.newName) {
		return rules, false
	}
	was, ok := f.source.PathOf(r.from.fd, r.oldName)
	is, ok2 := f.source.PathOf(r.to.fd, r.newName)
	if l := f.layout(); !ok || !ok2 || l.IsFrame(is) || l.Unmovable(is) && isDirAt(r.from, r.oldName) || l.IsRef(is) && linksOf(r.from, r.oldName) > 1 {
		return addRule(rules, layout.Fixed), false
	}
	rules, kept := f.keepReplaced(f.keepObject(rules, callerID(&r.in.InHeader), r.from, r.oldName), r, was, is)
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		rules, _ = f.placeRules(rules, was, is, false, false)
		rules, _ = f.placeRules(rules, is, was, false, false)
		return rules, true
	}
	rules, content = f.placeRules(rules, was, is, true, isGit(callerID(&r.in.InHeader)))
	return rules, content || kept
}

// keepReplaced is keepObject for what a rename replaces, but for an object, whose bytes placeRules compares, and for what
// its writer has locked in git's way: libgit2 writes a multi-pack-index so. looked says that it was looked whether there is something
// to replace: somebody may make it meanwhile.
func (f *rawFS) keepReplaced(rules []*layout.Rule, r renaming, was, is string) (_ []*layout.Rule, looked bool) {
	object, in := strings.CutPrefix(f.inCommon(is), "objects/")
	locked := was == is+".lock" && r.in.Flags&unix.RENAME_EXCHANGE == 0
	if !in || locked || !layout.IsKept(object) || layout.IsObject(object) {
		return rules, false
	}
	var st unix.Stat_t
	if unix.Fstatat(r.to.fd, r.newName, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		rules = f.keepObject(rules, callerID(&r.in.InHeader), r.to, r.newName)
	}
	return rules, true
}

// placeRules are the rules for putting a file in the place of another one; relax says that anybody may do
// what changes nothing, and git that the caller is git, which expires logs.
func (f *rawFS) placeRules(rules []*layout.Rule, was, is string, relax, git bool) (_ []*layout.Rule, content bool) {
	old, now := f.inCommon(was), f.inCommon(is)
	object, inObjects := strings.CutPrefix(now, "objects/")
	switch {
	case old == packedRefs:
		return f.packedRules(rules, nil), true
	case now == packedRefs:
		text, err := f.source.Read(was, packedMax)
		if err != nil {
			return addRule(rules, layout.Fixed), true
		}
		if !layout.Canonical(text) {
			return f.packedRules(addRule(rules, layout.LinkedRoot(f.layout().Tree()).Own), nil), true
		}
		if relax && layout.Replaces(old, now) {
			rules = []*layout.Rule{layout.Common}
		}
		return f.packedRules(rules, text), true
	case relax && layout.Replaces(old, now):
		return []*layout.Rule{layout.Common}, false
	case git && was == is+".lock" && layout.IsLog(now):
		if f.expires(was, is) {
			return []*layout.Rule{layout.Common}, true
		}
		return rules, true
	case layout.IsHead(now):
		return f.headRules(rules, was), true
	case inObjects && layout.IsObject(object):
		if !f.sameBytes(was, is) {
			rules = addRule(rules, layout.Fixed)
		}
		return rules, true
	}
	return rules, false
}

// headRules adds the guards of the checkouts that have in use what a HEAD is about to name. Otherwise
// whoever moves its own HEAD there (git symbolic-ref, git worktree add --force) would have a say in
// their branch.
func (f *rawFS) headRules(rules []*layout.Rule, next string) []*layout.Rule {
	text, ok := f.note(next)
	branch, onBranch := layout.BranchIn("HEAD", text)
	if !ok || !onBranch {
		return rules
	}
	l := f.layout()
	for _, r := range f.rulesOfRef(path.Join(l.Repository().Common, "refs/heads", branch)) {
		if r.Kind != layout.Everybodys {
			rules = addRule(rules, r)
		}
	}
	return rules
}

// keepDirs adds to the rules for another name of a directory what must stay, and the guards of the
// checkouts that lie below it.
func (f *rawFS) keepDirs(rules []*layout.Rule, dir *node, name string) []*layout.Rule {
	if !isDirAt(dir, name) {
		return rules
	}
	rel, ok := f.source.PathOf(dir.fd, name)
	if l := f.layout(); !ok || l.Unmovable(rel) {
		return addRule(rules, layout.Fixed)
	}
	for id := range f.checkoutsBelow(rel) {
		rules = addRule(rules, layout.LinkedRoot(id).Own)
	}
	if len(rules) > len(permit{}.of) {
		rules = addRule(rules, layout.Fixed) // too many to ask
	}
	return rules
}

// movesCheckout reports whether a rename gives a linked checkout a free name where anybody may make one (git worktree
// move). It concerns nobody but its holder, who might as well make a new one there, and remove this one.
func (f *rawFS) movesCheckout(r renaming) bool {
	if !f.git.on || r.in.Flags&^unix.RENAME_NOREPLACE != 0 || !f.entryOf(r.from, r.oldName).Linked() || f.isRoot(r.to, r.newName) || r.newName == ".git" {
		return false
	}
	var st unix.Stat_t
	if unix.Fstatat(r.from.fd, r.oldName, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	is, ok := f.git.rootAt(tree.KeyOf(&st))
	free := errors.Is(unix.Fstatat(r.to.fd, r.newName, &st, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
	return ok && is.Linked() && free && f.inPlace(r.to)
}

// checkoutsBelow are the checkouts below a directory, wherever they are now.
func (f *rawFS) checkoutsBelow(rel string) iter.Seq[lease.WorktreeID] {
	return func(yield func(lease.WorktreeID) bool) {
		f.git.pins.RLock()
		defer f.git.pins.RUnlock()
		for _, r := range f.git.now.Load().roots {
			if at, ok := f.source.Place(r.fd); ok && strings.HasPrefix(at, "/"+rel+"/") && !yield(r.id) {
				return
			}
		}
	}
}

// logMax bounds a log of git that is looked into, in bytes.
const logMax = 64 << 20

func (f *rawFS) expires(newer, log string) bool {
	is, err := f.source.Read(newer, logMax)
	was, err2 := f.source.Read(log, logMax)
	return err == nil && err2 == nil && layout.OnlyExpires(was, is)
}

// sameBytes reports whether a file that is to be replaced has the bytes of the other one, or is not
// there. What cannot be read is not the same.
func (f *rawFS) sameBytes(newer, older string) bool {
	was, err := f.source.Open(older, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return true
	}
	a := os.NewFile(uintptr(was), older)
	defer a.Close() //nolint:errcheck // only read from; nil after an error
	is, err2 := f.source.Open(newer, unix.O_RDONLY)
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
func isDirAt(dir *node, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}
