package fusefs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/tree"
)

// Lookup finds one name in a directory.
func (f *rawFS) Lookup(cancel <-chan struct{}, h *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	f.stats.count(gate.OpLookup)
	f.opts.Enforcement.Await(callerID(h), cancel)
	dir := f.nodes.get(h.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	if st := checkName(name); st != fuse.OK {
		return st
	}
	b := f.cacheGenOf(dir)
	if dir.Role().NamesCheckouts() && !f.git.Knows(name) && isDirAt(dir, name) {
		f.git.Reread() // git has made it behind the mount, or through another one
	}
	if f.isAbsent(dir, name) {
		return f.negative(out, b, dir, name)
	}
	st := f.lookup(h, dir, name, out)
	if st == fuse.ENOENT {
		f.lookedInVain(dir)
		return f.negative(out, b, dir, name)
	}
	return st
}

func (f *rawFS) lookup(h *fuse.InHeader, dir *node, name string, out *fuse.EntryOut) fuse.Status {
	if dir.Role() != layout.Plain { // what is seen here has a rule by its name
		f.ruledNames.RLock()
		defer f.ruledNames.RUnlock()
	}
	return f.entry(h, dir, name, out)
}

// entry answers with what stands at dir/name now, and counts the kernel's
// reference to it.
func (f *rawFS) entry(h *fuse.InHeader, dir *node, name string, out *fuse.EntryOut) fuse.Status {
	if !f.room(h) {
		return fuse.Status(unix.ENFILE)
	}
	b := f.cacheGenOf(dir)
	fd, st, err := lookupAt(dir, name)
	if err != nil {
		return status(err)
	}
	f.fillEntry(out, b, f.remember(h, fd, &st, dir, name), dir, name, &st)
	return fuse.OK
}

// remember takes the descriptor over.
func (f *rawFS) remember(h *fuse.InHeader, fd int, st *unix.Stat_t, dir *node, name string) *node {
	n := f.nodes.remember(fd, st, f.quotas.by(h.Uid), func(n *node) { f.stand(n, dir, name, tree.Nlink(st)) })
	f.budget.grown(f.nodes.count.Load(), n.quota)
	return n
}

// rememberOpen is remember of a descriptor that is a handle's first of all; lent says
// that it is the inode's as well.
func (f *rawFS) rememberOpen(h *fuse.InHeader, fd int, st *unix.Stat_t, dir *node, name string) (n *node, lent bool) {
	n, lent = f.nodes.rememberAs(fd, st, f.quotas.by(h.Uid), true, func(n *node) { f.stand(n, dir, name, tree.Nlink(st)) })
	f.budget.grown(f.nodes.count.Load(), n.quota)
	return n, lent
}

// Forget gives references of the kernel back.
func (f *rawFS) Forget(nodeid, nlookup uint64) {
	f.stats.count(gate.OpForget)
	f.forget(nodeid, nlookup)
}

func (f *rawFS) forget(nodeid, nlookup uint64) {
	if n := f.nodes.forget(nodeid, nlookup); n != nil {
		f.expiry.release(n)
		f.watcher.forget(n)
		f.places.forget(n)
	}
}

// GetAttr reads an inode's attributes.
func (f *rawFS) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	f.stats.count(gate.OpGetAttr)
	f.opts.Enforcement.Await(callerID(&in.InHeader), cancel)
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	st := f.attr(n, out)
	if st == fuse.OK && f.changedSinceOpened(n, &out.Attr) {
		// Somebody wrote it other than through this mount, or has it mapped here. Not
		// at once: the kernel drops an answer that an invalidation overtakes, and goes
		// on with the attributes that it had, a setuid bit that is gone among them.
		f.inval.later(n.id)
	}
	return st
}

func (f *rawFS) attr(n *node, out *fuse.AttrOut) fuse.Status {
	var st unix.Stat_t
	before := f.attrTimeout(n)
	if err := fstat(n.fd, &st); err != nil {
		return status(err)
	}
	f.fillAttrOut(n, out, before, &st)
	return fuse.OK
}

// attrTold is attr right after the store was told to change some.
func (f *rawFS) attrTold(n *node, out *fuse.AttrOut) fuse.Status {
	var st unix.Stat_t
	before := f.attrTimeout(n)
	if err := f.statNoSync(n.fd, &st); err != nil {
		return status(err)
	}
	f.fillAttrOut(n, out, before, &st)
	return fuse.OK
}

func (f *rawFS) fillAttrOut(n *node, out *fuse.AttrOut, before time.Duration, st *unix.Stat_t) {
	out.SetTimeout(min(before, f.attrTimeout(n)))
	n.fillAttr(&out.Attr, st)
}

// Statx reads an inode's attributes with its time of birth.
func (f *rawFS) Statx(_ <-chan struct{}, in *fuse.StatxIn, out *fuse.StatxOut) fuse.Status {
	f.stats.count(gate.OpStatx)
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	var st unix.Statx_t
	before := f.attrTimeout(n)
	if err := unix.Statx(n.fd, "", unix.AT_EMPTY_PATH, int(in.SxMask), &st); err != nil {
		return status(err)
	}
	out.SetTimeout(min(before, f.attrTimeout(n)))
	n.setid.Store(st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0)
	out.FromStatx(&st)
	out.Blksize = st.Blksize
	out.Blocks, out.Size = st.Blocks, st.Size
	return fuse.OK
}

// Readlink reads a symbolic link.
func (f *rawFS) Readlink(_ <-chan struct{}, h *fuse.InHeader) ([]byte, fuse.Status) {
	f.stats.count(gate.OpReadlink)
	n := f.nodes.get(h.NodeId)
	if n == nil {
		return nil, fuse.ENOENT
	}
	buf := make([]byte, unix.PathMax)
	l, err := unix.Readlinkat(n.fd, "", buf)
	if err != nil {
		return nil, status(err)
	}
	return buf[:l], fuse.OK
}

// Access is not asked for: the kernel checks permissions itself
// (default_permissions).
func (f *rawFS) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status {
	f.stats.count(gate.OpAccess)
	return fuse.ENOSYS
}

// StatFs describes the backing file system.
func (f *rawFS) StatFs(_ <-chan struct{}, h *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	f.stats.count(gate.OpStatFs)
	n := f.nodes.get(h.NodeId)
	if n == nil {
		n = f.root
	}
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(n.fd, &st) }); err != nil {
		return status(err)
	}
	*out = fuse.StatfsOut{
		Blocks: st.Blocks, Bfree: st.Bfree, Bavail: st.Bavail, Files: st.Files, Ffree: st.Ffree,
		Bsize: uint32(st.Bsize), NameLen: uint32(st.Namelen), Frsize: uint32(st.Frsize),
	}
	return fuse.OK
}
