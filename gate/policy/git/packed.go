package git

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// packed-refs holds the values of branches that have no file of their own, of all checkouts. It is everybody's,
// as long as no branch changes that another checkout has in use.

// unlinkRules lets everybody remove a loose ref whose value is in packed-refs (git pack-refs), and
// nobody packed-refs who does not hold what would be lost with it.
func (g *Repository) unlinkRules(rules []*layout.Rule, c process.Caller, dir tree.Inode, name string) (_ []*layout.Rule, content bool) {
	if !inRepository(dir) {
		return rules, false
	}
	rel, ok := g.tree.PathOf(dir.FD(), name)
	branch, _, isRef := layout.RefAt(g.inCommon(rel))
	switch {
	case !ok:
	case g.inCommon(rel) == packedRefs:
		return g.packedRules(rules, nil), true
	case isRef && len(rules) == 1 && rules[0].Kind == layout.Guarded && strings.HasPrefix(g.inCommon(rel), "refs/"):
		if g.isPacked(rel, branch) && isGit(c) {
			return []*layout.Rule{layout.Common}, true
		}
		return rules, true
	}
	return rules, false
}

func (g *Repository) isPacked(rel, branch string) bool {
	loose, ok := g.source.note(rel)
	packed, err := g.packed()
	return ok && err == nil && loose != "" && layout.PackedBranch(packed, branch) == strings.TrimSpace(loose)
}

const packedRefs = "packed-refs"

// packedMax bounds a packed-refs that is looked into, in bytes: about two million refs.
const packedMax = 256 << 20

func (g *Repository) packed() ([]byte, error) {
	return g.tree.Read(path.Join(g.Layout().Repository().Common, packedRefs), packedMax)
}

// packedRules adds the guards of checkouts whose branch would change: the next packed-refs has another
// value for it, and the branch has no file of its own. Where there is one, git reads nothing else, and
// git pack-refs may well come with a value that the branch had before the last commit.
func (g *Repository) packedRules(rules []*layout.Rule, is []byte) []*layout.Rule {
	was, err := g.packed()
	if errors.Is(err, unix.ENOENT) {
		err = nil // it names no branch; the next one may give a value to one that is not born
	}
	used, err2 := g.branchesInUse()
	if err != nil || err2 != nil {
		return layout.AddRule(rules, layout.Fixed)
	}
	for _, u := range used {
		if layout.PackedBranch(was, u.branch) == layout.PackedBranch(is, u.branch) {
			continue
		}
		loose, ok := g.source.note(path.Join(g.Layout().Repository().Common, "refs/heads", u.branch))
		if !ok || !layout.IsValue(loose) {
			rules = layout.AddRule(rules, layout.LinkedRoot(u.by).Own)
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
func (g *Repository) branchesInUse() (all []usedBranch, err error) {
	l := g.Layout()
	common := l.Repository().Common
	admins, err := g.source.admins(common)
	if err != nil {
		return nil, err
	}
	for i, name := range append([]string{""}, admins...) {
		admin, owner := common, l.Tree()
		if i > 0 {
			admin, owner = l.AdminOf(name), l.LinkedID(name)
		}
		for _, file := range layout.BranchFiles {
			text, err := g.source.noteAt(path.Join(admin, file))
			if passing(err) {
				return nil, err
			}
			for _, branch := range layout.BranchesIn(file, text) {
				all = g.withBranch(all, usedBranch{owner, branch})
			}
		}
	}
	return all, nil
}

// withBranch adds a branch, and those that it stands for.
func (g *Repository) withBranch(all []usedBranch, u usedBranch) []usedBranch {
	for ok := true; ok && !slices.Contains(all, u); {
		all = append(all, u)
		text, _ := g.source.note(path.Join(g.Layout().Repository().Common, "refs/heads", u.branch))
		u.branch, ok = layout.BranchIn("HEAD", text)
	}
	return all
}
