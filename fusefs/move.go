package fusefs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/lockfiles"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// A guard hangs on the name of a worktree's root. When the name changes, the rule of the whole tree
// changes. What was admitted by the old name must have taken effect before, wherever it comes from.
// The steps are in this order, and nothing waits for a lock in the other direction:
//
//	permission    the guards of both names are asked, as for any rename, and left again
//	moving        one such rename of the mount at a time
//	serving       no other mount may serve the repository, or a worktree of it
//	write-back    what was stored through mappings lands under the old rule
//	freeze        what these guards have let in has taken effect, and nothing follows
//	permission    again: leases may have changed hands
//	moveLock      as with every rename
//	ruledNames    no name is looked up; only for the rename itself
//
// A mutation that waits for the freeze holds nothing: it has left what it had entered. All waits
// are bounded. After a timeout the answer is EBUSY, and everything goes on as before.

// moveWait bounds what a rename of a root waits for. It is shorter than the waits for the rename.
const moveWait = 4 * time.Second

// renaming is a RENAME request.
type renaming struct {
	in               *fuse.RenameIn
	from, to         *node
	oldName, newName string
	signal           <-chan struct{}
	seen             [2]lockfiles.Name // what the rules of lock files say of both names
	free             bool              // see git.MovesCheckout: nobody is asked for the new name
}

// ofRoot reports whether a worktree's root gets or loses its name.
func (f *rawFS) ofRoot(r renaming) bool {
	return f.movesRoot(r)
}

// moveRoot renames a worktree's root.
func (f *rawFS) moveRoot(cancel <-chan struct{}, r renaming) (st fuse.Status) {
	p, st := f.admitRename(r, nil)
	if st != fuse.OK {
		return st
	}
	p.abandon() // otherwise the freeze would wait for it
	killed, end := f.opts.Enforcement.Wait(gate.Request{Caller: callerID(&r.in.InHeader), Signal: cancel})
	defer end()
	ctx, end := untilKilled(killed, f.moveWait)
	defer end()
	select {
	case f.moving <- struct{}{}:
		defer func() { <-f.moving }()
	case <-ctx.Done():
		return gaveUp(ctx)
	}
	if !f.announceMove() {
		return fuse.EBUSY
	}
	defer f.serving.withdraw()
	concerned, err := f.guardsConcerned(r)
	if err != nil {
		f.opts.Log.Error("rename of a worktree's root", zap.Error(err))
		return f.refused()
	}
	if f.writeBackMapped(ctx, concerned) != nil {
		return gaveUp(ctx)
	}
	freeze, err := f.opts.Enforcement.Freeze(ctx, concerned)
	if err != nil {
		return gaveUp(ctx)
	}
	defer freeze.Thaw()
	if !f.serving.noneOfOld() {
		return fuse.EBUSY
	}
	if p, st = f.admitRename(r, freeze); st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	f.ruledNames.Lock()
	defer f.ruledNames.Unlock()
	return f.renameAt(r, &p)
}

// announceMove is serving.announce. It logs once if that can never succeed. The caller has moving.
func (f *rawFS) announceMove() bool {
	if f.serving.blind && !f.serving.said {
		f.serving.said = true
		f.opts.Log.Warn("no worktree's root is renamed here (EBUSY): the store takes no locks on directories, so another mount would not notice",
			zap.String("source", f.opts.Source))
	}
	return f.serving.announce()
}

// untilKilled ends after d, or when the caller is being killed.
func untilKilled(killed <-chan struct{}, d time.Duration) (context.Context, func()) {
	ctx, end := context.WithTimeout(context.Background(), d)
	until, by := context.WithCancelCause(ctx)
	stop := make(chan struct{})
	go func() { // until end
		select {
		case <-killed:
			by(unix.EINTR)
		case <-stop:
			by(nil)
		}
	}()
	return until, func() { close(stop); end() }
}

// gaveUp is the answer if something was in flight for too long.
func gaveUp(ctx context.Context) fuse.Status {
	if errors.Is(context.Cause(ctx), unix.EINTR) {
		return fuse.EINTR
	}
	return fuse.EBUSY
}

// guardsConcerned are the guards of both names, and those of files that are open for writing below
// the moving directory: it may have come from a third name before.
func (f *rawFS) guardsConcerned(r renaming) (all []*gate.Guard, err error) {
	var buf [4]*layout.Rule
	for _, by := range f.partRules(f.entryRules(f.entryRules(buf[:0], r.from, r.oldName), r.to, r.newName), r) {
		if by.Kind != layout.Guarded && by.Kind != layout.Unheld {
			continue
		}
		g, err := f.guard(by)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	moved := []*node{f.nodeAt(r.from, r.oldName), f.nodeAt(r.to, r.newName)}
	f.handles.writers(func(h *handle) {
		if !slices.ContainsFunc(moved, func(top *node) bool { return top != nil && h.node.below(top, depthMax) }) {
			return
		}
		for _, c := range h.claims {
			if !slices.Contains(all, c.guard) {
				all = append(all, c.guard)
			}
		}
	})
	return all, nil
}

// nodeAt returns the node of a name, if the kernel knows it.
func (f *rawFS) nodeAt(dir *node, name string) *node {
	var st unix.Stat_t
	if unix.Fstatat(dir.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil
	}
	return f.nodes.find(tree.KeyOf(&st))
}

// depthMax bounds a walk upwards. Deeper nodes count as below.
const depthMax = 4096

// below reports whether a node was seen at another one, or anywhere below it.
func (n *node) below(top *node, depth int) bool {
	for at := n; at != top; depth-- {
		ps := at.parentList()
		switch {
		case len(ps) == 0:
			return false
		case depth == 0:
			return true
		case len(ps) > 1:
			return slices.ContainsFunc(ps, func(p *node) bool { return p.below(top, depth-1) })
		}
		at = ps[0]
	}
	return true
}
