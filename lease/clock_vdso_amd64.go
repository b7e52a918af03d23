package lease

import (
	"time"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// vdsoClockGettime is where the kernel has put __vdso_clock_gettime (vdso(7)); 0: nowhere. Go's runtime has found it for its own clocks
// before main began. Its name is one that others may link to (runtime/badlinkname_linux.go).
//
//go:linkname vdsoClockGettime runtime.vdsoClockgettimeSym
var vdsoClockGettime uintptr

// callClockGettime calls fn, which must be __vdso_clock_gettime, in the manner of C.
func callClockGettime(fn uintptr, id int64) (sec, nsec, errno int64)

// vdsoBoot reads CLOCK_BOOTTIME through the vDSO.
func vdsoBoot() (time.Duration, bool) {
	if vdsoClockGettime == 0 {
		return 0, false
	}
	sec, nsec, errno := callClockGettime(vdsoClockGettime, unix.CLOCK_BOOTTIME)
	return time.Duration(sec)*time.Second + time.Duration(nsec), errno == 0
}
