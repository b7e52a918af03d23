package fusefs

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// A new entry does not get a request that waits in its queue already (fuse_uring_do_register): it gets a later one,
// and with the answer to that comes the one that waits. So a hand that is added to a queue is followed by a
// request of our own from the queue's processor: ustat(2) names a mount by its device, and so does not keep it busy.

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
		runtime.LockOSThread() // the thread ends with the goroutine
		if pin(q.id) == nil {  // otherwise the processor is off, and there are no callers
			ustat(r.device)
		}
	})
}

func pin(processor int) error {
	var one unix.CPUSet
	one.Set(processor)
	return unix.SchedSetaffinity(0, &one)
}

// reachable reports why the daemon's threads cannot run on every processor, as pokes have to.
func reachable(queues int) error {
	online, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return err
	}
	on, err := processors(strings.TrimSpace(string(online)))
	if err != nil {
		return err
	}
	if !canUstat {
		return errors.New("io_uring is used on x86-64 only")
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: its affinity is lost
		var errs error
		for p := range min(on, queues) {
			if err := pin(p); err != nil {
				errs = fmt.Errorf("the daemon may not run on processor %d: %w", p, err)
			}
		}
		ended <- errs
	}()
	return <-ended
}
