package fusefs

import (
	"context"
	"maps"
	"slices"

	"github.com/hanwen/go-fuse/v2/fuse"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/git"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// gitHost does for a repository what only the file system can do.
type gitHost struct{ f *rawFS }

// Rehang implements [git.Host].
func (h gitHost) Rehang(k tree.Key, e layout.Entry) {
	f := h.f
	n := f.nodes.find(k)
	if n == nil || n.own.Load().Same(e.Own) {
		return
	}
	var concerned []*gate.Guard
	for _, r := range n.rules(nil) {
		if r.Kind == layout.Guarded {
			if g, err := f.guard(r); err == nil {
				concerned = append(concerned, g)
			}
		}
	}
	ctx, end := context.WithTimeout(context.Background(), f.moveWait)
	defer end()
	freeze, err := f.opts.Enforcement.Freeze(ctx, concerned)
	if err != nil {
		f.opts.Log.Warn("a checkout comes under its own lease while writes to it may be in flight", zap.Error(err))
	} else {
		defer freeze.Thaw()
	}
	n.own.Store(e.Own)
	n.role.Store(&e.Role)
	f.moves.Add(1)
	f.handles.revoke(f)
	f.losses.Add(1)
	f.expiry.soon()
}

// Expire implements [git.Host]. Of a directory that the kernel has forgotten it knows no name.
func (h gitHost) Expire(dir tree.Key, name string) {
	if n := h.f.nodes.find(dir); n != nil {
		h.f.kernel.Expire(n.id, name)
	}
}

// Info implements [git.Host].
func (h gitHost) Info(what string, about ...string) { h.f.opts.Log.Info(what, fieldsOf(about)...) }

// Warn implements [git.Host].
func (h gitHost) Warn(what string, err error, about ...string) {
	h.f.opts.Log.Warn(what, append(fieldsOf(about), zap.Error(err))...)
}

// fieldsOf are names and values in turn as the log has them.
func fieldsOf(about []string) (fields []zap.Field) {
	for pair := range slices.Chunk(about, 2) {
		fields = append(fields, zap.String(pair[0], pair[1]))
	}
	return fields
}

// writerOf asks for whoever has written a note of git.
func (f *rawFS) writerOf(cancel <-chan struct{}, h *fuse.InHeader) git.Writer {
	return func(in tree.Key, name string, root int) (asked, may bool) {
		dir := f.nodes.find(in)
		as := callerOf(h, 0, 0)
		as.strict = true
		mayWrite := func() error { return unix.Faccessat2(root, "", unix.W_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH) }
		if dir == nil || h.Pid == 0 || as.as(mayWrite) != nil {
			return false, false
		}
		p, st := f.admitEntry(cancel, gate.OpMkdir, h, f.targetOf(dir, name))
		if st != fuse.OK {
			return true, false
		}
		p.abandon()
		return true, true
	}
}

// disownMoved ends the handles of a file that has another name, if it is under another rule, or if the
// rules of its new place do not admit them. Nobody who has made an object changes it.
func (f *rawFS) disownMoved(n, dir *node, name string, all bool) {
	if !n.hasWriters() {
		return
	}
	var buf [4]*layout.Rule
	rules := f.rulesIf(true, n, buf[:0])
	all = all || f.git.IsObject(dir, name)
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
	return f.git != nil && own == nil && !layout.SameRules(from.rules(a[:0]), to.rules(b[:0]))
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

// isBranch reports whether a file of a repository is a branch, or the log of one.
func (n *node) isBranch() bool {
	var buf [4]*layout.Rule
	return !n.IsDir() && slices.Contains(n.rules(buf[:0]), layout.Heads)
}
