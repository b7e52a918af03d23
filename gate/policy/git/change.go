package git

import (
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// What is judged by the content must not change between the judgement and the deed. So every change in
// a repository holds change: shared, or alone if the content decides. It is taken when the mutation is
// admitted, and the judgement is then made again; nobody waits for a lease while holding it.

// Take has nothing else changed in the repository that is judged by the content, or nothing else at all.
func (g *Repository) Take(h *engine.Held, alone bool) { h.Take(engine.Repository, &g.change, alone) }

// HasContent reports whether a file lies in the repository. Without one none does.
func (g *Repository) HasContent(n tree.Inode) bool {
	return g != nil && !n.IsDir() && n.In(inRepository)
}

// HasNames reports whether the names in a directory are the repository's. Without one none are.
func (g *Repository) HasNames(dir tree.Inode) bool { return g != nil && inRepository(dir) }
