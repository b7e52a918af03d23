package fusefs

import (
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
func (f *rawFS) mayOpen(n *node, flags uint32) bool {
	return !f.onlyAppends(n) || flags&unix.O_APPEND != 0 && flags&unix.O_TRUNC == 0
}

// sealedIn reports whether a name must not be made in a directory: beside the chain there is nothing.
func (f *rawFS) sealedIn(op gate.Op, dir *node, name string) bool {
	return op == gate.OpCreate && name != auditFile && f.onlyAppends(dir)
}
