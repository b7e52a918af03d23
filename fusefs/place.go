package fusefs

import (
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/hardlink"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/gate/tree"
	"github.com/jvsfs/jvsfs/lease"
)

// place is where a node stands. Worktree roots are guarded by their path: restore
// re-creates main by a rename. Everything below inherits through its parents, so
// that a renamed root changes the rule of its whole tree at once.
type place struct {
	role    atomic.Pointer[layout.Role] // nil: Plain
	own     atomic.Pointer[layout.Rule] // of a worktree root, a sealed directory, or the mount's root
	parents atomic.Pointer[[]*node]
	links   hardlink.Names // of a file in a repository

	// Kept only where places are exempt.
	called   atomic.Pointer[called] // of a file
	nameless nameless               // of a file
	open     atomic.Uint64          // of a directory, see openToAll
}

// entryOf is what the layout says of a name in a directory.
func (f *rawFS) entryOf(dir *node, name string) layout.Entry {
	if f.git != nil {
		return f.git.Entry(dir, name)
	}
	return f.opts.Layout.Entry(dir.Role(), name)
}

// entryOfNode is what the layout says of a node that stands at dir/name.
func (f *rawFS) entryOfNode(n, dir *node, name string) layout.Entry {
	if n.IsDir() {
		if e, ok := f.git.RootAt(n.key); ok {
			return e
		}
	}
	return f.entryOf(dir, name)
}

func (n *node) Role() layout.Role {
	if r := n.role.Load(); r != nil {
		return *r
	}
	return layout.Plain
}

// takeRole gives a directory a role. It never loses the one that it has by being seen elsewhere.
func (n *node) takeRole(r layout.Role) {
	if r != layout.Plain && r != n.Role() {
		n.role.Store(&r)
	}
}

// stand notes that the node was seen as dir/name. A rename past the mount does not take a node out
// of its guard, and does not open what is elsewhere now. A rename through the mount is noted by
// moved.
func (f *rawFS) stand(n, dir *node, name string, links uint64) {
	n.addParent(dir, n.IsDir() || links <= 1)
	f.callIt(n, dir, name)
	e := f.entryOfNode(n, dir, name)
	if f.git != nil {
		n.noteGitdir(f.git.IsNote(dir, name))
	}
	if n.IsDir() {
		n.takeRole(e.Role)
	}
	was, r := n.own.Load(), e.Inode(n.IsDir())
	if f.sealed[n.key] { // whatever the layout says of the name
		r = layout.Sealed
	}
	if r == nil && !was.Same(layout.Open) || was.Same(r) {
		return
	}
	n.own.Store(r)
	if n.IsDir() || f.git == nil { // lock files of git come and go all the time
		f.moves.Add(1)
	}
}

// moved notes a rename through the mount: the rule of the new path replaces the
// one of the old.
func (f *rawFS) moved(n, wasIn, dir *node, name string) {
	n.addParent(dir, n.IsDir())
	f.callIt(n, dir, name)
	was := n.own.Load()
	if f.sealed[n.key] {
		return
	}
	r := f.entryOfNode(n, dir, name).Inode(n.IsDir())
	n.own.Store(r)
	if f.git != nil {
		n.noteGitdir(f.git.IsNote(dir, name))
	}
	switch {
	case f.git != nil && !n.IsDir():
		f.disownMoved(n, dir, name, !was.Same(r))
	case was.Same(r) && !f.newArea(wasIn, dir, r):
	default:
		f.moves.Add(1)
		f.handles.revoke(f)
		f.losses.Add(1) // what the kernel believes of the tree rests on the rule that it had
		f.expiry.soon()
	}
}

// addParent remembers one more directory that an inode was seen in; alone
// replaces the others. Files with several links may stand in several worktrees.
func (n *node) addParent(dir *node, alone bool) {
	for {
		old := n.parents.Load()
		if old != nil && (len(*old) == 1 || !alone) {
			for _, p := range *old {
				if p == dir {
					return
				}
			}
		}
		next := []*node{dir}
		if old != nil && !alone {
			next = append(next, *old...)
		}
		if n.parents.CompareAndSwap(old, &next) {
			return
		}
	}
}

// noteGitdir notes that a file is the note of a checkout.
func (n *node) noteGitdir(is bool) {
	if is {
		n.gitdir.Store(true)
	}
}

func (n *node) parentList() []*node {
	if ps := n.parents.Load(); ps != nil {
		return *ps
	}
	return nil
}

// callIt notes under which name a file was seen, for whereCalled.
func (f *rawFS) callIt(n, dir *node, name string) {
	if (f.moveLock.On || f.ruled()) && name != "" && !n.IsDir() {
		n.called.Store(&called{dir, name})
	}
}

// rules adds the rules that an inode is under, without repeating one.
func (n *node) rules(to []*layout.Rule) []*layout.Rule { return n.rulesWithin(to, depthMax) }

func (n *node) rulesWithin(to []*layout.Rule, depth int) []*layout.Rule {
	for _, r := range n.links.Rules() {
		to = layout.AddRule(to, r)
	}
	return n.seenRulesWithin(to, depth)
}

// seenRules are those of the places where the kernel has met the inode.
func (n *node) SeenRules(to []*layout.Rule) []*layout.Rule { return n.seenRulesWithin(to, depthMax) }

// seenRulesWithin goes upwards for so many steps. Directories that were moved behind the
// mount may each have been seen in the other; nobody writes below those until they are
// seen where they are.
func (n *node) seenRulesWithin(to []*layout.Rule, depth int) []*layout.Rule {
	for at := n; depth > 0; depth-- {
		if r := at.own.Load(); r != nil {
			return layout.AddRule(to, r)
		}
		ps := at.parents.Load()
		if ps == nil {
			return layout.AddRule(to, layout.Open)
		}
		if len(*ps) == 1 {
			at = (*ps)[0]
			continue
		}
		for _, p := range *ps {
			to = p.rulesWithin(to, depth-1)
		}
		return to
	}
	return layout.AddRule(to, layout.Sealed)
}

// entryRules adds the rules for changing the entry name in dir.
func (f *rawFS) entryRules(to []*layout.Rule, dir *node, name string) []*layout.Rule {
	if f.git != nil {
		return f.git.RulesOfEntry(to, dir, name)
	}
	if r := f.entryOf(dir, name).Change; r != nil {
		return layout.AddRule(to, r)
	}
	return dir.rules(to)
}

// guard returns the guard of a worktree's rule.
func (f *rawFS) guard(r *layout.Rule) (*gate.Guard, error) {
	if g, ok := f.guards.Load(r.Worktree); ok {
		return g.(*gate.Guard), nil
	}
	// One at a time, so that nobody uses a guard before its hook is in place.
	f.guardMu.Lock()
	defer f.guardMu.Unlock()
	if g, ok := f.guards.Load(r.Worktree); ok {
		return g.(*gate.Guard), nil
	}
	g, err := f.opts.Guards(r.Worktree)
	if err != nil {
		return nil, err
	}
	g.OnYield(f.flusher(g))
	g.OnDrained(f.syncer(g))
	g.OnClose(f.revoker(g))
	f.guards.Store(r.Worktree, g)
	return g, nil
}

// knownGuard returns the guard of a worktree's rule, nil while nobody has written
// there nor asked for the lease: reading alone makes no guard.
func (f *rawFS) knownGuard(r *layout.Rule) (*gate.Guard, error) {
	if g, ok := f.guards.Load(r.Worktree); ok {
		return g.(*gate.Guard), nil
	}
	if f.opts.Known == nil || !f.opts.Known(r.Worktree) {
		return nil, nil
	}
	if !f.guardMu.TryLock() {
		return nil, nil // one is being made just now, which may take long: nobody reads on its word yet
	}
	f.guardMu.Unlock()
	return f.guard(r)
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

// layout is the layout with what is known of the tree now.
func (f *rawFS) layout() layout.Layout {
	if f.git == nil {
		return f.opts.Layout
	}
	return f.git.Layout()
}

// nameRules are the rules for a change of a name by any operation but a rename, and whether the content of files decided.
func (f *rawFS) nameRules(c process.Caller, op gate.Op, dir *node, name string) (rules []*layout.Rule, content bool) {
	if f.git != nil {
		return f.git.RulesOfName(c, op, dir, name)
	}
	e := f.entryOf(dir, name)
	rules = make([]*layout.Rule, 0, 4)
	if op == gate.OpMkdir && e.Mkdir {
		return append(rules, layout.Open), false
	}
	rules = f.entryRules(rules, dir, name)
	if isDir := op == gate.OpMkdir || op == gate.OpRmdir; isDir && e.Part != nil {
		rules = layout.AddRule(rules, e.Part)
	}
	return rules, false
}

// worktreeOf finds the worktree of a path below the root, by name only.
func (f *rawFS) worktreeOf(rel string) (lease.WorktreeID, bool) {
	rel = strings.Trim(rel, "/")
	if r := f.ruleAt(rel); r.Kind == layout.Guarded {
		return r.Worktree, true
	}
	return f.layout().WorktreeOf(rel)
}

// ruleAt is the rule of what lies at a path below the root, by name only.
func (f *rawFS) ruleAt(rel string) *layout.Rule {
	r := f.layout().Of(rel, !f.opts.Layout.HasParts() || !f.isFileBelow(rel)).Own
	if r.Kind == layout.OfBranch {
		r = f.git.RuleOfBranch(rel)
	}
	return r
}

// newRoot makes the node of the mount's root.
func newRoot(o Options, fd int) (*node, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	n := &node{key: tree.KeyOf(&st), fd: fd, kind: st.Mode & unix.S_IFMT}
	e := o.Layout.Root()
	n.takeRole(e.Role)
	n.own.Store(e.Own)
	return n, nil
}
