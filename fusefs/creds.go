package fusefs

import (
	"runtime"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
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
}

func callerOf(h *fuse.InHeader, umask, mode uint32) caller {
	return caller{uid: h.Uid, gid: h.Gid, umask: umask & 0o777, keepSetgid: mode&unix.S_ISGID != 0}
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
		return call()
	}
	if err := setfsuid(c.uid); err != nil {
		return err
	}
	defer func() { _ = setfsuid(0) }() // gives the capabilities back as well
	if c.keepSetgid {
		if err := raise(capFsetid); err != nil {
			return err
		}
	}
	err := call()
	if err == unix.EACCES && !c.strict {
		if raise(capDacOverride|capDacReadSearch) == nil {
			err = call()
		}
	}
	return err
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
)

// raise makes capabilities effective again that setfsuid took away. It holds
// until the thread's fsuid becomes 0, which resets them (capabilities(7)).
func raise(caps uint32) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	data[0].Effective |= caps & data[0].Permitted
	return unix.Capset(&hdr, &data[0])
}
