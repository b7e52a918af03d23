package transport

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// URingParameter is the switch of FUSE over io_uring. It is off by default, and only the admin switches it.
const URingParameter = "/sys/module/fuse/parameters/enable_uring"

// ringFacts is what decides whether requests can come by io_uring.
type ringFacts struct {
	parameter string // URingParameter: Y, N, "" where there is none
	offered   bool   // by the kernel's first request
	byUser    bool
	queues    int   // processors that there may ever be
	numbers   error // of the processors
	reached   error // why pokes would not reach each queue
	memory    error // why the kernel might refuse memory for a ring when many requests wait
}

// why is why they cannot; nil is that they can.
func (f ringFacts) why() error {
	switch {
	case !canUstat:
		return errors.New("io_uring is used on x86-64 only")
	case f.parameter == "":
		return errors.New("the kernel has no FUSE over io_uring (Linux 6.14 and later)")
	case f.byUser:
		return errors.New("mounts of users come by /dev/fuse")
	case f.parameter != "Y":
		return fmt.Errorf("%s is %s", URingParameter, f.parameter)
	case !f.offered:
		return errors.New("the kernel does not offer FUSE over io_uring to this mount")
	}
	for _, err := range []error{f.numbers, f.reached, f.memory} {
		if err != nil {
			return err
		}
	}
	return nil
}

// gatherRing asks for the facts. Those that take time are left out where the others decide.
func gatherRing(offered, byUser bool) ringFacts {
	f := ringFacts{parameter: ringParameter(), offered: offered, byUser: byUser}
	if f.why() != nil {
		return f
	}
	if f.queues, f.numbers = processorsOf("possible"); f.numbers == nil {
		f.reached, f.memory = reachable(f.queues), lockable()
	}
	return f
}

func ringParameter() string {
	text, err := os.ReadFile(URingParameter)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// NoRing is why a mount that this process made would not get its requests by io_uring, as far as can be known without
// one; nil is that it would.
func NoRing(byUser bool) error {
	f := gatherRing(ringParameter() == "Y", byUser)
	if err := f.why(); err != nil {
		return err
	}
	ring, err := newURing()
	if err != nil {
		return err
	}
	return ring.close()
}

// initialUserNS is the number of the machine's own user namespace (PROC_USER_INIT_INO, linux/proc_ns.h).
const initialUserNS = "user:[4026531837]"

// lockable sees that the kernel gives memory to as many rings as there may be. That of a ring is not swapped. Without
// CAP_IPC_LOCK it counts as locked memory of the user (io_ring_ctx.user, __io_account_mem), and a request for which there is
// no ring would wait for ever.
func lockable() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	most := unix.Rlimit{Cur: ringPinnedMost, Max: max(limit.Max, ringPinnedMost)}
	if limit.Cur < most.Cur && unix.Setrlimit(unix.RLIMIT_MEMLOCK, &most) == nil {
		limit = most
	}
	return enoughMemory(limit, locksAny())
}

func enoughMemory(limit unix.Rlimit, unbound bool) error {
	if unbound || limit.Cur >= ringPinnedMost {
		return nil
	}
	return fmt.Errorf("the rings may need %d MiB of locked memory, and the limit is %d KiB (RLIMIT_MEMLOCK, or CAP_IPC_LOCK)", ringPinnedMost>>20, limit.Cur>>10)
}

// locksAny reports whether this process may lock any amount of memory.
func locksAny() bool {
	ns, err := os.Readlink("/proc/self/ns/user")
	if err != nil || ns != initialUserNS {
		return false
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&hdr, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0
}
