package fusefs

import (
	"cmp"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/layout"
)

// Write is the form of Writev that go-fuse falls back to.
func (f *rawFS) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	return f.Writev(cancel, in, [][]byte{data})
}

// Writev writes through a handle, which must be of the current epoch. Stores through mappings come
// here, too, marked WRITE_CACHE and without a caller.
func (f *rawFS) Writev(cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte) (written uint32, st fuse.Status) {
	f.stats.count(gate.OpWrite)
	h := f.handles.get(in.Fh)
	if h == nil {
		return 0, fuse.EBADF
	}
	p, st := f.admitWrite(cancel, in, h)
	if st != fuse.OK {
		return f.refusedStore(in, h, st)
	}
	p.off, p.length = int64(in.Offset), int64(in.Size)
	h.node.written.Store(f.losses.Load() + 1)
	if h.node.gitdir.Load() {
		defer f.git.NotedIn(h.node, f.writerOf(cancel, &in.InHeader)) // once the write has left
	}
	defer p.leave(&st)
	if st := f.admitGrowth(&p, &in.InHeader, h, !appends(in), in.Offset); st != fuse.OK {
		return f.refusedStore(in, h, st)
	}
	defer f.markDirty(h) // before it leaves
	n := 0
	end := appends(in) || h.continues(in)
	if (h.appendOnly || h.audit) && !end {
		if in.WriteFlags&fuse.WRITE_CACHE != 0 {
			f.inval.soon(h.node.id) // the page shows what is not stored
		}
		return 0, fuse.EPERM // its descriptor would append, whatever the offset
	}
	write := func() (err error) {
		fd := h.fd
		if end {
			if fd, err = f.tailOf(h); err != nil {
				return err
			}
		}
		if n, err = retryInt(func() (int, error) { return pwrite(fd, data, int64(in.Offset), end) }); err != nil {
			return err
		}
		if f.syncsNow(in, h) {
			return retry(func() error { return unix.Fdatasync(fd) })
		}
		return f.toStore(fd)
	}
	var err error
	switch {
	case in.WriteFlags&fuse.WRITE_KILL_SUIDGID != 0:
		err = changer(&in.InHeader, h.node).as(write)
	case in.WriteFlags&fuse.WRITE_CACHE != 0:
		err = h.opener.as(write)
	default:
		err = standIn(&in.InHeader).as(write)
	}
	if err != nil {
		if in.WriteFlags&fuse.WRITE_CACHE != 0 {
			f.inval.soon(h.node.id) // the page shows what was not stored
		}
		return 0, status(err)
	}
	f.privilegesMayHaveGone(h.node)
	return uint32(n), fuse.OK
}

// privilegesMayHaveGone makes the kernel read a mode with setuid or setgid bits again. The backing
// file system removes these bits when the content changes. With HANDLE_KILLPRIV_V2 the kernel does
// not update its own copy of the mode.
func (f *rawFS) privilegesMayHaveGone(n *node) {
	if n.setid.Swap(false) {
		f.kernel.DropAttr(n.id)
	}
}

// appends reports whether a write goes to the current end of the file: bytes that were appended
// behind the mount must not be overwritten.
func appends(in *fuse.WriteIn) bool {
	return in.Flags&unix.O_APPEND != 0 && in.WriteFlags&fuse.WRITE_CACHE == 0
}

func pwrite(fd int, data [][]byte, off int64, end bool) (int, error) {
	switch {
	case end:
		return unix.Pwritev2(fd, data, off, unix.RWF_APPEND)
	case len(data) == 1:
		return unix.Pwrite(fd, data[0], off)
	}
	return unix.Pwritev(fd, data, off)
}

// admitWrite judges a write by its handle. For a store through a mapping the kernel names any write
// handle of the inode. So all handles that can be mapped must be of the handle's epoch. Otherwise a
// process that still maps the file from an earlier lease could write under the next one.
func (f *rawFS) admitWrite(cancel <-chan struct{}, in *fuse.WriteIn, h *handle) (permit, fuse.Status) {
	stored := in.WriteFlags&fuse.WRITE_CACHE != 0
	p, st := f.admitHandleAs(permit{op: gate.OpWrite, on: h.node, signal: cancel, stored: stored}, &in.InHeader, h)
	if !stored {
		return p, st
	}
	if st == fuse.OK && !p.byPlace() && !h.node.mappedAlike(h) {
		p.abandon()
		if p, st = f.admitMapping(&in.InHeader, h); st == fuse.OK {
			if st = f.admitWindows(&p, &in.InHeader, h); st != fuse.OK {
				p.abandon()
			}
		}
	}
	if st != fuse.OK {
		// Mappings see the page until the kernel drops it.
		f.inval.soon(h.node.id)
	}
	return p, st
}

// refusedStore answers a store through a mapping that was refused. The kernel keeps an error of
// write-back for the next user of the file. So the error of a stale mapper would go to the rightful
// holder's first write. Nobody waits for this request. So the page is dropped, and the mapper
// learns of it from msync and fsync, which come as an FSYNC of its stale handle. That is refused.
// If the handle may write again (an exempt place, a mode that was switched, an offer that nobody
// took), the FSYNC says once that bytes were lost. Only if a rightful handle may have stored does
// the kernel get the error.
func (f *rawFS) refusedStore(in *fuse.WriteIn, h *handle, st fuse.Status) (uint32, fuse.Status) {
	if in.WriteFlags&fuse.WRITE_CACHE == 0 {
		return 0, st
	}
	f.showedStore(h.node)
	if h.node.loseStores() {
		return in.Size, fuse.OK
	}
	return 0, st
}

// showedStore tells the worktrees in which an inode lies that readers may have seen a store that does not land, whoever
// has refused it.
func (f *rawFS) showedStore(n *node) {
	var buf [4]*layout.Rule
	for _, r := range n.rules(buf[:0]) {
		if g, ok := f.guards.Load(r.Worktree); ok && r.Kind == layout.Guarded {
			g.(*gate.Guard).Stored()
		}
	}
}

// loseStores notes that bytes were lost, on every handle of the inode that can be mapped for
// writing. If not all of them are of epochs that are over or being handed over, it does nothing and
// returns false.
func (n *node) loseStores() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for o := range n.writers {
		if o.mapped && !o.stale() && !o.frozen() {
			return false
		}
	}
	for o := range n.writers {
		o.lost.Store(o.mapped)
	}
	return true
}

// admitMapping judges a store that may not be a rightful handle's: it lands where anybody may
// write.
func (f *rawFS) admitMapping(h *fuse.InHeader, on *handle) (permit, fuse.Status) {
	if len(on.claims) == 1 && !on.revoked.Load() {
		p := permit{op: gate.OpWrite, on: on.node, place: f.exempt.OfInode(gate.OpWrite, on.node), stored: true}
		if pass, ok := on.claims[0].guard.Exempted(p.request(h, gate.ByPlace)); ok {
			p.of[0].guard, p.of[0].pass, p.n = on.claims[0].guard, pass, 1
			if !on.revoked.Load() { // checked after it is counted
				return p, fuse.OK
			}
		}
		p.abandon()
	}
	return f.refuseMapping(on)
}

// refuseMapping lets the guards count and report the refusal. If the mount only observes the store
// passes.
func (f *rawFS) refuseMapping(h *handle) (permit, fuse.Status) {
	p := permit{op: gate.OpWrite, on: h.node}
	for _, g := range f.guardsOver(h) {
		if p.n == len(p.of) {
			p.abandon()
			return permit{}, f.refused()
		}
		pass, no := g.RefuseStore(gate.ReasonStaleMapping)
		if no != nil {
			p.abandon()
			return permit{}, fuse.Status(no.Errno)
		}
		p.of[p.n].guard, p.of[p.n].pass = g, pass
		p.n++
	}
	if p.n > 0 {
		return p, fuse.OK
	}
	pass, ok, would := f.opts.Enforcement.Outside(true)
	if !ok {
		return permit{}, f.refused()
	}
	if would {
		f.stats.would.Add(1)
	}
	p.outside = pass
	return p, fuse.OK
}

// guardsOver are the guards under which a handle was opened, and those into whose worktrees its file has come since.
func (f *rawFS) guardsOver(h *handle) (all []*gate.Guard) {
	if h.revoked.Load() {
		all = f.movedInto(h)
	}
	for _, c := range h.claims {
		all = append(all, c.guard)
	}
	return all
}

// mappedAlike reports whether every handle of the inode that can be mapped for writing has the same
// claims as h.
func (n *node) mappedAlike(h *handle) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for o := range n.writers {
		if o.mapped && (o.revoked.Load() || !sameClaims(o.claims, h.claims)) {
			return false
		}
	}
	return true
}

func sameClaims(a, b []claim) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// spender says as whom space is taken without a WRITE: as the caller, who may not take the
// superuser's reserve, nor more than its quota. Setuid and setgid bits are removed if the kernel
// has asked for that by a SETATTR before.
func spender(h *fuse.InHeader, n *node) caller {
	if n.killNext.Swap(false) {
		return changer(h, n)
	}
	c := callerOf(h, 0, 0)
	c.caps = capFsetid
	return c
}

// Fallocate preallocates, punches and zeroes.
func (f *rawFS) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) (st fuse.Status) {
	f.stats.count(gate.OpFallocate)
	h := f.handles.get(in.Fh)
	if h == nil {
		return fuse.EBADF
	}
	p, st := f.admitHandle(cancel, gate.OpFallocate, &in.InHeader, h)
	if st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	changes := in.Mode&^unix.FALLOC_FL_KEEP_SIZE != 0 // otherwise no byte does
	if st := f.admitGrowth(&p, &in.InHeader, h, changes, in.Offset); st != fuse.OK {
		return st
	}
	h.node.written.Store(f.losses.Load() + 1)
	defer f.markDirty(h)
	defer f.privilegesMayHaveGone(h.node)
	return status(spender(&in.InHeader, h.node).as(func() error {
		err := retry(func() error { return unix.Fallocate(h.fd, in.Mode, int64(in.Offset), int64(in.Length)) })
		return cmp.Or(err, f.toStore(h.fd))
	}))
}

// copyMax bounds one copy, in bytes. The kernel asks again for the rest.
const copyMax = 1 << 30

// copyMaxByPlace is copyMax if no lease admitted it: a rename that moves the file waits for the
// copy.
const copyMaxByPlace = 16 << 20

// CopyFileRange copies between two files of the mount. Only the destination is judged.
func (f *rawFS) CopyFileRange(cancel <-chan struct{}, in *fuse.CopyFileRangeIn) (written uint32, st fuse.Status) {
	f.stats.count(gate.OpCopyFileRange)
	src, dst := f.handles.get(in.FhIn), f.handles.get(in.FhOut)
	if src == nil || dst == nil {
		return 0, fuse.EBADF
	}
	p, st := f.admitHandle(cancel, gate.OpCopyFileRange, &in.InHeader, dst)
	if st != fuse.OK {
		return 0, st
	}
	if dst.node.gitdir.Load() {
		defer f.git.NotedIn(dst.node, f.writerOf(cancel, &in.InHeader)) // once the copy has left
	}
	defer p.leave(&st)
	if st := f.admitGrowth(&p, &in.InHeader, dst, true, in.OffOut); st != fuse.OK {
		return 0, st
	}
	from, to, most := int64(in.OffIn), int64(in.OffOut), uint64(copyMax)
	if p.byPlace() {
		most = copyMaxByPlace
	}
	dst.node.written.Store(f.losses.Load() + 1)
	defer f.markDirty(dst)
	defer f.privilegesMayHaveGone(dst.node)
	n := 0
	err := spender(&in.InHeader, dst.node).as(func() (err error) {
		n, err = retryInt(func() (int, error) {
			return unix.CopyFileRange(src.fd, &from, dst.fd, &to, int(min(in.Len, most)), int(in.Flags))
		})
		return cmp.Or(err, f.toStore(dst.fd))
	})
	if err != nil {
		return 0, status(err)
	}
	return uint32(n), fuse.OK
}
