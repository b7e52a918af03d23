package fusefs

import (
	"slices"

	"github.com/jvsfs/jvsfs/gate/layout"
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
		f.git.Take(&p.held, how == holdAlone)
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
	return now.content && layout.SameRules(j.rules, now.rules)
}

// holdOfNode is how a change of a file's content is held.
func (f *rawFS) holdOfNode(n *node) hold {
	if f.git.HasContent(n) {
		return holdShared
	}
	return holdNothing
}

// holdOfEntry is how a change of a name is held.
func (f *rawFS) holdOfEntry(judged bool, dirs ...*node) hold {
	switch {
	case judged:
		return holdAlone
	case slices.ContainsFunc(dirs, func(dir *node) bool { return f.git.HasNames(dir) }):
		return holdShared
	}
	return holdNothing
}
