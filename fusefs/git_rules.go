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

// resolve replaces OfBranch by the rules of the branch that a path belongs to. at is asked only then.
func (f *rawFS) resolve(rules []*layout.Rule, at func() (string, bool), of func(rel string) []*layout.Rule) []*layout.Rule {
	i := slices.Index(rules, layout.Heads)
	if i < 0 {
		return rules
	}
	rules = slices.Delete(rules, i, i+1)
	rel, ok := at()
	if !ok {
		return addRule(rules, layout.Fixed) // a place that cannot be told is nobody's
	}
	for _, r := range of(rel) {
		rules = addRule(rules, r)
	}
	return rules
}

// inCommon makes a path below the source one below the common directory.
func (f *rawFS) inCommon(rel string) string { return f.layout().InCommon(rel) }

// rulesOfRef are the rules of the name of a branch or of its log.
func (f *rawFS) rulesOfRef(rel string) []*layout.Rule {
	return f.rulesByHead(rel, layout.Layout.RuleOfRef)
}

// rulesOfRefDir are the rules of making or removing a directory there.
func (f *rawFS) rulesOfRefDir(rel string) []*layout.Rule {
	return f.rulesByHead(rel, layout.Layout.RuleOfRefDir)
}

// rulesOfRefContent are the rules of what lies there.
func (f *rawFS) rulesOfRefContent(rel string) []*layout.Rule {
	return f.rulesByHead(rel, layout.Layout.RuleOfRefContent)
}

// rulesByHead asks who has a branch in use. If a file cannot be read that may say so, nobody changes it.
func (f *rawFS) rulesByHead(rel string, of func(l layout.Layout, rel string, admins []string, read func(string) (string, bool)) []*layout.Rule) []*layout.Rule {
	l := f.layout()
	admins, err := f.gitAdmins(l.Repository().Common)
	sure := err == nil
	in := l.InCommon(rel)
	rules := of(l, in, admins, func(rel string) (string, bool) {
		text, err := f.noteAt(rel)
		sure = sure && !passing(err)
		return text, err == nil
	})
	moved := strings.HasPrefix(in, "../") // behind the mount
	if !sure || moved || len(rules) > len(passes{}.of) {
		return []*layout.Rule{layout.Fixed}
	}
	return rules
}

// passing reports whether an error says nothing about the file.
func passing(err error) bool {
	return slices.ContainsFunc([]error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO, unix.EAGAIN, unix.EINTR, unix.ESTALE, unix.ETIMEDOUT},
		func(e error) bool { return errors.Is(err, e) })
}

// note reads a file of git that holds a path or the name of a ref.
func (f *rawFS) note(rel string) (string, bool) {
	text, err := f.noteAt(rel)
	return text, err == nil
}

func (f *rawFS) noteAt(rel string) (string, error) {
	text, err := f.readBelow(rel, noteMax)
	if errors.Is(err, unix.ELOOP) { // HEAD may be a symbolic link (core.preferSymlinkRefs)
		return f.linkBelow(rel)
	}
	return string(text), err
}

func (f *rawFS) linkBelow(rel string) (string, error) {
	fd, err := f.openBelow(rel, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, noteMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return "ref: " + string(buf[:max(n, 0)]), err
}

// relOf is the path below the source of a name in a directory.
func (f *rawFS) relOf(dir *node, name string) (string, bool) {
	p, ok := f.pathOf(dir.fd)
	return strings.TrimPrefix(join(p, name), "/"), ok
}

func (f *rawFS) relOfNode(n *node) (string, bool) {
	p, ok := f.pathOf(n.fd)
	return strings.TrimPrefix(p, "/"), ok
}

// nameRules are the rules for a change of a name by any operation but a rename, and whether the content
// of files decided.
func (f *rawFS) nameRules(c gate.Caller, op gate.Op, dir *node, name string) (rules []*layout.Rule, content bool) {
	e := f.entryOf(dir, name)
	rules = make([]*layout.Rule, 0, 4)
	switch isDir := op == gate.OpMkdir || op == gate.OpRmdir; {
	case op == gate.OpMkdir && e.Mkdir:
		return append(rules, layout.Open), false
	case f.git.on && isDir && e.Change == nil:
		return f.resolve(dir.rules(rules), func() (string, bool) { return f.relOf(dir, name) }, f.rulesOfRefDir), false
	case op == gate.OpUnlink:
		rules, content = f.unlinkRules(f.entryRules(rules, dir, name), c, dir, name)
		rules, foreign := f.keepLock(f.keepObject(rules, c, dir, name), c, dir, name)
		return rules, content || foreign
	case (op == gate.OpSymlink || op == gate.OpMknod) && f.isFrame(dir, name):
		return append(rules, layout.Fixed), false
	}
	return f.entryRules(rules, dir, name), false
}

// keepObject keeps what lies in objects from whoever is not git, unless it holds the main checkout:
// without its objects a repository is lost, and rm -rf .git is soon typed. Removing what is not needed
// is git's; other programs that write objects remove their temporary files.
func (f *rawFS) keepObject(rules []*layout.Rule, c gate.Caller, dir *node, name string) []*layout.Rule {
	if !f.git.on || strings.Contains(name, "tmp") || layout.IsLock(name) || !f.inRepository(dir) {
		return rules
	}
	if rel, ok := f.relOf(dir, name); ok && strings.HasPrefix(f.inCommon(rel), "objects/") && !isGit(c) {
		return addRule(rules, layout.LinkedRoot(f.layout().Tree()).Own)
	}
	return rules
}

// isGit reports whether a caller runs git. It tells what git does for everybody from accidents; a
// program may call itself so.
func isGit(c gate.Caller) bool { return gate.Program(c) == "git" }

// isFrame reports whether a name is that of a directory which the repository rests on.
func (f *rawFS) isFrame(dir *node, name string) bool {
	if !f.git.on || dir.layoutRole() == layout.Plain {
		return false
	}
	rel, ok := f.relOf(dir, name)
	return ok && f.layout().IsFrame(rel)
}

// linksBranch reports whether a link would give a branch a second name, or a second branch to a file.
func (f *rawFS) linksBranch(n, dir *node, name string) bool {
	if !f.git.on {
		return false
	}
	if f.isBranch(n) || f.isFrame(dir, name) {
		return true
	}
	rel, ok := f.relOf(dir, name)
	return ok && f.layout().IsRef(rel)
}

// unlinkRules lets everybody remove a loose ref whose value is in packed-refs (git pack-refs), and
// nobody packed-refs who does not hold what would be lost with it.
func (f *rawFS) unlinkRules(rules []*layout.Rule, c gate.Caller, dir *node, name string) (_ []*layout.Rule, content bool) {
	if !f.git.on || !f.inRepository(dir) {
		return rules, false
	}
	rel, ok := f.relOf(dir, name)
	branch, _, isRef := layout.RefAt(f.inCommon(rel))
	switch {
	case !ok:
	case f.inCommon(rel) == packedRefs:
		return f.packedRules(rules, nil), true
	case isRef && len(rules) == 1 && rules[0].Kind == layout.Guarded && strings.HasPrefix(f.inCommon(rel), "refs/"):
		if f.isPacked(rel, branch) && isGit(c) {
			return []*layout.Rule{layout.Common}, true
		}
		return rules, true
	}
	return rules, false
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
// is replaced by the same bytes only. content says that the content of files decided.
func (f *rawFS) replaceRules(rules []*layout.Rule, r renaming) (_ []*layout.Rule, content bool) {
	if !f.git.on {
		return rules, false
	}
	rules = f.keepDirs(f.keepDirs(rules, r.from, r.oldName), r.to, r.newName)
	if !f.inRepository(r.to) && !f.inRepository(r.from) && !f.isFrame(r.to, r.newName) {
		return rules, false
	}
	was, ok := f.relOf(r.from, r.oldName)
	is, ok2 := f.relOf(r.to, r.newName)
	if l := f.layout(); !ok || !ok2 || l.IsFrame(is) || l.Unmovable(is) && isDirAt(r.from, r.oldName) || l.IsRef(is) && linksOf(r.from, r.oldName) > 1 {
		return addRule(rules, layout.Fixed), false
	}
	rules = f.keepObject(rules, callerID(&r.in.InHeader), r.from, r.oldName)
	if r.in.Flags&unix.RENAME_EXCHANGE != 0 {
		rules, _ = f.placeRules(rules, was, is, false, false)
		rules, _ = f.placeRules(rules, is, was, false, false)
		return rules, true
	}
	return f.placeRules(rules, was, is, true, isGit(callerID(&r.in.InHeader)))
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
		text, err := f.readBelow(was, packedMax)
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
	rel, ok := f.relOf(dir, name)
	if l := f.layout(); !ok || l.Unmovable(rel) {
		return addRule(rules, layout.Fixed)
	}
	for id := range f.checkoutsBelow(rel) {
		rules = addRule(rules, layout.LinkedRoot(id).Own)
	}
	if len(rules) > len(passes{}.of) {
		rules = addRule(rules, layout.Fixed) // too many to ask
	}
	return rules
}

// checkoutsBelow are the checkouts below a directory, wherever they are now.
func (f *rawFS) checkoutsBelow(rel string) iter.Seq[lease.WorktreeID] {
	return func(yield func(lease.WorktreeID) bool) {
		f.git.pins.RLock()
		defer f.git.pins.RUnlock()
		for _, r := range f.git.now.Load().roots {
			if at, ok := f.pathOf(r.fd); ok && strings.HasPrefix(at, "/"+rel+"/") && !yield(r.id) {
				return
			}
		}
	}
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

// packedRules adds the guards of checkouts whose branch would change: the next packed-refs has another
// value for it, and the branch has no file of its own. Where there is one, git reads nothing else, and
// git pack-refs may well come with a value that the branch had before the last commit.
func (f *rawFS) packedRules(rules []*layout.Rule, is []byte) []*layout.Rule {
	was, err := f.packed()
	if errors.Is(err, unix.ENOENT) {
		return rules // there is none, so nobody loses anything
	}
	used, err2 := f.branchesInUse()
	if err != nil || err2 != nil {
		return addRule(rules, layout.Fixed)
	}
	for _, u := range used {
		if layout.PackedBranch(was, u.branch) == layout.PackedBranch(is, u.branch) {
			continue
		}
		loose, ok := f.note(path.Join(f.layout().Repository().Common, "refs/heads", u.branch))
		if !ok || !layout.IsValue(loose) {
			rules = addRule(rules, layout.LinkedRoot(u.by).Own)
		}
	}
	return rules
}

// usedBranch is a branch that a checkout has in use.
type usedBranch struct {
	by     lease.WorktreeID
	branch string
}

// branchesInUse are all of them. The error says that there may be more.
func (f *rawFS) branchesInUse() (all []usedBranch, err error) {
	l := f.layout()
	common := l.Repository().Common
	admins, err := f.gitAdmins(common)
	if err != nil {
		return nil, err
	}
	for i, name := range append([]string{""}, admins...) {
		admin, owner := common, l.Tree()
		if i > 0 {
			admin, owner = l.AdminOf(name), l.LinkedID(name)
		}
		for _, file := range layout.BranchFiles {
			text, err := f.noteAt(path.Join(admin, file))
			if passing(err) {
				return nil, err
			}
			for branch, ok := layout.BranchIn(file, text); ok && err == nil && !slices.Contains(all, usedBranch{owner, branch}); {
				all = append(all, usedBranch{owner, branch})
				text, err = f.noteAt(path.Join(common, "refs/heads", branch)) // it may stand for another one
				branch, ok = layout.BranchIn("HEAD", text)
			}
		}
	}
	return all, nil
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

// oneRepository reports whether a rename puts what is everybody's in the place of what guards judge, or
// the other way round.
func (f *rawFS) oneRepository(rules []*layout.Rule) bool {
	common := false
	for _, r := range rules {
		switch r.Kind {
		case layout.Guarded:
		case layout.Everybodys, layout.AddOnly:
			common = true
		default:
			return false
		}
	}
	return f.git.on && common
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
