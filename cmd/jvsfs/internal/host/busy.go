package host

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/api"
	"github.com/jvsfs/jvsfs/cmd/jvsfs/internal/human"
)

// Opened is the place of an open object: its device and the mount it was reached by.
type Opened struct {
	Dev   api.Device
	Mount uint64
}

// MaxBusyPerProcess bounds the report on one process.
const MaxBusyPerProcess = 8

// BusyScan says what it looks for.
type BusyScan struct {
	Proc  string // "/proc"
	Want  func(o Opened, path string) bool
	maps  func(d api.Device, path string) bool // nil: mappings do not count
	Skip  int                                  // a pid to leave out, 0 = none
	Limit int
}

// WhoKeepsBusy finds the processes that use the file system dev, in any mount namespace that can be seen. It
// never asks the file system itself: it follows the links in /proc and reads the cached device number with
// AT_STATX_DONT_SYNC, which sends no request to a FUSE daemon.
func WhoKeepsBusy(dev api.Device, skip int) []api.BusyEntry {
	scan := BusyScan{
		Proc: "/proc", Skip: skip, Limit: MaxBusyPerProcess,
		Want: func(o Opened, _ string) bool { return o.Dev == dev },
		maps: func(d api.Device, _ string) bool { return d == dev },
	}
	return append(scan.Run(), keptByKernel(dev)...)
}

// Run scans all processes. It leaves out those that vanish or that it may not look at.
func (s BusyScan) Run() []api.BusyEntry {
	names, err := os.ReadDir(s.Proc)
	if err != nil {
		return nil
	}
	var out []api.BusyEntry
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil || pid == s.Skip {
			continue
		}
		out = append(out, s.Process(pid)...)
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].PID < out[j].PID })
	return out
}

// Process scans one process.
func (s BusyScan) Process(pid int) []api.BusyEntry {
	dir := filepath.Join(s.Proc, strconv.Itoa(pid))
	var out []api.BusyEntry
	add := func(use, path string) {
		if len(out) < s.Limit {
			out = append(out, api.BusyEntry{PID: pid, Command: CommandLine(pid), Use: use, Path: human.Printable(path)})
		}
	}
	for _, name := range []string{"cwd", "root", "exe"} {
		if path, ok := s.link(filepath.Join(dir, name)); ok {
			add(name, path)
		}
	}
	fds, _ := os.ReadDir(filepath.Join(dir, "fd")) // not ours to look at: nothing to report
	for _, fd := range fds {
		if path, ok := s.link(filepath.Join(dir, "fd", fd.Name())); ok {
			add("fd "+fd.Name(), path)
		}
	}
	for _, path := range s.mapped(filepath.Join(dir, "maps")) {
		add("map", path)
	}
	return out
}

// link looks at one magic link of /proc.
func (s BusyScan) link(name string) (string, bool) {
	path, err := os.Readlink(name)
	if err != nil || !strings.HasPrefix(path, "/") {
		return "", false // gone, forbidden, or a socket, pipe or anonymous inode
	}
	o, err := openedBy(name)
	if err != nil || !s.Want(o, path) {
		return "", false
	}
	return path, true
}

func openedBy(name string) (Opened, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, name, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID, &st)
	return Opened{Dev: api.Device{Major: st.Dev_major, Minor: st.Dev_minor}, Mount: st.Mnt_id}, err
}

func (s BusyScan) mapped(name string) []string {
	if s.maps == nil {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // read only
	return ParseMaps(f, s.maps)
}

// ParseMaps lists the files, each once, of /proc/PID/maps that want accepts.
// A line is "start-end perms offset major:minor inode path", the device in hex.
func ParseMaps(r io.Reader, want func(api.Device, string) bool) []string {
	var out []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 6 {
			continue
		}
		dev, err := parseHexDevice(f[3])
		path := strings.Join(f[5:], " ")
		if err != nil || seen[path] || !want(dev, path) {
			continue
		}
		seen[path] = true
		out = append(out, path)
	}
	return out
}

func parseHexDevice(s string) (api.Device, error) {
	major, minor, ok := strings.Cut(s, ":")
	if !ok {
		return api.Device{}, fmt.Errorf("device %q", s)
	}
	a, err := strconv.ParseUint(major, 16, 32)
	if err != nil {
		return api.Device{}, err
	}
	b, err := strconv.ParseUint(minor, 16, 32)
	return api.Device{Major: uint32(a), Minor: uint32(b)}, err
}
