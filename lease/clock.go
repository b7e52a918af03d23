package lease

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/lease/record"
)

// Clock is both times a lease needs. Safe for concurrent use.
type Clock interface {
	Wall() time.Time     // other hosts can compare it; it may step
	Boot() time.Duration // CLOCK_BOOTTIME: never steps, counts suspend
}

// SystemClock reads the kernel's clocks.
func SystemClock() Clock { return clockOf(systemClock{}) }

type systemClock struct{}

// Wall drops Go's monotonic reading, which would hide a step of the wall clock, and stops in suspend.
func (systemClock) Wall() time.Time { return time.Now().Round(0) }

// Boot costs no system call where the kernel lets it be read without one (clock_fast.go).
func (systemClock) Boot() time.Duration { return boot.read() }

// kernelBoot asks the kernel. It panics if that has no CLOCK_BOOTTIME: then no deadline is worth anything.
func kernelBoot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("clock_gettime(CLOCK_BOOTTIME): " + err.Error())
	}
	return time.Duration(ts.Nano())
}

// instant is both clocks read together.
type instant struct {
	wall time.Time
	boot time.Duration
}

// readClocks reads both clocks close to each other: if the thread pauses between them, that looks like a clock step. The boot clock
// is read first, so a deadline that counts from it is never late.
func readClocks(c Clock) instant {
	var in instant
	for range 8 {
		in.boot = c.Boot()
		in.wall = c.Wall().Round(0)
		if c.Boot()-in.boot < 2*time.Millisecond {
			break
		}
	}
	return in
}

// apart is how far the two clocks have moved apart since base.
func (in instant) apart(base instant) time.Duration {
	return (in.wall.Sub(base.wall) - (in.boot - base.boot)).Abs()
}

// divergenceBound is half the skew bound (rule 7), but never less than the noise of reading two clocks.
func divergenceBound(p record.Policy) time.Duration {
	return max(p.MaxClockSkew/2, 10*time.Millisecond)
}
