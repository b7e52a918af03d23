package lease

import (
	"sync/atomic"
	"time"
)

// fastClock reads the boot clock without a system call, as long as that is proven to be the kernel's boot clock. Every write looks at
// its deadline twice, and where the system call costs 300 ns, the vDSO costs 35.
//
// The vDSO is code of the kernel that reads the kernel's own time: kernel/time/vsyscall.c writes the base of CLOCK_BOOTTIME there
// together with the others', also when timekeeping_resume() adds the time that was slept, before any process runs again. It knows time
// namespaces, and makes the system call itself where the hardware's counter cannot be read (lib/vdso/gettimeofday.c). The proof is for
// what stands between a process and its kernel: a sandbox, an emulator, a restored checkpoint.
type fastClock struct {
	fast func() (time.Duration, bool) // false: there is none
	slow func() time.Duration         // by a system call

	wrong  atomic.Bool // for good
	reads  atomic.Uint32
	proven atomic.Int64 // the reading of the last proof; 0: none yet
}

const (
	// proveAfter and proveEvery bound what may be read without a proof. A clock that stands still is found by the number of readings.
	proveAfter = time.Second
	proveEvery = 1024
	// proveSlack is for the rounding of nanoseconds.
	proveSlack = time.Microsecond
)

var boot = fastClock{fast: vdsoBoot, slow: kernelBoot}

func (c *fastClock) read() time.Duration {
	if c.wrong.Load() {
		return c.slow()
	}
	now, ok := c.fast()
	last := time.Duration(c.proven.Load())
	if !ok || last == 0 || now < last || now-last > proveAfter || c.reads.Add(1)%proveEvery == 0 {
		return c.prove()
	}
	return now
}

// prove reads the fast clock between two readings of the slow one, and returns the later of these. If it does not lie between them it
// is never read again.
func (c *fastClock) prove() time.Duration {
	before := c.slow()
	now, ok := c.fast()
	after := c.slow()
	if !ok || now < before-proveSlack || now > after+proveSlack {
		c.wrong.Store(true)
		return after
	}
	c.proven.Store(int64(now))
	return after
}
