package fusefs

import (
	"fmt"
	"os"
)

// readAheadKiB is how far the kernel reads ahead for a sequential reader. Its default, 128 KiB,
// costs eight requests instead of one.
const readAheadKiB = 1 << 10

// raiseReadAhead sets it for the mount. FUSE_INIT can only lower it, so it goes through sysfs. If
// that is read-only, as in most containers, the default stays.
func raiseReadAhead(major, minor uint32) {
	_ = os.WriteFile(fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", major, minor), fmt.Append(nil, readAheadKiB), 0)
}
