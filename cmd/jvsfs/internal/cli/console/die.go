package console

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SignalSelf returns when the signal has had its effect: a signal to the process may be taken by another thread, later.
func SignalSelf(s syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), s)
}

// DieOf ends this process by a signal, without a core.
func DieOf(s syscall.Signal) {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // a limit of 0 does not hold where a program takes cores, core(5)
	SetAction(s, nil)
	SignalSelf(s)
}

// action is the kernel's struct sigaction, whatever is in it. All zeros are the default action.
type action [4]uint64

// SetAction sets what a signal does, nil for its default action. Package os/signal cannot: what Notify has caught once keeps a handler of
// the runtime, and that ignores SIGTSTP.
func SetAction(s syscall.Signal, to *action) (was action) {
	if to == nil {
		to = &action{}
	}
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(&was)), 8, 0, 0)
	return was
}
