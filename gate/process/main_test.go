package process

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const (
	eventually = time.Minute // only what hangs takes so long
	tick       = time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bootClock is the kernel's.
type bootClock struct{}

func (bootClock) Boot() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) // fails for a clock that does not exist
	return time.Duration(ts.Nano())
}
