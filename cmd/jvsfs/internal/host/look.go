package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate/process"
)

// IsLook reports whether an entry is a descriptor that only names a file (O_PATH), as those who ask whether a mount is dead have, or was
// one that is closed by now. Nothing is read or written by it. dev is the file system that the entry was found on.
func IsLook(e api.BusyEntry, dev api.Device) bool {
	fd, is := strings.CutPrefix(e.Use, "fd ")
	if !is || e.PID == 0 {
		return false
	}
	flags, err := flagsOf(e.PID, fd)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
	}
	return flags&unix.O_PATH != 0 || isElsewhere(e.PID, fd, dev)
}

// OpenForWriting reports whether the entry is a descriptor that is open for writing.
func OpenForWriting(e api.BusyEntry) bool {
	fd, is := strings.CutPrefix(e.Use, "fd ")
	if !is {
		return false
	}
	flags, err := flagsOf(e.PID, fd)
	return err == nil && flags&uint64(os.O_WRONLY|os.O_RDWR) != 0
}

// flagsOf are those that a descriptor of a process was opened with.
func flagsOf(pid int, fd string) (uint64, error) {
	info, err := process.ReadDescriptor(strconv.Itoa(pid), fd)
	if err != nil {
		return 0, err
	}
	flags, _ := info.Field("flags")
	return strconv.ParseUint(flags, 8, 64)
}

// isElsewhere reports whether a descriptor is not on dev any more: the number of one that is closed is taken by the next file that its
// process opens, whose flags say nothing of the look.
func isElsewhere(pid int, fd string, dev api.Device) bool {
	o, err := openedBy(fmt.Sprintf("/proc/%d/fd/%s", pid, fd))
	return err == nil && o.Dev != dev || errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
