package fusefs

import (
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/process"
)

// SetAttr changes mode, owner, size or times. A size that is set through an open file is judged by
// that handle. Everything else is judged by the caller.
func (f *rawFS) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) (st fuse.Status) {
	f.stats.count(gate.OpSetAttr)
	n := f.nodes.get(in.NodeId)
	if n == nil {
		return fuse.ENOENT
	}
	h := f.writeHandle(in)
	var t *touch
	if namesNothing(in) {
		t = &touch{n: n, h: &in.InHeader}
	}
	p, st := f.admitAttr(cancel, in, n, h, t)
	switch {
	case t.turnedAway() && t.answer == fuse.OK:
		return f.attr(n, out)
	case t.turnedAway():
		return t.answer
	case st != fuse.OK:
		return st
	}
	defer p.leave(&st)
	if _, sized := in.GetSize(); sized && h == nil && f.git.AddOnly(n) {
		if st := f.refuseUnlessObserving(gate.Refusal{Reason: gate.ReasonAddOnly, Op: gate.OpSetAttr, Caller: callerID(&in.InHeader)}); st != fuse.OK {
			return st
		}
	}
	if size, sized := in.GetSize(); sized {
		if st := f.admitSize(&p, &in.InHeader, n, h, size); st != fuse.OK {
			return st
		}
	}
	for _, change := range []func(*fuse.SetAttrIn, *node, *handle) error{f.setMode, f.setOwner, f.setSize, f.setTimes} {
		if err := retry(func() error { return change(in, n, h) }); err != nil {
			return status(err)
		}
	}
	if t == nil { // the last change is answered with the attributes
		return f.attrTold(n, out)
	}
	return f.attr(n, out)
}

func (f *rawFS) writeHandle(in *fuse.SetAttrIn) *handle {
	id, ok := in.GetFh()
	if !ok {
		return nil
	}
	if h := f.handles.get(id); h != nil && h.write {
		return h
	}
	return nil
}

func (f *rawFS) admitAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, n *node, h *handle, t *touch) (permit, fuse.Status) {
	if t != nil {
		return f.admitNodeIf(cancel, gate.OpSetAttr, &in.InHeader, n, t.may)
	}
	if h != nil && in.Valid&fuse.FATTR_SIZE != 0 {
		return f.admitHandle(cancel, gate.OpSetAttr, &in.InHeader, h)
	}
	return f.admitNodeIf(cancel, gate.OpSetAttr, &in.InHeader, n, maySetAttr(in, n))
}

func (f *rawFS) setMode(in *fuse.SetAttrIn, n *node, _ *handle) error {
	mode, ok := in.GetMode()
	if !ok {
		return nil
	}
	if n.kind == unix.S_IFLNK {
		return unix.EOPNOTSUPP // as Linux answers for symbolic links
	}
	err := unix.Fchmodat(n.fd, "", mode, unix.AT_EMPTY_PATH)
	if err == unix.EOPNOTSUPP { // before Linux 6.6
		err = unix.Chmod(n.path(), mode)
	}
	return err
}

func (f *rawFS) setOwner(in *fuse.SetAttrIn, n *node, _ *handle) error {
	uid, setUID := in.GetUID()
	gid, setGID := in.GetGID()
	if !setUID && !setGID {
		return f.chownToNobody(in, n)
	}
	as, err := changerOfOwner(&in.InHeader, n)
	if err != nil {
		return err
	}
	return as.as(func() error {
		return unix.Fchownat(n.fd, "", int(int32(uid)), int(int32(gid)), unix.AT_EMPTY_PATH)
	})
}

// changerOfOwner says as whom an owner is changed: as root, because the kernel has checked the
// right to do so. It has not checked the rest: setuid and setgid bits are removed, which needs the
// owner or CAP_FOWNER, and more of them are removed without CAP_FSETID. If the caller's
// capabilities are not visible it is trusted.
func changerOfOwner(h *fuse.InHeader, n *node) (caller, error) {
	if n.IsDir() || !n.setid.Load() || h.Pid == 0 {
		return standIn(h), nil
	}
	st, ok := statOf(n.fd)
	if !ok {
		return standIn(h), nil
	}
	who := callerID(h)
	if st.Uid != h.Uid && !process.HasCapability(who, unix.CAP_FOWNER) {
		return caller{}, unix.EPERM
	}
	return caller{thrifty: h.Uid != 0, kill: h.Uid == 0 && !process.HasCapability(who, unix.CAP_FSETID)}, nil
}

// chownToNobody answers a request that names no attribute. Two calls look so. One is chown(path,
// -1, -1): it removes setuid and setgid bits, or fails, depending on the caller. The other comes
// before a FALLOCATE or COPY_FILE_RANGE by somebody who may not keep these bits: the kernel wants
// them removed, and this must not fail. The second one needs the file open for writing, and is done
// with the operation itself. So a stranger's chown cannot remove bits of a file that somebody else
// has open.
func (f *rawFS) chownToNobody(in *fuse.SetAttrIn, n *node) error {
	const named = fuse.FATTR_MODE | fuse.FATTR_SIZE | fuse.FATTR_ATIME | fuse.FATTR_MTIME
	if in.Valid&named != 0 {
		return nil
	}
	as := callerOf(&in.InHeader, 0, 0)
	who := callerID(&in.InHeader)
	as.strict, as.kill = true, !process.HasCapability(who, unix.CAP_FSETID)
	switch has := process.HasCapability(who, unix.CAP_FOWNER); {
	case has:
		as.caps = capFowner
	case who.TID != 0: // one that cannot be seen is believed
		as.lack = capFowner
	}
	err := as.as(func() error { return unix.Fchownat(n.fd, "", -1, -1, unix.AT_EMPTY_PATH) })
	if errors.Is(err, unix.EPERM) && n.hasWriters() {
		n.killNext.Store(true)
		return nil
	}
	return err
}

// setSize truncates. For a caller that may not keep setuid and setgid bits it runs under its ids,
// so the backing file system removes them.
func (f *rawFS) setSize(in *fuse.SetAttrIn, n *node, h *handle) error {
	size, ok := in.GetSize()
	if !ok {
		return nil
	}
	fd := -1
	if h != nil {
		fd = h.fd
		defer f.markDirty(h)
	} else {
		var err error
		if fd, err = f.source.Reopen(n.fd, unix.O_WRONLY|unix.O_NONBLOCK); err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
	}
	n.written.Store(f.losses.Load() + 1)
	truncate := func() error { return unix.Ftruncate(fd, int64(size)) }
	if in.Valid&fuse.FATTR_KILL_SUIDGID != 0 {
		return changer(&in.InHeader, n).as(truncate)
	}
	return standIn(&in.InHeader).as(truncate)
}

func (f *rawFS) setTimes(in *fuse.SetAttrIn, n *node, _ *handle) error {
	if in.Valid&(fuse.FATTR_ATIME|fuse.FATTR_MTIME) == 0 {
		return nil
	}
	ts := []unix.Timespec{
		timespec(in.Valid, fuse.FATTR_ATIME, fuse.FATTR_ATIME_NOW, in.Atime, in.Atimensec),
		timespec(in.Valid, fuse.FATTR_MTIME, fuse.FATTR_MTIME_NOW, in.Mtime, in.Mtimensec),
	}
	return standIn(&in.InHeader).as(func() error { return unix.UtimesNanoAt(n.fd, "", ts, unix.AT_EMPTY_PATH) })
}

func timespec(valid, set, now uint32, sec uint64, nsec uint32) unix.Timespec {
	switch {
	case valid&set == 0:
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	case valid&now != 0:
		return unix.Timespec{Nsec: unix.UTIME_NOW}
	}
	return unix.Timespec{Sec: int64(sec), Nsec: int64(nsec)}
}
