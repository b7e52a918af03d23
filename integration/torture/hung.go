package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// freeTheDead ends the connection of a daemon that was killed and cannot die. A thread of it that asks the kernel to drop a page
// which is just being written back, or a name in a directory in which somebody just creates, waits for an answer that only the
// daemon could give; the signal does not wake it, and as long as it is there the kernel keeps the connection. An admin writes to
// the connection's abort file; so does this.
func (h *host) freeTheDead() {
	was, seen := 0, 0
	for ; ; time.Sleep(100 * time.Millisecond) {
		h.mu.Lock()
		pid := h.daemon
		h.mu.Unlock()
		if pid == 0 || !isDying(pid) {
			was, seen = 0, 0
			continue
		}
		if pid != was {
			was, seen = pid, 0
		}
		if seen++; seen == 5 {
			h.note("daemon", "could_not_die", 0)
			abortConnections(h.mountpoint())
		}
	}
}

// isDying is whether the process has been killed, and was not reaped: then a thread of it is still there.
func isDying(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "State:" && f[1] == "Z":
			return true
		case len(f) == 2 && f[0] == "SigPnd:":
			pending, err := strconv.ParseUint(f[1], 16, 64)
			return err == nil && pending&(1<<(unix.SIGKILL-1)) != 0
		}
	}
	return false
}

// abortConnections ends the connections of the mounts at these places. An open abort file belongs to its connection;
// its number may be another's as soon as the mount is gone.
func abortConnections(mountpoints ...string) {
	for _, minor := range connectionsAt(mountpoints) {
		abort, err := os.OpenFile("/sys/fs/fuse/connections/"+minor+"/abort", os.O_WRONLY, 0)
		if err != nil {
			continue // gone already: all the better
		}
		if slices.Contains(connectionsAt(mountpoints), minor) {
			_, _ = abort.WriteString("1")
		}
		_ = abort.Close()
	}
}

// connectionsAt are the numbers of the connections of the mounts at these places.
func connectionsAt(mountpoints []string) (minors []string) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) > 6 && slices.Contains(mountpoints, f[4]) && strings.Contains(line, " - fuse.jvsfs ") {
			_, minor, _ := strings.Cut(f[2], ":")
			minors = append(minors, minor)
		}
	}
	return minors
}
