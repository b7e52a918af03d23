package git

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Some rules of a git repository depend on what its files say. Who has a branch checked out is read
// each time somebody changes the branch or its log: nothing is remembered that could be out of date.
// What git gc does to the refs and logs of other checkouts is told from a change by the content
// (gate/layout, git_compact.go).

// resolve replaces OfBranch by the rules of the branch that a path belongs to. at is asked only then.
func (g *Repository) resolve(rules []*layout.Rule, at func() (string, bool), of byHead) []*layout.Rule {
	i := slices.Index(rules, layout.Heads)
	if i < 0 {
		return rules
	}
	rules = slices.Delete(rules, i, i+1)
	rel, ok := at()
	if !ok {
		return layout.AddRule(rules, layout.Fixed) // a place that cannot be told is nobody's
	}
	for _, r := range g.rulesByHead(rel, of) {
		rules = layout.AddRule(rules, r)
	}
	return rules
}

// RulesOfEntry adds the rules for changing a name in a directory.
func (g *Repository) RulesOfEntry(to []*layout.Rule, dir tree.Inode, name string) []*layout.Rule {
	if r := g.Entry(dir, name).Change; r != nil {
		return layout.AddRule(to, r)
	}
	return g.resolve(dir.SeenRules(to), g.source.at(dir, name), layout.Layout.RuleOfRef)
}

// RulesOfContent are the rules for a change of what an inode has in it, by those of its places. Without a repository they are the same.
func (g *Repository) RulesOfContent(rules []*layout.Rule, n tree.Inode) []*layout.Rule {
	if g == nil {
		return rules
	}
	return g.resolve(rules, func() (string, bool) { return g.tree.Path(n.FD()) }, layout.Layout.RuleOfRefContent)
}

// RuleOfBranch is the first rule of the name of a branch, or of its log, by its path below the source.
func (g *Repository) RuleOfBranch(rel string) *layout.Rule { return g.rulesOfRef(rel)[0] }

// at finds the path of a name.
func (s files) at(dir tree.Inode, name string) func() (string, bool) {
	return func() (string, bool) { return s.PathOf(dir.FD(), name) }
}

// inCommon makes a path below the source one below the common directory.
func (g *Repository) inCommon(rel string) string { return g.Layout().InCommon(rel) }

// rulesOfRef are the rules of the name of a branch or of its log.
func (g *Repository) rulesOfRef(rel string) []*layout.Rule {
	return g.rulesByHead(rel, layout.Layout.RuleOfRef)
}

// byHead are the rules of a path below the common directory, by what the files say that are read.
type byHead func(l layout.Layout, rel string, admins []string, read func(string) (string, bool)) []*layout.Rule

// rulesByHead asks who has a branch in use. If a file cannot be read that may say so, nobody changes it.
func (g *Repository) rulesByHead(rel string, of byHead) []*layout.Rule {
	l := g.Layout()
	admins, err := g.source.admins(l.Repository().Common)
	sure := err == nil
	in := l.InCommon(rel)
	rules := of(l, in, admins, func(rel string) (string, bool) {
		text, err := g.source.noteAt(rel)
		sure = sure && !passing(err)
		return text, err == nil
	})
	moved := strings.HasPrefix(in, "../") // behind the mount
	if !sure || moved || len(rules) > g.opts.MostRules {
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
func (s files) note(rel string) (string, bool) {
	text, err := s.noteAt(rel)
	return text, err == nil
}

func (s files) noteAt(rel string) (string, error) {
	most := int64(noteMax)
	if strings.HasSuffix(rel, "/"+layout.UpdateRefs) {
		most = updateRefsMax
	}
	text, err := s.Read(rel, most)
	if errors.Is(err, unix.ELOOP) { // HEAD may be a symbolic link (core.preferSymlinkRefs)
		return s.linkBelow(rel)
	}
	return string(text), err
}

func (s files) linkBelow(rel string) (string, error) {
	fd, err := s.Open(rel, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	buf := make([]byte, noteMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return "ref: " + string(buf[:max(n, 0)]), err
}

// RulesOfName are the rules for a change of a name by any operation but a rename, and whether the content
// of files decided.
func (g *Repository) RulesOfName(c process.Caller, op gate.Op, dir tree.Inode, name string) (rules []*layout.Rule, content bool) {
	e := g.Entry(dir, name)
	rules = make([]*layout.Rule, 0, 4)
	switch isDir := op == gate.OpMkdir || op == gate.OpRmdir; {
	case op == gate.OpMkdir && (e.Mkdir || e.Change == nil && name != ".git" && g.inPlace(dir)):
		return append(rules, layout.Open), false
	case isDir && e.Change == nil:
		return g.resolve(dir.SeenRules(rules), g.source.at(dir, name), layout.Layout.RuleOfRefDir), false
	case op == gate.OpUnlink:
		rules, content = g.unlinkRules(g.RulesOfEntry(rules, dir, name), c, dir, name)
		rules, foreign := g.keepLock(g.keepObject(rules, c, dir, name), c, dir, name)
		return rules, content || foreign
	case (op == gate.OpSymlink || op == gate.OpMknod) && g.isFrame(dir, name):
		return append(rules, layout.Fixed), false
	}
	return g.RulesOfEntry(rules, dir, name), false
}

// keepObject keeps what lies in objects from whoever is not git, unless it holds the main checkout:
// without its objects a repository is lost, and rm -rf .git is soon typed. Removing what is not needed
// is git's; other programs that write objects remove their temporary files.
func (g *Repository) keepObject(rules []*layout.Rule, c process.Caller, dir tree.Inode, name string) []*layout.Rule {
	if layout.IsTemporary(name) || !inRepository(dir) { // the last needs a look, and git renames one for each object
		return rules
	}
	rel, ok := g.tree.PathOf(dir.FD(), name)
	if object, in := strings.CutPrefix(g.inCommon(rel), "objects/"); ok && in && layout.IsKept(object) && !isGit(c) {
		return layout.AddRule(rules, layout.LinkedRoot(g.Layout().Tree()).Own)
	}
	return rules
}

// isGit reports whether a caller runs git. It tells what git does for everybody from accidents; a
// program may call itself so.
func isGit(c process.Caller) bool { return process.Program(c) == "git" }

// isFrame reports whether a name is that of a directory which the repository rests on.
func (g *Repository) isFrame(dir tree.Inode, name string) bool {
	if dir.Role() == layout.Plain {
		return false
	}
	rel, ok := g.tree.PathOf(dir.FD(), name)
	return ok && g.Layout().IsFrame(rel)
}

// NamesBranch reports whether a name is that of a branch, or of a directory which the repository rests on.
func (g *Repository) NamesBranch(dir tree.Inode, name string) bool {
	if g.isFrame(dir, name) {
		return true
	}
	rel, ok := g.tree.PathOf(dir.FD(), name)
	return ok && g.Layout().IsRef(rel)
}

// IsObject reports whether a name is that of an object. Without a repository none is.
func (g *Repository) IsObject(dir tree.Inode, name string) bool {
	if g == nil || !inRepository(dir) {
		return false
	}
	rel, ok := g.tree.PathOf(dir.FD(), name)
	object, in := strings.CutPrefix(g.inCommon(rel), "objects/")
	return ok && in && layout.IsObject(object)
}

// inRepository reports whether a directory is in the common directory of the repository.
func inRepository(dir tree.Inode) bool { return roleOver(dir).InRepository() }

// inPlace reports whether a directory lies where anybody may make checkouts.
func (g *Repository) inPlace(dir tree.Inode) bool {
	if !roleOver(dir).IsPlace() {
		return false
	}
	rel, ok := g.tree.Path(dir.FD())
	return ok && g.source.isPlace(g.Layout(), rel)
}

// roleOver is the role of a directory, or of the nearest one above it that has a role.
func roleOver(dir tree.Inode) layout.Role {
	for at, steps := dir, 0; at != nil && steps < depthMax; at, steps = at.Above(), steps+1 {
		if r := at.Role(); r != layout.Plain {
			return r
		}
	}
	return layout.Plain
}

// depthMax bounds a walk upwards: directories that were moved behind the mount may each have been seen in the other.
const depthMax = 4096

// AddOnly reports whether an inode is one of those files of git that never change. Without a repository none is.
func (g *Repository) AddOnly(n tree.Inode) bool {
	if g == nil || n.IsDir() {
		return false
	}
	var buf [4]*layout.Rule
	return slices.Contains(n.SeenRules(buf[:0]), layout.Objects)
}

// oneRepository reports whether a rename puts what is everybody's in the place of what guards judge, or
// the other way round.
func oneRepository(rules []*layout.Rule) bool {
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
	return common
}
