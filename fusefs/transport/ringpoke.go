package transport

import (
	"fmt"
	"math"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// A new entry does not get a request that waits in its queue already (fuse_uring_do_register): it gets a later one,
// and with the answer to that comes the one that waits. So a hand that is added to a queue is followed by a
// request of our own from the queue's processor: ustat(2) names a mount by its device, and so does not keep it busy.
//
// When the daemon is killed, a thread that waits for an answer of its own mount waits until the connection ends, and that ends
// when the last thread that shares our descriptors has gone. So the thread of a poke has none (close_range(2)): otherwise it
// and the kernel would wait for each other, for good.

// poke sends a request to a queue and waits for its answer. It returns at once if the mount is not there.
func (r *ringChannel) poke(q *ringQueue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	q.pokes.Add(1)
	r.wg.Go(func() {
		defer q.pokes.Add(-1)
		onItsOwnThread(func() {
			// Without pinThread the processor is off, and there are no callers.
			if withoutDescriptors() == nil && pinThread(0, q.id) == nil {
				_ = ustat(r.device)
			}
		})
	})
}

// onItsOwnThread has do run on a thread that ends with it. That is never the process's first one: it cannot end, and its
// descriptors are those that /proc/self/fd shows to all.
func onItsOwnThread(do func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			do()
			return // still locked, so the thread ends
		}
		onItsOwnThread(do) // the first thread is locked meanwhile, so this is another
		runtime.UnlockOSThread()
	}()
	<-ended
}

// withoutDescriptors leaves this thread none, and the others theirs. The kernel copies no table for that, however large it is,
// but for the first 64 (sane_fdtable_size in fs/file.c). It closes the copies, and asks a backing file system that is served by
// somebody, as FUSE and NFS, for a flush of each. That may take long, so Go's scheduler must be told: RawSyscall would keep a
// processor from all other goroutines, and as many pokes as there are processors would stop the daemon.
func withoutDescriptors() error {
	_, _, e := unix.Syscall(unix.SYS_CLOSE_RANGE, 0, math.MaxUint32, unix.CLOSE_RANGE_UNSHARE)
	if e != 0 {
		return os.NewSyscallError("close_range", e)
	}
	return nil
}

// reachable reports why the daemon's threads cannot run on every processor, or not ask for a mount there, as pokes have to.
func reachable(queues int) error {
	on, err := processorsOf("online")
	if err != nil {
		return err
	}
	onItsOwnThread(func() {
		if err = withoutDescriptors(); err != nil {
			return
		}
		// There is no device 0. A filter of system calls (systemd's @obsolete, a container's) answers by another error.
		if e := ustat(0); e != unix.EINVAL {
			err = fmt.Errorf("ustat(2) is not allowed here: %w", e)
			return
		}
		for p := range min(on, queues) {
			if e := pinThread(0, p); e != nil {
				err = fmt.Errorf("the daemon may not run on processor %d: %w", p, e)
			}
		}
	})
	return err
}
