package fusefs

import (
	"errors"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
	"github.com/jvsfs/jvsfs/gate/engine"
	"github.com/jvsfs/jvsfs/gate/layout"
	"github.com/jvsfs/jvsfs/gate/policy/lockfiles"
)

// makeEntry is the course of every call that adds a name: ask the gate, make one backing call as
// the caller, answer with the new entry.
func (f *rawFS) makeEntry(cancel <-chan struct{}, op gate.Op, h *fuse.InHeader, name string, as caller, out *fuse.EntryOut, call func(dir *node) error) (st fuse.Status) {
	f.stats.count(op)
	dir := f.nodes.get(h.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	if !f.room(h) {
		return fuse.Status(unix.ENFILE)
	}
	at := f.targetOf(dir, name)
	turn, st := f.takeTurn(cancel, op, h, []lockfiles.Name{at.seen})
	if st != fuse.OK {
		return st
	}
	defer func() { turn.End(st == fuse.OK) }()
	p, st := f.admitEntry(cancel, op, h, at)
	if st != fuse.OK {
		return st
	}
	defer p.leave(&st)
	own := changing(dir, name, 1)
	if err := as.as(func() error { return retry(func() error { return call(dir) }) }); err != nil {
		own.unchanged()
		return status(err)
	}
	return f.entry(h, dir, name, out)
}

// Mknod makes a regular file, device, FIFO or socket (bind of an AF_UNIX address).
func (f *rawFS) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	as := callerOf(&in.InHeader, in.Umask, in.Mode)
	return f.makeEntry(cancel, gate.OpMknod, &in.InHeader, name, as, out, func(dir *node) error {
		return f.mknodAs(as, in, dir, name)
	})
}

// mknodAs makes the node. A device needs CAP_MKNOD: the kernel has checked that the caller has it,
// but its id has taken it from this thread.
func (f *rawFS) mknodAs(as caller, in *fuse.MknodIn, dir *node, name string) error {
	if t := in.Mode & unix.S_IFMT; as.uid != 0 && (t == unix.S_IFCHR || t == unix.S_IFBLK) {
		if err := raise(1 << unix.CAP_MKNOD); err != nil {
			return err
		}
	}
	return unix.Mknodat(dir.fd, name, in.Mode, int(in.Rdev))
}

// Mkdir makes a directory.
func (f *rawFS) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	losses := f.losses.Load() // before anything is asked
	as := callerOf(&in.InHeader, in.Umask, in.Mode)
	st := f.makeEntry(cancel, gate.OpMkdir, &in.InHeader, name, as, out, func(dir *node) error {
		return unix.Mkdirat(dir.fd, name, in.Mode)
	})
	if st == fuse.OK {
		f.madeDir(f.nodes.get(out.NodeId), losses)
	}
	return st
}

// Symlink makes a symbolic link.
func (f *rawFS) Symlink(cancel <-chan struct{}, h *fuse.InHeader, target, name string, out *fuse.EntryOut) fuse.Status {
	return f.makeEntry(cancel, gate.OpSymlink, h, name, callerOf(h, 0, 0), out, func(dir *node) error {
		return unix.Symlinkat(target, dir.fd, name)
	})
}

// Create makes a file and opens it.
func (f *rawFS) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) (st fuse.Status) {
	f.stats.count(gate.OpCreate)
	dir := f.nodes.get(in.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	if !f.room(&in.InHeader) { // otherwise the file would stay, but the caller would not know
		return fuse.Status(unix.ENFILE)
	}
	losses := f.losses.Load() // before anything is asked
	at := f.targetOf(dir, name)
	turn, st := f.takeTurn(cancel, gate.OpCreate, &in.InHeader, []lockfiles.Name{at.seen})
	if st != fuse.OK {
		return st
	}
	defer func() { turn.End(st == fuse.OK) }()
	p, st := f.admitEntry(cancel, gate.OpCreate, &in.InHeader, at)
	if st != fuse.OK {
		return st
	}
	defer f.unlessLate(&p, &st, out)
	if !f.mayOpen(dir, in.Flags) {
		return f.refuseRule(gate.OpCreate, callerID(&in.InHeader), layout.Sealed)
	}
	fd, made, err := f.createAt(in, dir, name, p.byPlace() || p.held.Has(engine.Repository) || f.ruled())
	if err != nil {
		return status(err)
	}
	if st = f.created(fd, made, in, dir, name, &p, out); made && st == fuse.OK {
		f.madeFile(out.NodeId, losses)
	}
	return st
}

// createAt makes the file. If somebody else has made one there meanwhile, it is opened as the
// caller, because the kernel has not checked that one; with O_EXCL it is an error. If only the
// place of a new file was judged, the kernel looks again (ESTALE): the other file may have more
// names, or be an object or a lock file of git.
func (f *rawFS) createAt(in *fuse.CreateIn, dir *node, name string, newOnly bool) (fd int, made bool, err error) {
	open := func(flags int) func() error {
		return func() (err error) {
			fd, err = retryInt(func() (int, error) {
				return unix.Openat(dir.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, in.Mode&0o7777)
			})
			return err
		}
	}
	as := callerOf(&in.InHeader, in.Umask, in.Mode)
	flags := f.backingFlags(in.Flags) &^ unix.O_NOATIME // only an owner may ask for it
	own := changing(dir, name, 1)
	if err = as.as(open(flags | unix.O_CREAT | unix.O_EXCL)); err != nil {
		own.unchanged()
	}
	if !errors.Is(err, unix.EEXIST) || in.Flags&unix.O_EXCL != 0 {
		return fd, true, err
	}
	if newOnly {
		return -1, false, unix.ESTALE
	}
	as.strict = true
	err = as.as(open(flags | int(in.Flags)&unix.O_TRUNC))
	return fd, false, err
}

// created answers CREATE and TMPFILE: an entry and an open handle in one.
func (f *rawFS) created(fd int, made bool, in *fuse.CreateIn, dir *node, name string, p *permit, out *fuse.CreateOut) fuse.Status {
	var st unix.Stat_t
	var err error
	if made {
		err = f.statNoSync(fd, &st)
	} else {
		err = fstat(fd, &st)
	}
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = unix.EEXIST
	}
	if err != nil {
		_ = unix.Close(fd)
		return status(err)
	}
	ofLock := false
	n, lent := f.rememberOpen(&in.InHeader, fd, &st, dir, name)
	if name == "" {
		p.born(n)
	} else {
		if p.by != nil {
			p.by.Made(n.key)
		}
		ofLock = f.git != nil && layout.IsLock(name) && p.n == 0
	}
	f.fillEntry(&out.EntryOut, f.cacheGenOf(dir), n, dir, name, &st) // the lease that it was made under still lasts
	h := &handle{
		node: n, fd: fd, lent: lent, quota: f.quotas.by(in.Uid), claims: p.claims(), against: p.against, opener: openerOf(&in.InHeader), ofLock: ofLock,
		ofBranch: !ofLock && f.git != nil && n.isBranch(), made: name != "" && f.ruled(), grows: f.rules.Growing(n),
	}
	if !lent {
		f.lendIfMany(h)
	}
	f.openHandle(h, in.Flags, &out.OpenOut)
	return fuse.OK
}

// unlessLate ends a creation. If it was late it fails, and the handle and the reference are freed,
// because the kernel does not get them.
func (f *rawFS) unlessLate(p *permit, st *fuse.Status, out *fuse.CreateOut) {
	made := *st == fuse.OK
	p.leave(st)
	if made && *st != fuse.OK {
		f.release(out.Fh)
		f.forget(out.NodeId, 1)
	}
}

// Tmpfile makes a file without a name. LINK may give it one later.
func (f *rawFS) Tmpfile(cancel <-chan struct{}, in *fuse.CreateIn, out *fuse.CreateOut) (st fuse.Status) {
	f.stats.count(gate.OpTmpfile)
	dir := f.nodes.get(in.NodeId)
	if dir == nil {
		return fuse.ENOENT
	}
	if !f.room(&in.InHeader) {
		return fuse.Status(unix.ENFILE)
	}
	p, st := f.admitNode(cancel, gate.OpTmpfile, &in.InHeader, dir)
	if st != fuse.OK {
		return st
	}
	defer f.unlessLate(&p, &st, out)
	var fd int
	err := callerOf(&in.InHeader, in.Umask, in.Mode).as(func() (err error) {
		fd, err = retryInt(func() (int, error) {
			flags := f.backingFlags(in.Flags) | unix.O_TMPFILE | int(in.Flags)&unix.O_EXCL
			return unix.Openat(dir.fd, ".", flags|unix.O_CLOEXEC, in.Mode&0o7777)
		})
		return err
	})
	if err != nil {
		return status(err)
	}
	return f.created(fd, true, in, dir, "", &p, out)
}
