package process

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
)

// ErrNoCgroup says that a process is in no group of the unified hierarchy.
var ErrNoCgroup = errors.New("there is no cgroup version 2 hierarchy")

// Cgroup returns the path of a process in the unified hierarchy.
func Cgroup(pid int) (string, error) {
	b, err := readProc(pid, "cgroup")
	if err != nil {
		return "", err
	}
	return unifiedIn(b)
}

// OwnCgroup is Cgroup of this process, whatever pid namespace /proc shows.
func OwnCgroup() (string, error) {
	b, err := readSmall("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return unifiedIn(b)
}

func unifiedIn(cgroups []byte) (string, error) {
	for line := range strings.Lines(string(cgroups)) {
		if v, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSuffix(v, "\n"), nil
		}
	}
	return "", ErrNoCgroup
}

// cgroupFrozen reports whether a process's cgroup is frozen (docker pause, systemctl freeze). Such
// a process stands still, but its state in /proc does not say so. Source: cgroup-v2.rst and
// freezer-subsystem.rst of the kernel.
func cgroupFrozen(pid int) bool {
	b, err := readProc(pid, "cgroup")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(b)) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, at, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "" && frozenUnified(at):
			return true
		case slices.Contains(strings.Split(controllers, ","), "freezer") && frozenLegacy(at):
			return true
		}
	}
	return false
}

// frozenUnified asks version 2. A cgroup below a frozen one is frozen, too. While one process waits
// in the kernel (for a file system, say), the others stand still already, but the cgroup does not
// count as frozen yet. So cgroup.freeze is read as well, up to the root.
func frozenUnified(at string) bool {
	if says(cgroupMounts().unified, at, "cgroup.events", "frozen 1") {
		return true
	}
	for ; at != "/" && at != "." && at != ""; at = path.Dir(at) {
		if says(cgroupMounts().unified, at, "cgroup.freeze", "1") {
			return true
		}
	}
	return false
}

// frozenLegacy asks version 1. Its answer includes the cgroups above.
func frozenLegacy(at string) bool {
	m := cgroupMounts().freezer
	return says(m, at, "freezer.state", "FROZEN") || says(m, at, "freezer.state", "FREEZING")
}

// CgroupLiveness says whether a cgroup, or one below it, has a process.
func CgroupLiveness(at string) Liveness {
	m := cgroupMounts().unified
	dir, ok := m.dir(at)
	if !ok {
		return Unknown
	}
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return Gone
	}
	switch {
	case says(m, at, "cgroup.events", "populated 0"):
		return Gone
	case frozenUnified(at):
		return Stopped
	}
	return Alive
}

// cgroupMount is where a hierarchy is mounted, and its root there.
type cgroupMount struct{ point, root string }

// cgroupMounts returns those of the daemon, as they were at the first call.
var cgroupMounts = sync.OnceValue(func() (m struct{ unified, freezer cgroupMount }) {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) < 3 {
			continue
		}
		switch at := (cgroupMount{point: f[4], root: f[3]}); {
		case g[0] == "cgroup2":
			m.unified = at
		case g[0] == "cgroup" && slices.Contains(strings.Split(g[2], ","), "freezer"):
			m.freezer = at
		}
	}
	return m
})

// dir returns the directory of a cgroup. It is false if the cgroup is not visible.
func (m cgroupMount) dir(at string) (string, bool) {
	if m.point == "" || strings.HasPrefix(at, "/..") {
		return "", false
	}
	if m.root != "/" {
		rest, ok := strings.CutPrefix(at, m.root)
		if !ok {
			return "", false
		}
		at = rest
	}
	return path.Join(m.point, at), true
}

// says reports whether a file of a cgroup contains a line.
func says(m cgroupMount, at, file, line string) bool {
	dir, ok := m.dir(at)
	if !ok {
		return false
	}
	b, err := readSmall(path.Join(dir, file))
	return err == nil && slices.Contains(strings.Split(strings.TrimSpace(string(b)), "\n"), line)
}
