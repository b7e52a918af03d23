package main

import (
	"fmt"
)

// device is the number of a mounted file system, as in mountinfo.
type device struct{ Major, Minor uint32 }

func (d device) String() string { return fmt.Sprintf("%d:%d", d.Major, d.Minor) }

// busyEntry is one thing that a process does with a mount.
type busyEntry struct {
	PID     int    `json:"pid"`     // 0: the kernel itself does
	Command string `json:"command"` // of the process; for the kernel, what ends it
	Use     string `json:"use"`     // cwd, root, exe, fd N or map; loop device, mount
	Path    string `json:"path"`    // as the process sees it
}

func parseDevice(text string) (device, error) {
	var d device
	if _, err := fmt.Sscanf(text, "%d:%d", &d.Major, &d.Minor); err != nil || d.String() != text {
		return d, fmt.Errorf("%q is not a device", text)
	}
	return d, nil
}
