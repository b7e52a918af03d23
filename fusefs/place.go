package fusefs

import (
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/lease"
)

// A rule says who judges the mutations of an inode or of a directory entry.
type rule struct {
	kind ruleKind
	id   lease.WorktreeID
	name string // as it is in the directory, for people
}

type ruleKind uint8

const (
	ruleOpen     ruleKind = iota // passes through; there is no guard
	ruleWorktree                 // the guard of worktree id
	ruleSealed                   // jvsfs alone
	ruleBadName                  // below worktrees/, but not a worktree's name
	ruleAppend                   // the audit chain: only appends, see auditRule
)

var (
	openRule   = &rule{kind: ruleOpen}
	sealedRule = &rule{kind: ruleSealed}
)

// role is what a directory is to a repository. The entries of such a directory
// have rules of their own, by name.
type role uint8

const (
	roleNone      role = iota
	roleRoot           // of a repository: main, worktrees, .jvs
	roleWorktrees      // worktrees/: each entry is a worktree
	roleJVS            // .jvs: passes through, except locks and audit
)

// place is where a node stands. Worktree roots are guarded by their path: restore
// re-creates main by a rename. Everything below inherits through its parents, so
// that a renamed root changes the rule of its whole tree at once.
type place struct {
	role    atomic.Uint32
	own     atomic.Pointer[rule] // of a worktree root, a sealed directory, or the mount's root
	parents atomic.Pointer[[]*node]
	links   linked // of a file in a repository

	// Kept only where places are exempt.
	called   atomic.Pointer[called] // of a file
	nameless nameless               // of a file
	open     atomic.Uint64          // of a directory, see openToAll
}

// entryRule returns the rule for the name in a directory.
func entryRule(dir *node, name string) *rule {
	switch role(dir.role.Load()) {
	case roleRoot:
		switch name {
		case "main":
			return worktreeRule(name)
		case ".jvs", "worktrees":
			return sealedRule
		}
	case roleWorktrees:
		if name == "main" { // the id belongs to main itself: one lease must not cover both
			return &rule{kind: ruleBadName, name: name}
		}
		return worktreeRule(name)
	case roleJVS:
		switch name {
		case "locks":
			return sealedRule
		case "audit":
			return auditRule
		}
	}
	return nil
}

func worktreeRule(name string) *rule {
	id, err := lease.ParseWorktreeID(name)
	if err != nil {
		return &rule{kind: ruleBadName, name: name}
	}
	return &rule{kind: ruleWorktree, id: id, name: name}
}

// stand notes that the node was seen as dir/name. A rule is only ever made
// stricter here; renames through the mount are what moves a node out of one.
func (f *rawFS) stand(n, dir *node, name string, links uint64) {
	if f.sealed[n.key] {
		n.own.Store(sealedRule)
	}
	n.addParent(dir, n.isDir() || links <= 1)
	f.callIt(n, dir, name)
	r := entryRule(dir, name)
	if r == nil {
		return
	}
	f.takeRole(n, dir, name)
	if role(n.role.Load()) != roleNone {
		return
	}
	if was := n.own.Load(); was == nil || !sameRule(was, r) {
		n.own.Store(r)
		f.moves.Add(1)
	}
}

// takeRole gives .jvs and worktrees their role: their entries have rules, but the
// directories themselves pass through.
func (f *rawFS) takeRole(n, dir *node, name string) {
	if role(dir.role.Load()) != roleRoot || !n.isDir() {
		return
	}
	switch name {
	case ".jvs":
		n.role.Store(uint32(roleJVS))
	case "worktrees":
		n.role.Store(uint32(roleWorktrees))
	}
}

func sameRule(a, b *rule) bool { return a.kind == b.kind && a.id == b.id && a.name == b.name }

// moved notes a rename through the mount: the rule of the new path replaces the
// one of the old.
func (f *rawFS) moved(n, dir *node, name string) {
	n.addParent(dir, n.isDir())
	f.callIt(n, dir, name)
	was := n.own.Load()
	if f.sealed[n.key] {
		return
	}
	r := entryRule(dir, name)
	n.own.Store(r)
	if (was == nil) != (r == nil) || was != nil && !sameRule(was, r) {
		f.moves.Add(1)
		f.handles.disown(f)
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

func (n *node) parentList() []*node {
	if ps := n.parents.Load(); ps != nil {
		return *ps
	}
	return nil
}

// callIt notes under which name a file was seen, for whereCalled.
func (f *rawFS) callIt(n, dir *node, name string) {
	if f.border.on && name != "" && !n.isDir() {
		n.called.Store(&called{dir, name})
	}
}

// rules adds the rules that an inode is under, without repeating one.
func (n *node) rules(to []*rule) []*rule { return n.rulesWithin(to, depthMax) }

func (n *node) rulesWithin(to []*rule, depth int) []*rule {
	if l := n.links.areas.Load(); l != nil {
		for _, r := range l.rules {
			to = addRule(to, r)
		}
	}
	return n.seenRulesWithin(to, depth)
}

// seenRules are those of the places where the kernel has met the inode.
func (n *node) seenRules(to []*rule) []*rule { return n.seenRulesWithin(to, depthMax) }

// seenRulesWithin goes upwards for so many steps. Directories that were moved behind the
// mount may each have been seen in the other; nobody writes below those until they are
// seen where they are.
func (n *node) seenRulesWithin(to []*rule, depth int) []*rule {
	for at := n; depth > 0; depth-- {
		if r := at.own.Load(); r != nil {
			return addRule(to, r)
		}
		ps := at.parents.Load()
		if ps == nil {
			return addRule(to, openRule)
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
	return addRule(to, sealedRule)
}

// entryRules adds the rules for changing the entry name in dir.
func entryRules(to []*rule, dir *node, name string) []*rule {
	if r := entryRule(dir, name); r != nil {
		return addRule(to, r)
	}
	return dir.rules(to)
}

func addRule(to []*rule, r *rule) []*rule {
	for _, have := range to {
		if sameRule(have, r) {
			return to
		}
	}
	return append(to, r)
}

// guard returns the guard of a worktree's rule.
func (f *rawFS) guard(r *rule) (*gate.Guard, error) {
	if g, ok := f.guards.Load(r.id); ok {
		return g.(*gate.Guard), nil
	}
	// One at a time, so that nobody uses a guard before its hook is in place.
	f.guardMu.Lock()
	defer f.guardMu.Unlock()
	if g, ok := f.guards.Load(r.id); ok {
		return g.(*gate.Guard), nil
	}
	g, err := f.opts.Guards(r.id)
	if err != nil {
		return nil, err
	}
	g.OnYield(f.flusher(g))
	g.OnClose(f.revoker(g))
	f.guards.Store(r.id, g)
	return g, nil
}

// knownGuard returns the guard of a worktree's rule, nil while nobody has written
// there nor asked for the lease: reading alone makes no guard.
func (f *rawFS) knownGuard(r *rule) (*gate.Guard, error) {
	if g, ok := f.guards.Load(r.id); ok {
		return g.(*gate.Guard), nil
	}
	if f.opts.Known == nil || !f.opts.Known(r.id) {
		return nil, nil
	}
	if !f.guardMu.TryLock() {
		return nil, nil // one is being made just now, which may take long: nobody reads on its word yet
	}
	f.guardMu.Unlock()
	return f.guard(r)
}

// worktreeOf finds the worktree of a path below the root, by name only.
func (f *rawFS) worktreeOf(rel string) (lease.WorktreeID, bool) {
	if f.opts.Shape == ShapeTree {
		return f.opts.TreeID, true
	}
	parts := strings.Split(strings.Trim(rel, "/"), "/")
	name := parts[0]
	if name == "worktrees" && len(parts) > 1 {
		name = parts[1]
	} else if name != "main" {
		return "", false
	}
	id, err := lease.ParseWorktreeID(name)
	return id, err == nil
}

// newRoot makes the node of the mount's root.
func newRoot(o Options, fd int) (*node, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	n := &node{key: keyOf(&st), fd: fd, kind: st.Mode & unix.S_IFMT}
	if o.Shape == ShapeRepository {
		n.role.Store(uint32(roleRoot))
		n.own.Store(openRule)
		return n, nil
	}
	n.own.Store(&rule{kind: ruleWorktree, id: o.TreeID, name: string(o.TreeID)})
	return n, nil
}
