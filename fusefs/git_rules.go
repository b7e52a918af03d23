package fusefs

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/lease"
)

// Some rules of a git repository depend on what its files say. Who has a branch checked out is read
// each time somebody changes the branch or its log: nothing is remembered that could be out of date.
// What git gc does to the refs and logs of other checkouts is told from a change by the content
// (gate/layout, git_compact.go).

// resolve replaces OfBranch by the rule of the branch that a path belongs to. at is asked only then.
func (f *rawFS) resolve(rules []*layout.Rule, at func() (string, bool), of func(rel string) *layout.Rule) []*layout.Rule {
	i := slices.Index(rules, layout.Heads)
	if i < 0 {
		return rules
	}
	rel, ok := at()
	r := layout.Sealed // a place that cannot be told is nobody's
	if ok {
		r = of(rel)
	}
	return addRule(slices.Delete(rules, i, i+1), r)
}

// ruleOfRef is the rule of the name of a branch or of its log.
func (f *rawFS) ruleOfRef(rel string) *layout.Rule {
	l := f.layout()
	return l.RuleOfRef(rel, f.gitAdmins(l.Repository().Common), f.note)
}

// ruleOfRefContent is the rule of what lies there.
func (f *rawFS) ruleOfRefContent(rel string) *layout.Rule {
	l := f.layout()
	return l.RuleOfRefContent(rel, f.gitAdmins(l.Repository().Common), f.note)
}

// note reads a file of git that holds a path or the name of a ref.
func (f *rawFS) note(rel string) (string, bool) {
	text, err := f.readBelow(rel, noteMax)
	if errors.Is(err, unix.ELOOP) { // HEAD may be a symbolic link (core.preferSymlinkRefs)
		return f.linkBelow(rel)
	}
	return string(text), err == nil
}

func (f *rawFS) linkBelow(rel string) (string, bool) {
	fd, err := f.openBelow(rel, unix.O_PATH)
	if err != nil {
		return "", false
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, noteMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return "ref: " + string(buf[:max(n, 0)]), err == nil
}

// relOf is the path below the source of a name in a directory.
func (f *rawFS) relOf(dir *node, name string) (string, bool) {
	p, ok := f.pathOf(dir.fd)
	return strings.TrimPrefix(join(p, name), "/"), ok
}

// relInCommon is the path of a name below the source, and below the common directory.
func (f *rawFS) relInCommon(dir *node, name string) (rel, in string, ok bool) {
	if rel, ok = f.relOf(dir, name); ok {
		in, ok = f.layout().InCommon(rel)
	}
	return rel, in, ok
}

func (f *rawFS) relOfNode(n *node) (string, bool) {
	p, ok := f.pathOf(n.fd)
	return strings.TrimPrefix(p, "/"), ok
}

// unlinkRules lets everybody remove a loose ref whose value is in packed-refs (git pack-refs), and
// nobody packed-refs who does not hold what would be lost with it.
func (f *rawFS) unlinkRules(rules []*layout.Rule, dir *node, name string) []*layout.Rule {
	if !f.git.on || !f.inRepository(dir) {
		return rules
	}
	rel, in, ok := f.relInCommon(dir, name)
	branch, _, isRef := layout.RefAt(in)
	switch {
	case !ok:
		return addRule(rules, layout.Sealed)
	case in == packedRefs:
		return f.packedRules(rules, nil)
	case isRef && len(rules) == 1 && strings.HasPrefix(in, "refs/") && f.isPacked(rel, branch):
		return []*layout.Rule{layout.Common}
	}
	return rules
}

func (f *rawFS) isPacked(rel, branch string) bool {
	loose, ok := f.note(rel)
	packed, err := f.packed()
	return ok && err == nil && loose != "" && layout.PackedBranch(packed, branch) == strings.TrimSpace(loose)
}

const packedRefs = "packed-refs"

// packedMax bounds a packed-refs that is looked into, in bytes: about two million refs.
const packedMax = 256 << 20

func (f *rawFS) packed() ([]byte, error) {
	return f.readBelow(path.Join(f.layout().Repository().Common, packedRefs), packedMax)
}

// replaceRules are the rules for a rename in a git repository, by those of both names: a log that only
// lost lines may be anybody's, packed-refs must keep what other checkouts have only there, and an object
// is replaced by the same bytes only.
func (f *rawFS) replaceRules(rules []*layout.Rule, from *node, oldName string, to *node, newName string) []*layout.Rule {
	if !f.git.on || !f.inRepository(to) && !f.inRepository(from) {
		return rules
	}
	was, old, ok := f.relInCommon(from, oldName)
	is, now, ok2 := f.relInCommon(to, newName)
	object, inObjects := strings.CutPrefix(now, "objects/")
	switch {
	case f.inRepository(from) && !ok, f.inRepository(to) && !ok2:
		return addRule(rules, layout.Sealed)
	case layout.Unmovable(old) && isDirAt(from, oldName), layout.Unmovable(now) && isDirAt(to, newName):
		return []*layout.Rule{layout.Fixed}
	case old == packedRefs:
		return f.packedRules(rules, nil)
	case now == packedRefs:
		text, err := f.readBelow(was, packedMax)
		if err != nil {
			return addRule(rules, layout.Sealed)
		}
		if layout.Replaces(old, now) {
			rules = []*layout.Rule{layout.Common}
		}
		return f.packedRules(rules, text)
	case layout.Replaces(old, now):
		return []*layout.Rule{layout.Common}
	case was == is+".lock" && strings.Contains("/"+now, "/logs/") && f.expires(was, is):
		return []*layout.Rule{layout.Common}
	case inObjects && layout.IsObject(object) && !f.sameBytes(was, is):
		return addRule(rules, layout.Sealed)
	}
	return rules
}

// logMax bounds a log of git that is looked into, in bytes.
const logMax = 64 << 20

func (f *rawFS) expires(newer, log string) bool {
	is, err := f.readBelow(newer, logMax)
	was, err2 := f.readBelow(log, logMax)
	return err == nil && err2 == nil && layout.OnlyExpires(was, is)
}

// sameBytes reports whether a file that is to be replaced has the bytes of the other one, or is not
// there. What cannot be read is not the same.
func (f *rawFS) sameBytes(newer, older string) bool {
	was, err := f.openBelow(older, unix.O_RDONLY)
	if errors.Is(err, unix.ENOENT) {
		return true
	}
	a := os.NewFile(uintptr(was), older)
	defer a.Close() //nolint:errcheck // only read from; nil after an error
	is, err2 := f.openBelow(newer, unix.O_RDONLY)
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

// packedRules adds the guards of checkouts whose branch would change: it has no file of its own, and
// the next packed-refs has another value for it.
func (f *rawFS) packedRules(rules []*layout.Rule, is []byte) []*layout.Rule {
	was, err := f.packed()
	if err != nil {
		return rules // there is none, so nobody loses anything
	}
	for owner, branch := range f.branchesInUse() {
		if layout.PackedBranch(was, branch) == layout.PackedBranch(is, branch) {
			continue
		}
		if _, loose := f.note(path.Join(f.layout().Repository().Common, "refs/heads", branch)); !loose {
			rules = addRule(rules, layout.LinkedRoot(owner).Own)
		}
	}
	return rules
}

// branchesInUse are the branches that checkouts have in use.
func (f *rawFS) branchesInUse() iter.Seq2[lease.WorktreeID, string] {
	l := f.layout()
	common := l.Repository().Common
	return func(yield func(lease.WorktreeID, string) bool) {
		for i, name := range append([]string{""}, f.gitAdmins(common)...) {
			admin, owner := common, l.Tree()
			if i > 0 {
				admin, owner = l.AdminOf(name), l.LinkedID(name)
			}
			for _, file := range layout.BranchFiles {
				text, ok := f.note(path.Join(admin, file))
				if !ok {
					continue
				}
				if branch, ok := layout.BranchIn(file, text); ok && !yield(owner, branch) {
					return
				}
			}
		}
	}
}

// inRepository reports whether a directory is in the common directory of the repository.
func (f *rawFS) inRepository(dir *node) bool {
	for at, steps := dir, 0; f.git.on && steps < depthMax; steps++ {
		if r := at.layoutRole(); r != layout.Plain {
			return r.InRepository()
		}
		ps := at.parentList()
		if len(ps) != 1 {
			return false
		}
		at = ps[0]
	}
	return false
}

// addOnly reports whether an inode is one of those files of git that never change.
func (f *rawFS) addOnly(n *node) bool {
	if !f.git.on || n.isDir() {
		return false
	}
	var buf [4]*layout.Rule
	return slices.Contains(n.seenRules(buf[:0]), layout.Objects)
}

// oneRepository reports whether a rename stays within what one guard and everybody may change.
func (f *rawFS) oneRepository(rules []*layout.Rule) bool {
	guards, common := 0, false
	for _, r := range rules {
		switch r.Kind {
		case layout.Guarded:
			guards++
		case layout.Everybodys, layout.AddOnly:
			common = true
		default:
			return false
		}
	}
	return f.git.on && common && guards <= 1
}

// isDirAt reports whether a directory has a name.
func isDirAt(dir *node, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// everybodys says whether a caller may change what belongs to no checkout: whoever may write at all,
// or, where nobody may write without a lease, who has one of them.
func (f *rawFS) everybodys(c gate.Caller) bool {
	if !f.opts.LeaseForAll {
		return true
	}
	holds := false
	f.guards.Range(func(_, g any) bool {
		holds = g.(*gate.Guard).Holds(c)
		return !holds
	})
	return holds
}
