package fusefs

import (
	"errors"
	"runtime"
	"sync"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate"
)

// caller is on whose behalf a new inode is made or privileges are dropped.
type caller struct {
	uid, gid uint32
	umask    uint32
	// keepSetgid keeps a setgid bit that the kernel has let pass already: it knows
	// the caller's supplementary groups, and the backing call does not.
	keepSetgid bool
	// strict callers get no second try: nobody has checked their permission yet.
	strict bool
	// kill is the kernel's word that the caller may not keep setuid and setgid bits
	// of what it changes, whatever its user id is.
	kill bool
	// lack are capabilities that user 0 does not have, as in most containers.
	lack uint32
	// thrifty says that user 0 stands in for another user here: what a file system keeps
	// for the superuser is not for it.
	thrifty bool
	// caps are capabilities that the kernel has found the caller, or the owner of
	// the file, to have, and that setfsuid takes from this thread.
	caps uint32
}

// callerID is who made a request, as the gate wants it.
func callerID(h *fuse.InHeader) gate.Caller { return gate.Caller{TID: h.Pid, UID: h.Uid, GID: h.Gid} }

func callerOf(h *fuse.InHeader, umask, mode uint32) caller {
	return caller{uid: h.Uid, gid: h.Gid, umask: umask & 0o777, keepSetgid: mode&unix.S_ISGID != 0}
}

// changer is the caller for a change of n's content that must take setuid and setgid
// bits away. A setgid bit stays, where the group may not execute, for a member of the
// file's group; the backing call would not know of a supplementary group.
func changer(h *fuse.InHeader, n *node) caller {
	c := callerOf(h, 0, 0)
	c.kill = true
	var st unix.Stat_t
	if n.setid.Load() && unix.Fstat(n.fd, &st) == nil && st.Mode&(unix.S_ISGID|unix.S_IXGRP) == unix.S_ISGID && st.Gid != c.gid &&
		gate.InGroup(callerID(h), st.Gid) {
		c.gid = st.Gid
	}
	return c
}

// as runs call with the caller's file system ids and umask, so that the backing
// file system gives owner, group, mode and inherited ACL as if the caller had
// called it. The permission itself was checked by the kernel, which knows all of
// the caller's groups (default_permissions); where the backing call lacks one of
// them, it is repeated with the power to pass, still under the caller's ids.
//
// Ids and umask belong to this thread alone: setfsuid and setfsgid always do, and
// unshare(CLONE_FS) parts the umask. The thread is locked meanwhile, and Go never
// starts a new thread from a locked one.
func (c caller) as(call func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if c.umask != 0 {
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return err
		}
		unix.Umask(int(c.umask))
		defer unix.Umask(0)
	}
	if c.gid != 0 {
		if err := setfsgid(c.gid); err != nil {
			return err
		}
		defer func() { _ = setfsgid(0) }()
	}
	if c.uid == 0 {
		return c.asRoot(call)
	}
	if err := setfsuid(c.uid); err != nil {
		return err
	}
	defer func() { _ = setfsuid(0) }() // gives the capabilities back as well
	if c.keepSetgid {
		c.caps |= capFsetid
	}
	spare := reserveCaps()
	if c.caps|spare != 0 {
		defer func() { _ = raise(spare) }() // but this one
		if err := setEffective(c.caps, spare); err != nil {
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

// asRoot runs call for user 0, which may lack the power to keep setuid and setgid
// bits: in containers it mostly does.
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

// setfsuid and setfsgid report a failure, which the system calls do not: they
// return the previous id either way, so the id is read back.
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

// standIn is as whom something is done for a caller whose permission the kernel has
// checked, where nobody looks at whose ids it is done with.
func standIn(h *fuse.InHeader) caller { return caller{thrifty: h.Uid != 0} }

// reserveCaps is the capability that quotas and reserved blocks do not count for, if the
// daemon has it. setfsuid leaves it alone, for it is not about files. Source:
// capabilities(7), CAP_SYS_RESOURCE.
var reserveCaps = sync.OnceValue(func() uint32 {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&hdr, &data[0]) != nil {
		return 0
	}
	return data[0].Permitted & (1 << unix.CAP_SYS_RESOURCE)
})

// raise makes capabilities effective again that setfsuid took away. It holds
// until the thread's fsuid becomes 0, which resets them (capabilities(7)).
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
