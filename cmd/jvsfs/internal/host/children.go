package host

import (
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// jvsfs exec waits for whatever ends below it (PR_SET_CHILD_SUBREAPER), and starts programs of its own meanwhile: a fence agent, git, the probe
// of a mount. The kernel gives the end of a child to the first who asks. So both agree on whose it is.

// awaited are the children that somebody here waits for by name. Each channel is closed when that is done.
var awaited = struct {
	sync.Mutex
	pids map[int]chan struct{}
}{pids: map[int]chan struct{}{}}

// RunChild is cmd.Run for a process that may call NextEnd. Safe for concurrent use.
func RunChild(cmd *exec.Cmd) error {
	wait, err := StartChild(cmd)
	if err != nil {
		return err
	}
	return wait()
}

// StartChild is cmd.Start for a process that may call NextEnd; the caller must call wait, which is cmd.Wait. Safe for concurrent use.
func StartChild(cmd *exec.Cmd) (wait func() error, err error) {
	awaited.Lock() // a reaper that sees the child end waits for its name to be written down
	defer awaited.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid, over := cmd.Process.Pid, make(chan struct{})
	awaited.pids[pid] = over
	return func() error {
		err := cmd.Wait()
		close(over)
		awaited.Lock()
		defer awaited.Unlock()
		if awaited.pids[pid] == over { // the number may be another child's by now
			delete(awaited.pids, pid)
		}
		return err
	}, nil
}

// NextEnd waits for the end of any child that nobody waits for by name, or for a stop of one. With hang false it does not wait: 0 means that
// there are children, and none of them has ended. ECHILD means that there is none. One goroutine may call it.
func NextEnd(hang bool) (pid int, status syscall.WaitStatus, err error) {
	options := unix.WEXITED | unix.WSTOPPED | unix.WNOWAIT
	if !hang {
		options |= unix.WNOHANG
	}
	for {
		var info childInfo
		if err := unix.Waitid(unix.P_ALL, 0, info.raw(), options, nil); err != nil {
			return 0, 0, err
		}
		switch {
		case info.pid() == 0:
			return 0, 0, nil
		case info.stopped():
			if status, still := takeStop(info.pid()); still {
				return info.pid(), status, nil
			}
			continue // it goes on, or has ended
		}
		over, pid, status := takeEnd(info.pid())
		if pid != 0 {
			return pid, status, nil
		}
		<-over
	}
}

// takeEnd takes the end of a child that nobody waits for by name. pid is 0 if somebody does, until over is closed.
func takeEnd(child int) (over <-chan struct{}, pid int, status syscall.WaitStatus) {
	awaited.Lock() // no child begins meanwhile, so that the number means the same one
	defer awaited.Unlock()
	if over, named := awaited.pids[child]; named {
		return over, 0, 0
	}
	pid, err := syscall.Wait4(child, &status, syscall.WNOHANG, nil)
	if err == nil && pid == child {
		return nil, pid, status
	}
	return closedChan, 0, 0 // who waited for it by name has just done so
}

// closedChan is for waits that are over.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// childInfo is siginfo_t as waitid(2) fills it: three numbers, then, aligned as a pointer is, the process, its user
// and its status.
type childInfo struct {
	signo, errno, code int32
	_                  [unsafe.Sizeof(uintptr(0)) - 4]byte
	process            int32
	_                  uint32    // its user
	status             int32     // the signal that has stopped it, if it is a stop
	_                  [128]byte // siginfo_t has 128 bytes in all
}

// CLD_TRAPPED and CLD_STOPPED of siginfo_t.
const (
	childTrapped = 4
	childStopped = 5
)

func (i *childInfo) raw() *unix.Siginfo { return (*unix.Siginfo)(unsafe.Pointer(i)) }

func (i *childInfo) pid() int { return int(i.process) }

func (i *childInfo) stopped() bool { return i.code == childTrapped || i.code == childStopped }

// takeStop takes the stop of a child, so that it is told once, if it is still stopped. It takes no end: that may be somebody else's. The
// status has the signal that stopped it, as wait(2) encodes it.
func takeStop(child int) (status syscall.WaitStatus, still bool) {
	var info childInfo
	err := unix.Waitid(unix.P_PID, child, info.raw(), unix.WSTOPPED|unix.WNOHANG, nil)
	return syscall.WaitStatus(uint32(info.status)<<8 | 0x7f), err == nil && info.pid() == child
}
