package fusefs

import (
	"slices"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// The audit chain of a repository lies in .jvs/audit, where JVS appends to it as well. A chain is evidence as far as nobody can take
// from it: through the mount that directory is sealed but for appends to the chain.

// auditFile is the chain's name in that directory.
const auditFile = "audit.jsonl"

// appendOp tells which mutations an append is made of. What they may do is narrowed by mayOpen, by the handle, and by sealedIn.
func appendOp(op gate.Op) bool {
	switch op {
	case gate.OpOpen, gate.OpCreate, gate.OpWrite, gate.OpFsync:
		return true
	}
	return false
}

// onlyAppends reports whether an inode is one that can only be appended to.
func (f *rawFS) onlyAppends(n *node) bool {
	if !f.opts.Layout.ByName() {
		return false
	}
	var buf [4]*layout.Rule
	for _, r := range n.rules(buf[:0]) {
		if r.Kind == layout.AppendOnly {
			return true
		}
	}
	return false
}

// mayOpen reports whether a file there, or one made in a directory there, may be opened for writing with these flags.
// JVS opens the chain without O_APPEND, looks where its end is, and writes there.
func (f *rawFS) mayOpen(n *node, flags uint32) bool {
	return !f.onlyAppends(n) || flags&unix.O_TRUNC == 0
}

// continues reports whether a write through a handle of the chain begins where the chain ends, so that it may be made as an
// append to the backing file. Of two such writes by way of the mount the kernel lets one through at a time
// (lockfiles.Policy.Grows). What comes past the mount in between stays, too, because the backing file system finds the end.
func (h *handle) continues(in *fuse.WriteIn) bool {
	var st unix.Stat_t
	return h.audit && in.WriteFlags&fuse.WRITE_CACHE == 0 && unix.Fstat(h.fd, &st) == nil && in.Offset == uint64(max(st.Size, 0))
}

// inChain reports whether a file lies beside the chain, or is it. The end that the kernel knows of it must be the real one.
func (n *node) inChain() bool {
	return slices.ContainsFunc(n.parentList(), func(p *node) bool { return p.own.Load() == layout.Append })
}

// sealedIn reports whether a name must not be made in a directory: beside the chain there is nothing.
func (f *rawFS) sealedIn(op gate.Op, dir *node, name string) bool {
	return op == gate.OpCreate && name != auditFile && f.onlyAppends(dir)
}
