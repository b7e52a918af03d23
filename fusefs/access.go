package fusefs

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/gate/process"
)

// MayAccess asks the file system that name lies in whether somebody may access it. It judges by
// owner, group, mode, ACL, capabilities, and the directories on the way from dirfd. Without a name
// it is about dirfd itself, which may be O_PATH.
func MayAccess(k process.Credentials, dirfd int, name string, mode uint32) error {
	flags := unix.AT_EACCESS
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	return asSomebody(k, func() error {
		return retry(func() error { return unix.Faccessat2(dirfd, name, mode, flags) })
	})
}

// asSomebody runs call with somebody's ids, supplementary groups and file capabilities. They belong
// to one thread. No other goroutine gets this thread afterwards.
func asSomebody(k process.Credentials, call func() error) error {
	if unprivileged() { // it is this user, or somebody whom the kernel does not let through
		if int64(k.UID) != int64(os.Geteuid()) {
			return unix.EACCES
		}
		return call()
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the first thread cannot end, and others see its ids as those of the process
			defer runtime.UnlockOSThread()
			done <- asSomebody(k, call)
			return
		}
		done <- become(k, call) // never unlocked: the thread ends with the goroutine
	}()
	return <-done
}

// fileCaps are the capabilities that decide about access to files.
const fileCaps = capDacOverride | capDacReadSearch

func become(k process.Credentials, call func() error) error {
	if err := setgroups(k.Groups); err != nil {
		return err
	}
	if err := setfsgid(k.GID); err != nil {
		return err
	}
	if err := setfsuid(k.UID); err != nil {
		return err
	}
	// setfsuid has taken them all away, except from user 0.
	if err := setEffective(uint32(k.Everywhere())&fileCaps, fileCaps&^uint32(k.Everywhere())); err != nil {
		return err
	}
	return call()
}

// setgroups changes this thread only; that of the runtime changes all.
func setgroups(groups []uint32) error {
	var first unsafe.Pointer
	if len(groups) > 0 {
		first = unsafe.Pointer(unsafe.SliceData(groups))
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(first), 0); errno != 0 {
		return errno
	}
	return nil
}
