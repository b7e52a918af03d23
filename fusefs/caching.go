package fusefs

import (
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// How long the kernel may believe what it was told, where the backing directory
// can change other than through this mount: another mount over it, another host.
// Absence is not cached at all, so a file that appears is seen at once.
const (
	entryTimeout = time.Second
	attrTimeout  = time.Second
)

// stamp tells one content of a file from another. The kernel's pages of a file are
// kept over an open for reading as long as the stamp is the same.
type stamp struct {
	mtime, ctime unix.Timespec
	size         int64
}

func stampOf(st *unix.Stat_t) stamp { return stamp{st.Mtim, st.Ctim, st.Size} }

// sameContent reports whether the file still has the stamp of the open before,
// and notes the new one.
func (n *node) sameContent(st *unix.Stat_t) bool {
	now := stampOf(st)
	n.mu.Lock()
	defer n.mu.Unlock()
	same := n.stamp == now
	n.stamp = now
	return same
}

// changedSinceOpened reports, once, that a file whose pages the kernel may have does
// not have the stamp any more that it was opened with: a reader that holds it open
// would otherwise see the old pages for ever.
func (n *node) changedSinceOpened(a *fuse.Attr) bool {
	now := stamp{unix.Timespec{Sec: int64(a.Mtime), Nsec: int64(a.Mtimensec)}, unix.Timespec{Sec: int64(a.Ctime), Nsec: int64(a.Ctimensec)}, int64(a.Size)}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stamp == (stamp{}) || n.stamp.mtime == now.mtime && n.stamp.size == now.size {
		return false
	}
	n.stamp = now
	return true
}

func fillAttr(a *fuse.Attr, st *unix.Stat_t) {
	*a = fuse.Attr{
		Ino: st.Ino, Size: uint64(st.Size), Blocks: uint64(st.Blocks),
		Atime: uint64(st.Atim.Sec), Mtime: uint64(st.Mtim.Sec), Ctime: uint64(st.Ctim.Sec),
		Atimensec: uint32(st.Atim.Nsec), Mtimensec: uint32(st.Mtim.Nsec), Ctimensec: uint32(st.Ctim.Nsec),
		Mode: st.Mode, Nlink: uint32(st.Nlink), Owner: fuse.Owner{Uid: st.Uid, Gid: st.Gid},
		Rdev: uint32(st.Rdev), Blksize: uint32(st.Blksize),
	}
}

func fillEntry(out *fuse.EntryOut, n *node, st *unix.Stat_t) {
	out.NodeId, out.Generation = n.id, 1
	out.SetEntryTimeout(entryTimeout)
	out.SetAttrTimeout(attrTimeout)
	fillAttr(&out.Attr, st)
}
