package api

import (
	"fmt"
)

// Device is the number of a mounted file system, as in mountinfo.
type Device struct{ Major, Minor uint32 }

// String is the form of mountinfo, MAJOR:MINOR.
func (d Device) String() string { return fmt.Sprintf("%d:%d", d.Major, d.Minor) }

// BusyEntry is one thing that a process does with a mount.
type BusyEntry struct {
	PID     int    `json:"pid"`     // 0: the kernel itself
	Command string `json:"command"` // of the process; for the kernel, what ends it
	Use     string `json:"use"`     // cwd, root, exe, fd N or map; loop device, mount
	Path    string `json:"path"`    // as the process sees it
}

// ParseDevice reads the form of String.
func ParseDevice(text string) (Device, error) {
	var d Device
	if _, err := fmt.Sscanf(text, "%d:%d", &d.Major, &d.Minor); err != nil || d.String() != text {
		return d, fmt.Errorf("%q is not a device", text)
	}
	return d, nil
}
