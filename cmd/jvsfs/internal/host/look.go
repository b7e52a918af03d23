package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
)

// IsLook reports whether an entry is a descriptor that only names a file (O_PATH), as those who ask whether a mount is dead have, or was
// one that is closed by now. Nothing is read or written by it. dev is the file system that the entry was found on.
func IsLook(e api.BusyEntry, dev api.Device) bool {
	fd, is := strings.CutPrefix(e.Use, "fd ")
	if !is || e.PID == 0 {
		return false
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", e.PID, fd))
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, "flags:"); ok {
			flags, err := strconv.ParseUint(strings.TrimSpace(value), 8, 64)
			return err == nil && (flags&unix.O_PATH != 0 || isElsewhere(e.PID, fd, dev))
		}
	}
	return false
}

// isElsewhere reports whether a descriptor is not on dev any more: the number of one that is closed is taken by the next file that its
// process opens, whose flags say nothing of the look.
func isElsewhere(pid int, fd string, dev api.Device) bool {
	o, err := openedBy(fmt.Sprintf("/proc/%d/fd/%s", pid, fd))
	return err == nil && o.Dev != dev || errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
