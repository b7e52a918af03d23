package fusefs

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
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
	if !sure || moved || len(rules) > len(permit{}.of) {
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
	most := int64(noteMax)
	if strings.HasSuffix(rel, "/"+layout.UpdateRefs) {
		most = updateRefsMax
	}
	text, err := f.source.Read(rel, most)
	if errors.Is(err, unix.ELOOP) { // HEAD may be a symbolic link (core.preferSymlinkRefs)
		return f.linkBelow(rel)
	}
	return string(text), err
}

func (f *rawFS) linkBelow(rel string) (string, error) {
	fd, err := f.source.Open(rel, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, noteMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return "ref: " + string(buf[:max(n, 0)]), err
}

// nameRules are the rules for a change of a name by any operation but a rename, and whether the content
// of files decided.
func (f *rawFS) nameRules(c process.Caller, op gate.Op, dir *node, name string) (rules []*layout.Rule, content bool) {
	e := f.entryOf(dir, name)
	rules = make([]*layout.Rule, 0, 4)
	switch isDir := op == gate.OpMkdir || op == gate.OpRmdir; {
	case op == gate.OpMkdir && (e.Mkdir || e.Change == nil && name != ".git" && f.inPlace(dir)):
		return append(rules, layout.Open), false
	case f.git.on && isDir && e.Change == nil:
		return f.resolve(dir.rules(rules), func() (string, bool) { return f.source.PathOf(dir.fd, name) }, f.rulesOfRefDir), false
	case op == gate.OpUnlink:
		rules, content = f.unlinkRules(f.entryRules(rules, dir, name), c, dir, name)
		rules, foreign := f.keepLock(f.keepObject(rules, c, dir, name), c, dir, name)
		return rules, content || foreign
	case isDir && e.Part != nil:
		return addRule(f.entryRules(rules, dir, name), e.Part), false
	case (op == gate.OpSymlink || op == gate.OpMknod) && f.isFrame(dir, name):
		return append(rules, layout.Fixed), false
	}
	return f.entryRules(rules, dir, name), false
}

// keepObject keeps what lies in objects from whoever is not git, unless it holds the main checkout:
// without its objects a repository is lost, and rm -rf .git is soon typed. Removing what is not needed
// is git's; other programs that write objects remove their temporary files.
func (f *rawFS) keepObject(rules []*layout.Rule, c process.Caller, dir *node, name string) []*layout.Rule {
	if !f.git.on || layout.IsTemporary(name) || !f.inRepository(dir) { // the last needs a look, and git renames one for each object
		return rules
	}
	rel, ok := f.source.PathOf(dir.fd, name)
	if object, in := strings.CutPrefix(f.inCommon(rel), "objects/"); ok && in && layout.IsKept(object) && !isGit(c) {
		return addRule(rules, layout.LinkedRoot(f.layout().Tree()).Own)
	}
	return rules
}

// isGit reports whether a caller runs git. It tells what git does for everybody from accidents; a
// program may call itself so.
func isGit(c process.Caller) bool { return process.Program(c) == "git" }

// isFrame reports whether a name is that of a directory which the repository rests on.
func (f *rawFS) isFrame(dir *node, name string) bool {
	if !f.git.on || dir.Role() == layout.Plain {
		return false
	}
	rel, ok := f.source.PathOf(dir.fd, name)
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
	rel, ok := f.source.PathOf(dir.fd, name)
	return ok && f.layout().IsRef(rel)
}

// inRepository reports whether a directory is in the common directory of the repository.
func (f *rawFS) inRepository(dir *node) bool { return f.roleOver(dir).InRepository() }

// inPlace reports whether a directory lies where anybody may make checkouts.
func (f *rawFS) inPlace(dir *node) bool {
	if !f.roleOver(dir).IsPlace() {
		return false
	}
	rel, ok := f.source.Path(dir.fd)
	return ok && f.isPlace(f.layout(), rel)
}

// roleOver is the role of a directory, or of the nearest one above it that has a role.
func (f *rawFS) roleOver(dir *node) layout.Role {
	for at, steps := dir, 0; f.git.on && steps < depthMax; steps++ {
		if r := at.Role(); r != layout.Plain {
			return r
		}
		ps := at.parentList()
		if len(ps) != 1 {
			break
		}
		at = ps[0]
	}
	return layout.Plain
}

// addOnly reports whether an inode is one of those files of git that never change.
func (f *rawFS) addOnly(n *node) bool {
	if !f.git.on || n.IsDir() {
		return false
	}
	var buf [4]*layout.Rule
	return slices.Contains(n.SeenRules(buf[:0]), layout.Objects)
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

// isShared says whether a caller may change what belongs to no checkout: whoever may write at all,
// or, where nobody may write without a lease, who has one of them.
func (f *rawFS) isShared(c process.Caller) bool {
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
