package fusefs

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// What is judged by the content must not change between the judgement and the deed. So every change in
// a repository holds change: shared, or alone if the content decides. It is taken when the mutation is
// admitted, and the judgement is then made again; nobody waits for a lease while holding it.

// hold is how a mutation holds change.
type hold uint8

const (
	holdNothing hold = iota
	holdShared
	holdAlone
)

func (p *permit) hold(f *rawFS, how hold) {
	if how != holdNothing {
		p.held.Take(engine.Repository, &f.git.change, how == holdAlone)
	}
}

// judgement is by which rules a mutation was admitted, and whether the content of files decided.
type judgement struct {
	rules   []*layout.Rule
	content bool
}

// still reports whether it would be judged so again.
func (j judgement) still(again func() judgement) bool {
	if !j.content {
		return true
	}
	now := again()
	return now.content && sameRules(j.rules, now.rules)
}

// sameRules reports whether a mutation is still judged by the rules that have admitted it.
func sameRules(a, b []*layout.Rule) bool { return slices.EqualFunc(a, b, (*layout.Rule).Same) }

// holdOfNode is how a change of a file's content is held.
func (f *rawFS) holdOfNode(n *node) hold {
	if f.git.on && !n.IsDir() && slices.ContainsFunc(n.parentList(), f.inRepository) {
		return holdShared
	}
	return holdNothing
}

// holdOfEntry is how a change of a name is held.
func (f *rawFS) holdOfEntry(judged bool, dirs ...*node) hold {
	switch {
	case judged:
		return holdAlone
	case f.git.on && slices.ContainsFunc(dirs, f.inRepository):
		return holdShared
	}
	return holdNothing
}

// disownMoved ends the handles of a file that has another name, if it is under another rule, or if the
// rules of its new place do not admit them. Nobody who has made an object changes it.
func (f *rawFS) disownMoved(n, dir *node, name string, all bool) {
	if !n.hasWriters() {
		return
	}
	var buf [4]*layout.Rule
	rules := f.rulesIf(true, n, buf[:0])
	all = all || f.isObject(dir, name)
	n.mu.Lock()
	writers := slices.Collect(maps.Keys(n.writers))
	n.mu.Unlock()
	for _, h := range writers {
		if all || slices.ContainsFunc(rules, func(r *layout.Rule) bool { return r.Kind == layout.Guarded && !h.claimedBy(f, r) }) {
			h.revoked.Store(true)
		}
	}
}

// newArea reports whether a directory without a rule of its own has come from one rule to another.
func (f *rawFS) newArea(from, to *node, own *layout.Rule) bool {
	var a, b [4]*layout.Rule
	return f.git.on && own == nil && !sameRules(from.rules(a[:0]), to.rules(b[:0]))
}

// isObject reports whether a name is that of an object.
func (f *rawFS) isObject(dir *node, name string) bool {
	if !f.git.on || !f.inRepository(dir) {
		return false
	}
	rel, ok := f.source.PathOf(dir.fd, name)
	object, in := strings.CutPrefix(f.inCommon(rel), "objects/")
	return ok && in && layout.IsObject(object)
}

// lostBranch reports whether a handle of a branch, or of its log, was opened under another rule than
// the branch has now.
func (f *rawFS) lostBranch(h *handle) bool {
	if !h.ofBranch {
		return false
	}
	var buf [4]*layout.Rule
	for _, r := range f.rulesIf(true, h.node, buf[:0]) {
		if r.Kind == layout.Guarded && !h.claimedBy(f, r) || r.Kind == layout.FixedName {
			return true
		}
	}
	return false
}

// isBranch reports whether a file is a branch, or the log of one.
func (f *rawFS) isBranch(n *node) bool {
	var buf [4]*layout.Rule
	return f.git.on && !n.IsDir() && slices.Contains(n.rules(buf[:0]), layout.Heads)
}

// linksOf is how many names a name's file has; 0 if it is no file.
func linksOf(dir *node, name string) uint64 {
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return 0
	}
	return tree.Nlink(&st)
}
