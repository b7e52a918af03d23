package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
)

// refusalErrnos are the errnos that an admin may choose for refusals. ESTALE is not among them: the
// kernel repeats a path operation that fails with it. Nor is ENOSYS: it switches the operation off
// for the life of the mount.
var refusalErrnos = map[string]syscall.Errno{
	"EROFS":  syscall.EROFS,
	"EACCES": syscall.EACCES,
	"EPERM":  syscall.EPERM,
	"EBUSY":  syscall.EBUSY,
	"EIO":    syscall.EIO,
}

// ParseErrno finds the errno of refusals by its name. EROFS is the default: every tool names it, no
// tool retries it, and sqlite, vim and git fall back to reading.
func ParseErrno(name string) (syscall.Errno, error) {
	if e, ok := refusalErrnos[name]; ok {
		return e, nil
	}
	return 0, fmt.Errorf("errno %q is not one of %s", name, strings.Join(slices.Sorted(maps.Keys(refusalErrnos)), ", "))
}

// errnoName returns the name of an errno that ParseErrno knows.
func errnoName(e syscall.Errno) string {
	for name, v := range refusalErrnos {
		if v == e {
			return name
		}
	}
	return e.Error()
}
