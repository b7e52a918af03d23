package lockop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/host"
	"github.com/jvsfs/jvsfs/gate/process"
	"github.com/jvsfs/jvsfs/lease"
)

// A daemon that is stopped, or stuck in a write, keeps the gate of its worktree. Then no lease can be taken
// over: that is the promise (rule 4 of package lease). --fence ends such a daemon on the same host. The kernel
// drops its flock after its last write, and its mount refuses everything. Before that, while a pidfd pins the
// process, three things must be proven: it is jvsfs, it holds that gate, and it belongs to the caller (or the
// caller is root).

// fenceWait bounds the wait for an ended daemon. A daemon that is stuck in the kernel ends when the kernel lets
// it.
const fenceWait = 5 * time.Second

// gateBlocked reports whether only the gate or the turn prevented the lease, and all other rules were met.
func gateBlocked(err error) bool {
	var le *lease.Error
	return errors.As(err, &le) && le.Class == lease.ClassLockConflict &&
		(strings.HasSuffix(le.File, ".gate") || strings.HasSuffix(le.File, ".turn"))
}

// StealFencing steals. If the gate is in the way and force is set, it fences and steals again.
func StealFencing(ctx context.Context, store *lease.Store, by uint32, force bool, say func(string), steal func() (lease.Grant, error)) (lease.Grant, error) {
	grant, err := steal()
	if err == nil || !force || !gateBlocked(err) {
		return grant, err
	}
	if ferr := Fence(ctx, store, by, say); ferr != nil {
		return grant, ferr
	}
	return steal()
}

// Fence ends the processes that hold the gate, on behalf of user by. It proves all of them before it ends the
// first.
func Fence(ctx context.Context, store *lease.Store, by uint32, say func(string)) error {
	if err := grantedHere(store); err != nil {
		return err
	}
	pids, err := store.GateOwners()
	if err != nil {
		return err
	}
	var all []suspect
	defer func() {
		for _, s := range all {
			host.CloseFile(s.fd)
		}
	}()
	for _, pid := range pids {
		s, err := prove(store, pid, by)
		if err != nil {
			return notFenced(store, pid, err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		if err := s.end(ctx); err != nil {
			return notFenced(store, s.pid, err)
		}
		say(fmt.Sprintf("ended process %d (%s), which kept the gate", s.pid, s.what))
	}
	return nil
}

// grantedHere refuses if the lease was granted on another host, in another boot, or in another pid namespace.
// Then it would not help to end the process that holds the gate here.
func grantedHere(store *lease.Store) error {
	head, err := store.Head()
	if err != nil {
		return err
	}
	if head.Record == nil || head.Record.Released {
		return nil
	}
	boot, err := process.ReadBootID()
	if h := head.Record.Holder(); err != nil || h.BootID != boot || h.PIDNamespace != process.PIDNamespaceOf("self") {
		return notFenced(store, 0, errors.New("the lease was granted on another host, before a reboot, or in another pid namespace: fence it there"))
	}
	return nil
}

// suspect is a process that was proven to keep the gate; fd pins it.
type suspect struct {
	pid  int
	fd   *os.File
	what string
}

// prove checks everything while the pidfd pins the process.
func prove(store *lease.Store, pid int, by uint32) (suspect, error) {
	s := suspect{pid: pid}
	if pid <= 0 {
		return s, errors.New("it is in a pid namespace that cannot be seen from here")
	}
	before, err := process.ReadStat(pid)
	if err != nil {
		return s, err
	}
	if s.fd, err = process.OpenPidfd(pid); err != nil {
		return s, err
	}
	if err = s.check(store, before.Start, by); err == nil && !process.PidfdAlive(s.fd) {
		err = errors.New("it has just ended: try again")
	}
	if err != nil {
		host.CloseFile(s.fd)
		return s, err
	}
	s.what = map[bool]string{true: "stopped", false: "running"}[before.State == 'T' || before.State == 't']
	return s, nil
}

func (s suspect) check(store *lease.Store, start uint64, by uint32) error {
	if s.pid == os.Getpid() {
		return errors.New("it is this very process")
	}
	if st, err := process.ReadStat(s.pid); err != nil || st.Start != start {
		return errors.New("it has just ended: try again")
	}
	if ns := process.PIDNamespaceOf(strconv.Itoa(s.pid)); ns == "" || ns != process.PIDNamespaceOf("self") {
		return errors.New("it runs in another pid namespace: fence it there")
	}
	if uid, err := process.OwnerOf(s.pid); err != nil || by != 0 && uid != by {
		return fmt.Errorf("it belongs to user %d: only that user or root may end it", uid)
	}
	if !runsJVSFS(s.pid) {
		return errors.New("it is not jvsfs, whatever it does with the lock file; end it by hand if that is right")
	}
	owns, err := store.OwnsGate(s.pid)
	if err == nil && !owns {
		err = errors.New("it has just let the gate go: try again")
	}
	return err
}

// runsJVSFS reports whether a process runs this program, of any release, with etcd or without.
func runsJVSFS(pid int) bool {
	theirs, err1 := process.Executable(pid)
	ours, err2 := os.Readlink("/proc/self/exe")
	return err1 == nil && err2 == nil && programName(theirs) == programName(ours)
}

// programName is that of an executable file, as /proc names it. The complete program is the same one, with etcd.
func programName(exe string) string {
	return strings.TrimSuffix(process.ProgramName(exe), "-etcd")
}

// end kills the process and waits until it has ended. Then its locks are gone, too.
func (s suspect) end(ctx context.Context) error {
	if err := unix.PidfdSendSignal(int(s.fd.Fd()), unix.SIGKILL, nil, 0); err != nil {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	ctx, cancel := context.WithTimeout(ctx, fenceWait)
	defer cancel()
	for process.PidfdAlive(s.fd) {
		p := []unix.PollFd{{Fd: int32(s.fd.Fd()), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, 100); err != nil && !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("poll", err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("it was told to end, but the kernel has not let it yet: try again later (%w)", context.Cause(ctx))
		}
	}
	return nil
}

func notFenced(store *lease.Store, pid int, err error) *api.Failure {
	who := ""
	if pid > 0 {
		who = fmt.Sprintf(": process %d keeps the gate", pid)
	}
	return &api.Failure{Class: lease.ClassLockConflict, Err: err,
		Message: fmt.Sprintf("worktree %s was not fenced%s: %v", store.Worktree(), who, err), Next: "jvsfs lock status WORKTREE shows the holder"}
}
