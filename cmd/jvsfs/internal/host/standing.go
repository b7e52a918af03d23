package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/gate/process"
)

// Standing finds the processes that use a directory past the mount that covers it: through any mount that shows
// the directory itself, from before the mount or by another way.
type Standing struct {
	device   api.Device        // of the file system below
	carriers map[uint64]string // mount id -> path of the directory there; ids are of the whole machine
}

// StandingOn starts with no way to the directory. carrier is the mount that the directory is on.
func StandingOn(carrier *mountinfo.Info) Standing {
	return Standing{device: DeviceOf(carrier), carriers: map[uint64]string{}}
}

// Add adds ways to the directory.
func (s Standing) Add(seen []Window) {
	for _, w := range seen {
		s.carriers[uint64(w.Mount.ID)] = w.Path
	}
}

// CarrierOf returns the mount that the directory beneath a place is on. If there are jvsfs mounts, it is the
// mount that carries them.
func (t MountTable) CarrierOf(point string) *mountinfo.Info {
	m := t.At(point)
	for IsJVSFS(m) && m.Mountpoint == point {
		m = t.ByID(m.Parent)
	}
	return m
}

// Beneath names the processes that use the directory beneath a place, by any way.
func Beneath(mounts MountTable, others []MountNamespace, point string) []api.BusyEntry {
	carrier := mounts.CarrierOf(point)
	if carrier == nil || IsJVSFS(carrier) {
		return nil
	}
	s := StandingOn(carrier)
	s.Add(Windows(mounts, carrier, point))
	for _, ns := range others {
		s.Add(Windows(ns.Table, carrier, point))
	}
	return append(s.Processes(), s.Mappings()...)
}

// Processes returns the processes with a working directory, a program or a descriptor there.
func (s Standing) Processes() []api.BusyEntry {
	scan := BusyScan{
		Proc: "/proc", Skip: os.Getpid(), Limit: MaxBusyPerProcess,
		Want: func(o Opened, path string) bool {
			at, ok := s.carriers[o.Mount]
			return ok && Within(at, path)
		},
	}
	return slices.DeleteFunc(scan.Run(), func(e api.BusyEntry) bool { return isDaemonOfUser(e.PID) })
}

// fuseDevice is the number of /dev/fuse (Linux's admin-guide/devices.txt).
var fuseDevice = unix.Mkdev(10, 229)

// isDaemonOfUser reports whether a process serves a FUSE mount without being root's. The daemon of a user has
// the directory open as everybody has. That of root has a private copy of the mount, where nobody looks.
func isDaemonOfUser(pid int) bool {
	if uid, err := process.OwnerOf(pid); err != nil || uid == 0 {
		return false
	}
	names, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*")) // the pattern is well-formed
	return slices.ContainsFunc(names, func(name string) bool {
		var st unix.Stat_t
		target, err := os.Readlink(name) // a stat of another file might ask a daemon that is dead
		return err == nil && strings.HasPrefix(target, "/dev/") && unix.Stat(name, &st) == nil && st.Rdev == fuseDevice
	})
}

// Mappings returns the files there that processes map, shared and writable. A mapping outlives its descriptor. A
// file that is mapped through a jvsfs mount is on another device.
func (s Standing) Mappings() []api.BusyEntry {
	var out []api.BusyEntry
	for _, pid := range process.All() {
		for _, path := range s.mapped(pid) {
			out = append(out, api.BusyEntry{PID: pid, Command: CommandLine(pid), Use: "map", Path: path})
		}
	}
	return out
}

func (s Standing) mapped(pid int) []string {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "maps"))
	if err != nil {
		return nil // ended, or we may not look at it
	}
	return ParseMaps(strings.NewReader(sharedWritable(string(text))), func(d api.Device, path string) bool {
		if d != s.device {
			return false
		}
		for _, at := range s.carriers {
			if Within(at, path) {
				return true
			}
		}
		return false
	})
}

// sharedWritable keeps the lines of /proc/PID/maps whose stores reach a file.
func sharedWritable(maps string) string {
	var b strings.Builder
	for line := range strings.Lines(maps) {
		if f := strings.Fields(line); len(f) > 1 && strings.Contains(f[1], "w") && strings.HasSuffix(f[1], "s") {
			b.WriteString(line)
		}
	}
	return b.String()
}
