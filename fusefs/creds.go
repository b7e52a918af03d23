package fusefs

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// caller says as whom a new inode is made or privileges are dropped.
type caller struct {
	uid, gid uint32
	// umask matters only for a new inode's mode.
	umask, mode uint32
	// keepSetgid keeps a setgid bit that the kernel has allowed already: it knows the caller's
	// supplementary groups, the backing call does not.
	keepSetgid bool
	// strict callers get no second try, because nobody has checked their permission yet.
	strict bool
	// kill says that the kernel wants setuid and setgid bits removed from what the caller changes,
	// whatever its user id is.
	kill bool
	// lack are capabilities that user 0 does not have here, as in most containers.
	lack uint32
	// thrifty says that user 0 stands in for another user: it must not use what a file system
	// reserves for the superuser.
	thrifty bool
	// caps are capabilities that a user's id takes from this thread. The kernel has found that the
	// caller, or the owner of the file, has them.
	caps uint32
}

// callerID is the maker of a request, in the gate's form.
func callerID(h *fuse.InHeader) process.Caller {
	return process.Caller{TID: h.Pid, UID: h.Uid, GID: h.Gid}
}

func callerOf(h *fuse.InHeader, umask, mode uint32) caller {
	return caller{uid: h.Uid, gid: h.Gid, umask: umask & 0o777, mode: mode, keepSetgid: mode&unix.S_ISGID != 0}
}

// changer is the caller for a change of n's content that must remove setuid and setgid bits. If the
// group may not execute, the setgid bit stays for a member of the file's group. The backing call
// would not know a supplementary group.
func changer(h *fuse.InHeader, n *node) caller {
	c := callerOf(h, 0, 0)
	c.kill = true
	var st unix.Stat_t
	if n.setid.Load() && unix.Fstat(n.fd, &st) == nil && st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID && st.Gid != c.gid &&
		process.InGroup(callerID(h), st.Gid) {
		c.gid = st.Gid
	}
	return c
}

// as runs call with the caller's file system ids and umask. So the backing file system sets owner,
// group, mode and inherited ACL as if the caller had called it. The kernel has checked the
// permission, because it knows all groups of the caller (default_permissions). If the backing call
// fails for lack of a group, it is repeated with the power to pass, still under the caller's ids.
//
// Ids and umask belong to this thread alone: switchTo's system calls change only one, and
// unshare(CLONE_FS) separates the umask. The thread is locked meanwhile, and Go never starts a new
// thread from a locked one. When as returns, the thread is its own again.
func (c caller) as(call func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c.masks() {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		unix.Umask(int(c.umask))
		defer unix.Umask(0)
	}
	if unprivileged() {
		return call() // the kernel lets only callers with these very ids come (usermount.go)
	}
	if c.gid != 0 {
		if err := switchTo(unix.SYS_SETRESGID, c.gid); err != nil {
			return err
		}
		defer switchBack(unix.SYS_SETRESGID)
	}
	if c.uid == 0 {
		return c.asRoot(call)
	}
	if err := switchTo(unix.SYS_SETRESUID, c.uid); err != nil {
		return err
	}
	defer switchBack(unix.SYS_SETRESUID) // it also gives the capabilities back
	if c.keepSetgid {
		c.caps |= capFsetid
	}
	if c.caps != 0 {
		if err := raise(c.caps); err != nil {
			return err
		}
	}
	err := call()
	if errors.Is(err, unix.EACCES) && !c.strict {
		if raise(capDacOverride|capDacReadSearch) == nil {
			err = call()
		}
	}
	return err
}

// asRoot runs call for user 0. In containers user 0 mostly lacks the power to keep setuid and
// setgid bits.
func (c caller) asRoot(call func() error) error {
	take := c.lack
	if c.kill {
		take |= capFsetid
	}
	if c.thrifty {
		take |= reserveCaps()
	}
	if take == 0 {
		return call()
	}
	if err := setEffective(0, take); err != nil {
		return err
	}
	defer func() { _ = raise(take) }()
	return call()
}

// masks reports whether the umask can make a difference. A directory's default ACL takes its place
// (posix_acl_create in fs/posix_acl.c), and otherwise its bits are removed: if there are none of
// them, the mode is the same with and without it.
func (c caller) masks() bool { return c.umask&c.mode != 0 }

// unchanged is an id that the setres calls leave as it is.
const unchanged = ^uint32(0)

// switchTo makes an id this thread's effective one, and with it its file system id. From a user's
// threads the kernel takes all effective capabilities (cap_emulate_setxuid in
// security/commoncap.c), also that to ignore quotas and reserved blocks. setfsuid and setfsgid would
// report no failure, so each id had to be read back. The real and the saved id stay 0: so no user
// may send this thread a signal, and it may always switch back. x/sys's functions of these names
// change all threads.
func switchTo(call uintptr, id uint32) error {
	if id == unchanged { // nobody's: requests that make nothing have it on an idmapped mount
		return unix.EPERM
	}
	if _, _, errno := unix.RawSyscall(call, uintptr(unchanged), uintptr(id), uintptr(unchanged)); errno != 0 {
		return errno
	}
	return nil
}

// switchPause is between two tries of switchBack.
const switchPause = 2 * time.Millisecond

// switchBack ends switchTo. It needs memory for the new credentials and nothing else, because 0 is
// still the thread's real id. Until there is some, nothing else may run on this thread.
func switchBack(call uintptr) {
	for switchTo(call, 0) != nil {
		_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(switchPause)}, nil)
	}
}

// setfsuid and setfsgid report a failure. The system calls do not: they return the previous id in
// both cases. So the id is read back.
func setfsuid(uid uint32) error {
	_, _ = unix.SetfsuidRetUid(int(uid))
	if now, _ := unix.SetfsuidRetUid(-1); uint32(now) != uid {
		return unix.EPERM
	}
	return nil
}

func setfsgid(gid uint32) error {
	_, _ = unix.SetfsgidRetGid(int(gid))
	if now, _ := unix.SetfsgidRetGid(-1); uint32(now) != gid {
		return unix.EPERM
	}
	return nil
}

const (
	capDacOverride   = 1 << unix.CAP_DAC_OVERRIDE
	capDacReadSearch = 1 << unix.CAP_DAC_READ_SEARCH
	capFsetid        = 1 << unix.CAP_FSETID
	capFowner        = 1 << unix.CAP_FOWNER
)

// standIn says as whom something is done for a caller whose permission the kernel has checked, if
// the ids do not matter.
func standIn(h *fuse.InHeader) caller { return caller{thrifty: h.Uid != 0} }

// reserveCaps is the capability to ignore quotas and reserved blocks, if the daemon has it.
// A user's id removes it, but some things are done for users under user 0's. Source:
// capabilities(7), CAP_SYS_RESOURCE.
var reserveCaps = sync.OnceValue(func() uint32 {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&hdr, &data[0]) != nil {
		return 0
	}
	return data[0].Permitted & (1 << unix.CAP_SYS_RESOURCE)
})

// raise makes capabilities effective again that a user's id has removed. They last until the
// thread's id becomes 0, which resets them (capabilities(7)).
func raise(caps uint32) error { return setEffective(caps, 0) }

func setEffective(add, take uint32) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	data[0].Effective = (data[0].Effective | add&data[0].Permitted) &^ take
	return unix.Capset(&hdr, &data[0])
}
