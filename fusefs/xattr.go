package fusefs

import (
	"bytes"
	"strings"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// GetXAttr reads an extended attribute, or its size into an empty buffer.
func (f *rawFS) GetXAttr(_ <-chan struct{}, h *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	f.stats.count(gate.OpGetXAttr)
	n := f.nodes.get(h.NodeId)
	if n == nil {
		return 0, fuse.ENOENT
	}
	if attr == capabilityAttr && f.hasNoCaps(n) {
		return 0, fuse.ENODATA
	}
	size, err := retryInt(func() (int, error) { return f.getxattr(n, attr, dest) })
	return sizeStatus(size, err)
}

// ListXAttr lists the names of extended attributes.
func (f *rawFS) ListXAttr(_ <-chan struct{}, h *fuse.InHeader, dest []byte) (uint32, fuse.Status) {
	f.stats.count(gate.OpListXAttr)
	n := f.nodes.get(h.NodeId)
	if n == nil {
		return 0, fuse.ENOENT
	}
	buf := xattrLists.Get().(*[xattrListMax]byte)
	defer xattrLists.Put(buf)
	names := buf[:]
	size, err := retryInt(func() (int, error) { return unix.Listxattr(n.path(), names) })
	if err != nil {
		return 0, status(err)
	}
	names = names[:size]
	if kept := withoutTrusted(names); len(kept) < size && !process.HasCapability(callerID(h), unix.CAP_SYS_ADMIN) {
		names = kept
	}
	switch {
	case len(dest) == 0:
	case len(names) > len(dest):
		return uint32(len(names)), fuse.ERANGE
	default:
		copy(dest, names)
	}
	return uint32(len(names)), fuse.OK
}

// xattrListMax is the kernel's XATTR_LIST_MAX, in bytes.
const xattrListMax = 64 << 10

var xattrLists = sync.Pool{New: func() any { return new([xattrListMax]byte) }}

// withoutTrusted removes what only an administrator sees: the list is made with the daemon's
// privileges.
func withoutTrusted(names []byte) []byte {
	var kept []byte
	for name := range bytes.SplitAfterSeq(names, []byte{0}) {
		if !bytes.HasPrefix(name, []byte("trusted.")) {
			kept = append(kept, name...)
		}
	}
	return kept
}

// mayForward reports whether an attribute may be changed for a caller. Of system.* the kernel
// checks only the two ACLs and leaves the rest to the file system. As the daemon, anybody could set
// another's NFSv4 ACL.
func mayForward(attr string) bool {
	return !strings.HasPrefix(attr, "system.") || attr == "system.posix_acl_access" || attr == "system.posix_acl_default"
}

func sizeStatus(size int, err error) (uint32, fuse.Status) {
	if err != nil {
		return 0, status(err)
	}
	return uint32(size), fuse.OK
}

// SetXAttr writes an extended attribute, ACLs included. If the kernel says that the setgid bit must
// go with an ACL, it runs under the caller's ids, and the backing file system removes the bit.
func (f *rawFS) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) (st fuse.Status) {
	f.stats.count(gate.OpSetXAttr)
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	if !mayForward(attr) {
		return fuse.ENOTSUP
	}
	p, st := f.admitNode(cancel, gate.OpSetXAttr, &in.InHeader, n)
	if st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	n.mayHaveCaps()
	set := func() error {
		return retry(func() error { return f.setxattr(n, attr, data, int(in.Flags)) })
	}
	if in.SetXAttrFlags&fuse.SETXATTR_ACL_KILL_SGID != 0 {
		as := callerOf(&in.InHeader, 0, 0)
		as.kill, as.caps = true, capFowner // the kernel has checked the permission
		return status(as.as(set))
	}
	return status(standIn(&in.InHeader).as(set))
}

// RemoveXAttr removes an extended attribute.
func (f *rawFS) RemoveXAttr(cancel <-chan struct{}, h *fuse.InHeader, attr string) (st fuse.Status) {
	f.stats.count(gate.OpRemoveXAttr)
	n := f.nodes.get(h.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	if !mayForward(attr) {
		return fuse.ENOTSUP
	}
	may := mayChange(gate.OpRemoveXAttr, n)
	var t *touch
	if attr == capabilityAttr {
		t = &touch{n: n, h: h, caps: true}
		may = t.may
	}
	p, st := f.admitNodeIf(cancel, gate.OpRemoveXAttr, h, n, may)
	switch {
	case t.turnedAway():
		return t.answer
	case st != fuse.OK:
		return st
	}
	defer p.leave(&st)
	return status(retry(func() error { return unix.Removexattr(n.path(), attr) }))
}
